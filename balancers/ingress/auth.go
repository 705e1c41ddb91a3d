// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/balancers/stack"
)

// Cognito is where users log in, as an annotation says it.
type Cognito struct {
	UserPoolARN, UserPoolClientID, UserPoolDomain string
	AuthenticationRequestExtraParams              map[string]string
}

// OIDC is where users log in, as an annotation says it.
type OIDC struct {
	Issuer, AuthorizationEndpoint, TokenEndpoint, UserInfoEndpoint string
	SecretName                                                     string // in the namespace of the Ingress
	AuthenticationRequestExtraParams                               map[string]string
}

// JWT is what tokens are wanted, as an annotation says it.
type JWT struct {
	JWKSEndpoint, Issuer string
	AdditionalClaims     []Claim
}

// Claim is one that the token must have, with one of the values.
type Claim struct {
	Format, Name string
	Values       []string
}

// The ways to authenticate.
const (
	noAuth      = "none"
	oidcAuth    = "oidc"
	cognitoAuth = "cognito"
)

// mostItems is how many parameters, claims or values of a claim AWS takes.
const mostItems = 10

var userPoolARN = regexp.MustCompile(`^arn:[^:]+:cognito-idp:[^:]+:[^:]*:userpool/.+$`)

func parseCognito(value string) (Cognito, error) {
	c, err := parseJSON[Cognito](value)
	switch {
	case err != nil:
		return Cognito{}, err
	case !userPoolARN.MatchString(c.UserPoolARN):
		return Cognito{}, fmt.Errorf("userPoolARN %.100q: want the ARN of a user pool", c.UserPoolARN)
	case c.UserPoolClientID == "" || c.UserPoolDomain == "":
		return Cognito{}, errors.New("want a userPoolClientID and a userPoolDomain, too")
	}
	return c, checkExtra(c.AuthenticationRequestExtraParams)
}

func parseOIDC(value string) (OIDC, error) {
	o, err := parseJSON[OIDC](value)
	if err != nil {
		return OIDC{}, err
	}
	for _, field := range []struct{ name, url string }{
		{"issuer", o.Issuer}, {"authorizationEndpoint", o.AuthorizationEndpoint}, {"tokenEndpoint", o.TokenEndpoint},
		{"userInfoEndpoint", o.UserInfoEndpoint},
	} {
		if err := checkURL(field.name, field.url); err != nil {
			return OIDC{}, err
		}
	}
	if o.SecretName == "" {
		return OIDC{}, errors.New("want a secretName, too: that of a Secret with clientID and clientSecret")
	}
	return o, checkExtra(o.AuthenticationRequestExtraParams)
}

func parseJWT(value string) (JWT, error) {
	j, err := parseJSON[JWT](value)
	if err != nil {
		return JWT{}, err
	}
	const longest = 256
	switch n := len(j.AdditionalClaims); {
	case j.Issuer == "" || utf8.RuneCountInString(j.Issuer) > longest:
		return JWT{}, fmt.Errorf("issuer %.50q: want 1 to %d characters", j.Issuer, longest)
	case len(j.JWKSEndpoint) > longest:
		return JWT{}, fmt.Errorf("jwksEndpoint has %d characters, want at most %d", len(j.JWKSEndpoint), longest)
	case n > mostItems:
		return JWT{}, fmt.Errorf("%d additionalClaims: want at most %d", n, mostItems)
	}
	for i, claim := range j.AdditionalClaims {
		if err := claim.check(); err != nil {
			return JWT{}, fmt.Errorf("additionalClaims[%d]: %w", i, err)
		}
	}
	return j, checkURL("jwksEndpoint", j.JWKSEndpoint)
}

func (c Claim) check() error {
	formats := []string{"single-string", "string-array", "space-separated-values"}
	switch n := len(c.Values); {
	case !slices.Contains(formats, c.Format):
		return fmt.Errorf("format %.30q: want %s, %s or %s", c.Format, formats[0], formats[1], formats[2])
	case c.Name == "" || slices.Contains([]string{"exp", "iss", "nbf", "iat"}, c.Name):
		return fmt.Errorf("name %q: want that of a claim other than exp, iss, nbf and iat, which are checked always", c.Name)
	case n == 0 || n > mostItems:
		return fmt.Errorf("%d values: want 1 to %d", n, mostItems)
	}
	return nil
}

