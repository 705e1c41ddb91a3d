// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"cmp"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"

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
