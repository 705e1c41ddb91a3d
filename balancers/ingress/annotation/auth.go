// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"unicode/utf8"
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
	NoAuth      = "none"
	OIDCAuth    = "oidc"
	CognitoAuth = "cognito"
)

// mostItems is how many parameters, claims or values of a claim AWS takes.
const mostItems = 10

var userPoolARN = regexp.MustCompile(`^arn:[^:]+:cognito-idp:[^:]+:[^:]*:userpool/.+$`)

func parseCognito(value string) (Cognito, error) {
	c, err := ParseJSON[Cognito](value)
	switch {
	case err != nil:
		return Cognito{}, err
	case !userPoolARN.MatchString(c.UserPoolARN):
		return Cognito{}, fmt.Errorf("userPoolARN %.100q: must be the ARN of a user pool", c.UserPoolARN)
	case c.UserPoolClientID == "" || c.UserPoolDomain == "":
		return Cognito{}, errors.New("set a userPoolClientID and a userPoolDomain, too")
	}
	return c, checkExtra(c.AuthenticationRequestExtraParams)
}

func parseOIDC(value string) (OIDC, error) {
	o, err := ParseJSON[OIDC](value)
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
		return OIDC{}, errors.New("set a secretName, too: that of a Secret with clientID and clientSecret")
	}
	return o, checkExtra(o.AuthenticationRequestExtraParams)
}

func parseJWT(value string) (JWT, error) {
	j, err := ParseJSON[JWT](value)
	if err != nil {
		return JWT{}, err
	}
	const longest = 256
	switch n := len(j.AdditionalClaims); {
	case j.Issuer == "" || utf8.RuneCountInString(j.Issuer) > longest:
		return JWT{}, fmt.Errorf("issuer %.50q: must be 1 to %d characters", j.Issuer, longest)
	case len(j.JWKSEndpoint) > longest:
		return JWT{}, fmt.Errorf("jwksEndpoint has %d characters, must be at most %d", len(j.JWKSEndpoint), longest)
	case n > mostItems:
		return JWT{}, fmt.Errorf("%d additionalClaims: must be at most %d", n, mostItems)
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
		return fmt.Errorf("format %.30q: must be %s, %s or %s", c.Format, formats[0], formats[1], formats[2])
	case c.Name == "" || slices.Contains([]string{"exp", "iss", "nbf", "iat"}, c.Name):
		return fmt.Errorf("name %q: must be that of a claim other than exp, iss, nbf and iat, which are checked always", c.Name)
	case n == 0 || n > mostItems:
		return fmt.Errorf("%d values: must be 1 to %d", n, mostItems)
	}
	return nil
}

// checkURL is what AWS takes.
func checkURL(name, text string) error {
	if parsed, err := url.Parse(text); err != nil || parsed.Scheme != "https" || parsed.Host == "" {
		return fmt.Errorf("%s %.100q: must be a URL that begins with https://", name, text)
	}
	return nil
}

func checkExtra(params map[string]string) error {
	if n := len(params); n > mostItems {
		return fmt.Errorf("%d authenticationRequestExtraParams: must be at most %d", n, mostItems)
	}
	return nil
}
