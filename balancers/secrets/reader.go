// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
)

// Reader reads Secrets once, for those who only ask what would be done, with their own rights.
type Reader struct {
	Client client.Reader
	// Label is key=value of the Secrets that may be read, "" for all.
	Label string
}

// Of has the Secrets of these keys.
func (r *Reader) Of(ctx context.Context, _ stack.Group, keys []types.NamespacedName) map[types.NamespacedName]lookup.Secret {
	out := make(map[types.NamespacedName]lookup.Secret, len(keys))
	for _, key := range keys {
		secret := &corev1.Secret{}
		err := r.Client.Get(ctx, key, secret)
		if out[key] = read(r.Label, secret, err); apierrors.IsForbidden(err) {
			out[key] = lookup.Secret{Reason: "may not be read by you: whether targetgate may, and finds a login in it, is not known"}
		}
	}
	return out
}

// read is what a Secret says, or why nothing is known of it.
func read(label string, secret *corev1.Secret, err error) lookup.Secret {
	switch {
	case apierrors.IsNotFound(err):
		return lookup.Secret{Reason: "does not exist: create it"}
	case apierrors.IsForbidden(err):
		return lookup.Secret{Reason: "may not be read: allow targetgate's service account to get, list and watch it"}
	case err != nil:
		return lookup.Secret{Reason: "could not be read: " + err.Error()}
	}
	if key, value, ok := strings.Cut(label, "="); ok && secret.Labels[key] != value {
		return lookup.Secret{Reason: "has no label " + label + ", which --required-secrets-label wants"}
	}
	return lookup.ReadSecret(secret)
}
