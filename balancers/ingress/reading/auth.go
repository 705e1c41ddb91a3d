// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package reading

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/stack"
)

// auth says who may pass before the load balancer answers by an action that forwards to this Service alone, or, when it is nil, by any
// other.
func (r ruleReader) auth(service *corev1.Service) (*stack.Auth, error) {
	if service == nil {
		service = &corev1.Service{}
	}
	b := &backed{ruleReader: r, service: service}
	kind := override(b, annotation.AuthType)
	token, set, err := annotated(r, annotation.JWTValidation, "")
	if err = errors.Join(b.err, err); err != nil {
		return nil, fault.As(err)
	}
	switch {
	case set && kind != annotation.NoAuth:
		return nil, fault.Fault{Annotation: annotation.JWTValidation.FullName(),
			Reason: "beside " + annotation.AuthType.FullName() + ": " + kind +
				": set one of them, as a request can be asked for a login or a token"}
	case set:
		out := &stack.JWT{JWKSEndpoint: token.JWKSEndpoint, Issuer: token.Issuer}
		for _, claim := range token.AdditionalClaims {
			out.Claims = append(out.Claims, stack.Claim(claim))
		}
		return &stack.Auth{JWT: out}, nil
	case kind == annotation.CognitoAuth:
		return b.cognito()
	case kind == annotation.OIDCAuth:
		return b.oidc()
	}
	return nil, nil // everybody may pass
}

func (b *backed) cognito() (*stack.Auth, error) {
	if err := b.needs(annotation.AuthCognito.Annotation, annotation.CognitoAuth); err != nil {
		return nil, err
	}
	c := override(b, annotation.AuthCognito)
	return &stack.Auth{Cognito: &stack.Cognito{
		UserPoolARN: c.UserPoolARN, ClientID: c.UserPoolClientID, Domain: c.UserPoolDomain,
		Session: b.session(c.AuthenticationRequestExtraParams),
	}}, b.err
}

func (b *backed) oidc() (*stack.Auth, error) {
	if err := b.needs(annotation.AuthOIDC.Annotation, annotation.OIDCAuth); err != nil {
		return nil, err
	}
	o := override(b, annotation.AuthOIDC)
	out := &stack.OIDC{
		Issuer: o.Issuer, AuthorizationEndpoint: o.AuthorizationEndpoint, TokenEndpoint: o.TokenEndpoint, UserInfoEndpoint: o.UserInfoEndpoint,
		Session: b.session(o.AuthenticationRequestExtraParams),
	}
	if b.err != nil || b.in.Alone || !slices.Contains(slices.Collect(maps.Values(b.Ports)), annotation.HTTPS) {
		return &stack.Auth{OIDC: out}, b.err
	}
	key := types.NamespacedName{Namespace: b.Member.Ingress.Namespace, Name: o.SecretName}
	secret, isRead := b.in.Secrets[key]
	if !isRead {
		secret.Reason = "is not read"
	}
	if secret.Reason != "" {
		return nil, fault.Fault{
			Annotation: annotation.AuthOIDC.FullName(), Value: o.SecretName, Reason: "Secret " + key.String() + " " + secret.Reason,
		}
	}
	out.ClientID, out.Secret, out.Version = secret.ClientID, secret.Secret, secret.Version
	return &stack.Auth{OIDC: out}, nil
}

// needs is a fault without an annotation that the kind of authentication cannot be without.
func (b *backed) needs(row *annotation.Annotation, kind string) error {
	name := row.FullName()
	if b.Annotations()[name] != "" || b.service.Annotations[name] != "" {
		return nil
	}
	fault := fault.Fault{
		Annotation: annotation.AuthType.FullName(), Value: kind, Reason: "the annotation " + name + " does not exist: add it",
	}
	if b.service.Annotations[annotation.AuthType.FullName()] != "" {
		fault.Object = b.serviceObject()
	}
	return fault
}

func (b *backed) session(extra map[string]string) stack.Session {
	return stack.Session{ // AWS has its own defaults stand for empty texts
		Scope:           cmp.Or(override(b, annotation.AuthScope), annotation.AuthScope.Default),
		Cookie:          cmp.Or(override(b, annotation.AuthCookie), annotation.AuthCookie.Default),
		Timeout:         override(b, annotation.AuthTimeout),
		Unauthenticated: override(b, annotation.AuthUnauthenticated), Extra: extra,
	}
}
