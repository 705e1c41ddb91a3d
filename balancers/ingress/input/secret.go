// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package input

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/stack"
)

// Secret is what a Secret says of a client of an OpenID Connect provider.
type Secret struct {
	ClientID string
	Secret   stack.Secret
	Version  string // changes with the Secret
	// Reason says why nothing is known of it, such as "does not exist"; it is "" when all is.
	Reason string
}

// ReadSecret reads a Secret. Blanks and control characters at the ends of its values do not count: files often end with a newline.
func ReadSecret(secret *corev1.Secret) Secret {
	text := func(key string) string {
		return strings.TrimRightFunc(string(secret.Data[key]), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	}
	out := Secret{
		ClientID: cmp.Or(text("clientID"), text("clientId")), Secret: stack.Secret(text("clientSecret")),
		Version: string(secret.UID) + "/" + secret.ResourceVersion,
	}
	switch {
	case out.ClientID == "":
		return Secret{Reason: "has no key clientID: add it"}
	case out.Secret == "":
		return Secret{Reason: "has no key clientSecret: add it"}
	}
	return out
}

// SecretsOf are the Secrets that a group needs, each once, sorted. Of its Input Members, Services and Options count.
func SecretsOf(in Input) (keys []types.NamespacedName) {
	for _, member := range in.Members {
		ingress := member.Ingress
		if member.Over != nil {
			continue
		}
		sources := []map[string]string{ingress.Annotations}
		for _, key := range servicesOf(ingress, in.Options.Limits.MostPaths()) {
			if service := in.Services[key]; service != nil {
				sources = append(sources, service.Annotations)
			}
		}
		isOIDC := func(annotations map[string]string) bool {
			return annotations[annotation.AuthType.FullName()] == annotation.OIDCAuth
		}
		if !slices.ContainsFunc(sources, isOIDC) {
			continue
		}
		for _, annotations := range sources {
			if oidc, set, _ := annotation.AuthOIDC.In(annotations); set { // a wrong one asks for nothing
				keys = append(keys, types.NamespacedName{Namespace: ingress.Namespace, Name: oidc.SecretName})
			}
		}
	}
	slices.SortFunc(keys, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(keys)
}
