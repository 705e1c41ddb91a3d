// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package routing

import (
	"cmp"
	"net/url"
	"slices"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
)

// Auth says who may pass before a request is answered: exactly one field is set. HTTPS listeners alone have it.
type Auth struct {
	Cognito *CognitoAuth
	OIDC    *OIDCAuth
	JWT     *JWTAuth
}

// Session is what both ways to log in have in common. What is empty gets AWS's default.
type Session struct {
	Scope, Cookie, Unauthenticated string
	Timeout                        int // seconds
	Extra                          map[string]string
}

// CognitoAuth is a login at a user pool.
type CognitoAuth struct {
	UserPool, ClientID, Domain string
	Session
}

// OIDCAuth is a login at an OpenID Connect provider.
type OIDCAuth struct {
	Issuer, Authorization, Token, UserInfo string
	ClientID                               string
	// Secret is never shown. Existing asks for the one that the rule or listener has.
	Secret   string
	Existing bool
	Session
}

// JWTAuth wants a JSON Web Token.
type JWTAuth struct {
	JWKS, Issuer string
	Claims       []Claim
}

// Claim is one that a token must have, with one of the values.
type Claim struct {
	Format, Name string
	Values       []string
}

const longestSession = 604800

func (s Session) withDefaults() Session {
	s.Scope, s.Cookie = cmp.Or(s.Scope, "openid"), cmp.Or(s.Cookie, "AWSELBAuthSessionCookie")
	s.Unauthenticated, s.Timeout = cmp.Or(s.Unauthenticated, "authenticate"), cmp.Or(s.Timeout, longestSession)
	return s
}

// WithDefaults fills in what is not said of a login.
func (a *Auth) WithDefaults() *Auth {
	switch {
	case a == nil:
		return nil
	case a.Cognito != nil:
		full := *a.Cognito
		full.Session = full.withDefaults()
		return &Auth{Cognito: &full}
	case a.OIDC != nil:
		full := *a.OIDC
		full.Session = full.withDefaults()
		return &Auth{OIDC: &full}
	}
	return a
}

// KeepSecret fills in the secret that an action has now where its successor asks for that.
func (a Action) KeepSecret(now Action) Action {
	if a.Auth == nil || a.Auth.OIDC == nil || !a.Auth.OIDC.Existing {
		return a
	}
	full := *a.Auth.OIDC
	if full.Existing = false; now.Auth != nil && now.Auth.OIDC != nil {
		full.Secret = now.Auth.OIDC.Secret
	}
	a.Auth = &Auth{OIDC: &full}
	return a
}

// Validate checks what is asked for before an action of a listener, which is secure with HTTPS.
func (a *Auth) Validate(secure bool) error {
	if a == nil {
		return nil
	}
	if !secure {
		return invalidAction("Authentication actions are supported on HTTPS listeners only")
	}
	switch {
	case a.Cognito != nil:
		c := a.Cognito
		return cmp.Or(required("userPoolArn", c.UserPool), required("userPoolClientId", c.ClientID), required("userPoolDomain", c.Domain),
			c.validate())
	case a.OIDC != nil:
		o := a.OIDC
		return cmp.Or(endpoint("issuer", o.Issuer), endpoint("authorizationEndpoint", o.Authorization), endpoint("tokenEndpoint", o.Token),
			endpoint("userInfoEndpoint", o.UserInfo), required("clientId", o.ClientID), required("clientSecret", o.Secret), o.validate())
	}
	return cmp.Or(endpoint("jwksEndpoint", a.JWT.JWKS), required("issuer", a.JWT.Issuer), a.JWT.validateClaims())
}

// The formats of claims.
const (
	ClaimString = "single-string"
	ClaimArray  = "string-array"
	ClaimWords  = "space-separated-values"
)

// mostClaims is how many claims an action can ask for, and how many values of each.
const mostClaims = 10

func (j *JWTAuth) validateClaims() error {
	if len(j.Claims) > mostClaims {
		return refusal.Unfit("additionalClaims", len(j.Claims), "have length less than or equal to 10")
	}
	for _, c := range j.Claims {
		if slices.Contains([]string{"exp", "iss", "nbf", "iat"}, c.Name) {
			return refusal.Invalid("Claim '%s' cannot be specified: it is always validated", c.Name)
		}
		err := cmp.Or(
			required("name", c.Name), refusal.OneOf("format", c.Format, []string{ClaimString, ClaimArray, ClaimWords}),
			refusal.Within("values", len(c.Values), 1, mostClaims),
		)
		if err != nil {
			return err
		}
	}
	return nil
}

func (s Session) validate() error {
	return cmp.Or(
		refusal.OneOf("onUnauthenticatedRequest", s.Unauthenticated, []string{"deny", "allow", "authenticate"}),
		refusal.Within("sessionTimeout", s.Timeout, 1, longestSession),
	)
}

func required(name, text string) error {
	if text == "" {
		return refusal.Invalid("'%s' must be specified", name)
	}
	return nil
}

func endpoint(name, text string) error {
	if parsed, err := url.Parse(text); err != nil || parsed.Scheme != "https" || parsed.Host == "" {
		return invalidAction("The '%s' must be a full URL with the protocol HTTPS", name)
	}
	return nil
}