// checkURL is what AWS takes.
func checkURL(name, text string) error {
	if parsed, err := url.Parse(text); err != nil || parsed.Scheme != "https" || parsed.Host == "" {
		return fmt.Errorf("%s %.100q: want a URL that begins with https://", name, text)
	}
	return nil
}

func checkExtra(params map[string]string) error {
	if n := len(params); n > mostItems {
		return fmt.Errorf("%d authenticationRequestExtraParams: want at most %d", n, mostItems)
	}
	return nil
}

// auth says who may pass before the load balancer answers by an action that forwards to this Service alone, or, when it is nil, by any
// other.
func (r *reading) auth(service *corev1.Service) (*stack.Auth, error) {
	if service == nil {
		service = &corev1.Service{}
	}
	b := &backed{reading: r, service: service}
	kind := override(b, AuthType)
	token, set, err := JWTValidation.In(r.annotations())
	if err = errors.Join(b.err, err); err != nil {
		return nil, asFault(err)
	}
	switch {
	case set && kind != noAuth:
		return nil, Fault{Annotation: Prefix + JWTValidation.Name, Reason: "beside " + Prefix + AuthType.Name + ": " + kind +
			": want one of them, as a request can be asked for a login or a token"}
	case set:
		out := &stack.JWT{JWKSEndpoint: token.JWKSEndpoint, Issuer: token.Issuer}
		for _, claim := range token.AdditionalClaims {
			out.Claims = append(out.Claims, stack.Claim(claim))
		}
		return &stack.Auth{JWT: out}, nil
	case kind == cognitoAuth:
		return b.cognito()
	case kind == oidcAuth:
		return b.oidc()
	}
	return nil, nil //nolint:nilnil // everybody may pass
}

func (b *backed) cognito() (*stack.Auth, error) {
	if err := b.needs(AuthCognito.Annotation, cognitoAuth); err != nil {
		return nil, err
	}
	c := override(b, AuthCognito)
	return &stack.Auth{Cognito: &stack.Cognito{
		UserPoolARN: c.UserPoolARN, ClientID: c.UserPoolClientID, Domain: c.UserPoolDomain,
		Session: b.session(c.AuthenticationRequestExtraParams),
	}}, b.err
}

func (b *backed) oidc() (*stack.Auth, error) {
	if err := b.needs(AuthOIDC.Annotation, oidcAuth); err != nil {
		return nil, err
	}
	o := override(b, AuthOIDC)
	out := &stack.OIDC{
		Issuer: o.Issuer, AuthorizationEndpoint: o.AuthorizationEndpoint, TokenEndpoint: o.TokenEndpoint, UserInfoEndpoint: o.UserInfoEndpoint,
		Session: b.session(o.AuthenticationRequestExtraParams),
	}
	if b.err != nil || b.in.alone || !slices.Contains(slices.Collect(maps.Values(b.ports)), HTTPS) {
		return &stack.Auth{OIDC: out}, b.err
	}
	key := types.NamespacedName{Namespace: b.member.Ingress.Namespace, Name: o.SecretName}
	secret, isRead := b.in.Secrets[key]
	if !isRead {
		secret.Reason = "is not read"
	}
	if secret.Reason != "" {
		return nil, Fault{Annotation: Prefix + AuthOIDC.Name, Value: o.SecretName, Reason: "Secret " + key.String() + " " + secret.Reason}
	}
	out.ClientID, out.Secret, out.Version = secret.ClientID, secret.Secret, secret.Version
	return &stack.Auth{OIDC: out}, nil
}

// needs is a fault without an annotation that the kind of authentication cannot be without.
func (b *backed) needs(annotation *Annotation, kind string) error {
	name := Prefix + annotation.Name
	if b.annotations()[name] != "" || b.service.Annotations[name] != "" {
		return nil
	}
	fault := Fault{Annotation: Prefix + AuthType.Name, Value: kind, Reason: "the annotation " + name + " does not exist: add it"}
	if b.service.Annotations[Prefix+AuthType.Name] != "" {
		fault.Object = b.serviceObject()
	}
	return fault
}

func (b *backed) session(extra map[string]string) stack.Session {
	return stack.Session{ // AWS has its own defaults stand for empty texts
		Scope: cmp.Or(override(b, AuthScope), AuthScope.Default), Cookie: cmp.Or(override(b, AuthCookie), AuthCookie.Default),
		Timeout:         override(b, AuthTimeout),
		Unauthenticated: override(b, AuthUnauthenticated), Extra: extra,
	}
}
