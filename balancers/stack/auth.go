// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

// SecretTag is the key of the tag that says which version of a client secret a rule or listener has, as AWS never shows a secret. What the
// incumbent has made has no such tag.
const SecretTag = "targetgate.dev/secret-version"

// Auth says who may pass before a request is answered. Exactly one field is set.
type Auth struct {
	Cognito *Cognito
	OIDC    *OIDC
	JWT     *JWT
}

// Session is what both ways to log in have in common.
type Session struct {
	Scope, Cookie   string
	Timeout         int64 // seconds
	Unauthenticated string
	Extra           map[string]string // parameters of the request to log in
}

// Cognito has users log in at a pool of Amazon Cognito.
type Cognito struct {
	UserPoolARN, ClientID, Domain string
	Session
}

// OIDC has users log in at an OpenID Connect provider.
type OIDC struct {
	Issuer, AuthorizationEndpoint, TokenEndpoint, UserInfoEndpoint string

	ClientID string
	// Secret is that of the client, "" of one that is seen.
	Secret Secret
	// Version changes with the secret; "" of one that is seen and has no SecretTag.
	Version string
	// Assumed says of one that is seen that the version is the one that it is taken to have: no tag tells it, and we have not written it.
	Assumed bool
	Session
}

// JWT has requests bring a JSON Web Token.
type JWT struct {
	JWKSEndpoint, Issuer string
	Claims               []Claim
}

// Claim is one that the token must have, with one of the values.
type Claim struct {
	Format, Name string
	Values       []string
}

// Secret is a text that is never printed.
type Secret string

// String implements fmt.Stringer.
func (Secret) String() string { return "(secret)" }

// GoString implements fmt.GoStringer.
func (s Secret) GoString() string { return s.String() }

// MarshalText has encoders not print it either.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// SecretVersion is that of the client secret that the action has, "" if it has none or it is not known.
func (a Action) SecretVersion() string {
	if a.Auth == nil || a.Auth.OIDC == nil {
		return ""
	}
	return a.Auth.OIDC.Version
}

// IsVersionAssumed reports whether that version is only taken to be the one that the action has.
func (a Action) IsVersionAssumed() bool {
	return a.Auth != nil && a.Auth.OIDC != nil && a.Auth.OIDC.Assumed
}

// Transform changes a request before it is sent to a target.
type Transform struct {
	Type     string // host-header-rewrite, url-rewrite
	Rewrites []Rewrite
}

// Rewrite puts Replace, which may name groups such as $1, in the place of what Regex matches.
type Rewrite struct{ Regex, Replace string }
