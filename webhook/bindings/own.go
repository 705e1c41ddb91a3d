// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"context"
	"sync/atomic"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// nameWithin limits the question for our own name.
const nameWithin = time.Second

// own tells bindings that targetgate itself creates, for Ingresses: it has just made their target groups. Its name comes from the API
// server, so that nobody else can take it.
type own struct {
	api  client.Writer // nil if targetgate creates no bindings
	name atomic.Pointer[string]
}

// isAuthor reports whether the user of a review is targetgate. It is not while the API server does not say who we are.
func (o *own) isAuthor(ctx context.Context, user string) bool {
	if o.api == nil {
		return false
	}
	name := o.name.Load()
	if name == nil {
		ctx, cancel := context.WithTimeout(ctx, nameWithin)
		defer cancel()
		var review authenticationv1.SelfSubjectReview
		if err := o.api.Create(ctx, &review); err != nil || review.Status.UserInfo.Username == "" {
			return false
		}
		name = &review.Status.UserInfo.Username
		o.name.Store(name)
	}
	return user == *name
}
