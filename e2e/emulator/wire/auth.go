// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"maps"
	"slices"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

type entryXML struct {
	Key   string `xml:"key"`
	Value string `xml:"value"`
}

type entriesXML struct {
	Entries []entryXML `xml:"entry"`
}

type sessionXML struct {
	AuthenticationRequestExtraParams entriesXML
	OnUnauthenticatedRequest         string
	Scope                            string
	SessionCookieName                string
	SessionTimeout                   int
}

type cognitoXML struct {
	UserPoolArn, UserPoolClientId, UserPoolDomain string //nolint:revive // as on the wire
	sessionXML
}

type oidcXML struct {
	Issuer, AuthorizationEndpoint, TokenEndpoint, UserInfoEndpoint, ClientId string //nolint:revive // as on the wire
	sessionXML
}

type jwtXML struct {
	JwksEndpoint, Issuer string
	AdditionalClaims     members[claimXML]
}

type claimXML struct {
	Format, Name string
	Values       members[string]
}

func sessionAnswer(s state.Session) sessionXML {
	shown := sessionXML{
		OnUnauthenticatedRequest: s.Unauthenticated, Scope: s.Scope, SessionCookieName: s.Cookie, SessionTimeout: s.Timeout,
	}
	for _, key := range slices.Sorted(maps.Keys(s.Extra)) {
		shown.AuthenticationRequestExtraParams.Entries = append(shown.AuthenticationRequestExtraParams.Entries, entryXML{key, s.Extra[key]})
	}
	return shown
}

// authAnswer never shows the secret of a client.
func authAnswer(a *state.Auth) actionXML {
	shown := actionXML{Order: 1}
	switch {
	case a.Cognito != nil:
		c := a.Cognito
		shown.Type = authenticateCognito
		shown.AuthenticateCognitoConfig = &cognitoXML{c.UserPool, c.ClientID, c.Domain, sessionAnswer(c.Session)}
	case a.OIDC != nil:
		o := a.OIDC
		shown.Type = authenticateOIDC
		shown.AuthenticateOidcConfig = &oidcXML{o.Issuer, o.Authorization, o.Token, o.UserInfo, o.ClientID, sessionAnswer(o.Session)}
	default:
		config := jwtXML{JwksEndpoint: a.JWT.JWKS, Issuer: a.JWT.Issuer}
		for _, c := range a.JWT.Claims {
			config.AdditionalClaims.Members = append(config.AdditionalClaims.Members, claimXML{c.Format, c.Name, members[string]{c.Values}})
		}
		shown.Type, shown.JwtValidationConfig = "jwt-validation", &config
	}
	return shown
}

const (
	authenticateCognito = "authenticate-cognito"
	authenticateOIDC    = "authenticate-oidc"
)

// auth reads the first of two actions.
func (p *params) auth() (*state.Auth, error) {
	switch kind := p.text("Type"); kind {
	case authenticateCognito:
		c := p.at("AuthenticateCognitoConfig")
		session, err := c.session()
		return &state.Auth{Cognito: &state.CognitoAuth{
			UserPool: c.text("UserPoolArn"), ClientID: c.text("UserPoolClientId"), Domain: c.text("UserPoolDomain"), Session: session,
		}}, err
	case authenticateOIDC:
		c := p.at("AuthenticateOidcConfig")
		session, err := c.session()
		return &state.Auth{OIDC: &state.OIDCAuth{
			Issuer: c.text("Issuer"), Authorization: c.text("AuthorizationEndpoint"), Token: c.text("TokenEndpoint"),
			UserInfo: c.text("UserInfoEndpoint"), ClientID: c.text("ClientId"), Secret: c.text("ClientSecret"),
			Existing: c.text("UseExistingClientSecret") == "true", Session: session,
		}}, err
	case "jwt-validation":
		c := p.at("JwtValidationConfig")
		out := &state.JWTAuth{JWKS: c.text("JwksEndpoint"), Issuer: c.text("Issuer")}
		for _, claim := range c.list("AdditionalClaims.member") {
			out.Claims = append(out.Claims, state.Claim{
				Format: claim.text("Format"), Name: claim.text("Name"), Values: claim.texts("Values.member"),
			})
		}
		return &state.Auth{JWT: out}, nil
	default:
		return nil, state.Refuse("TooManyActions", "An action of type '%s' cannot come before another", kind)
	}
}

func (p *params) session() (state.Session, error) {
	timeout, err := p.number("SessionTimeout")
	session := state.Session{
		Scope: p.text("Scope"), Cookie: p.text("SessionCookieName"), Unauthenticated: p.text("OnUnauthenticatedRequest"), Timeout: timeout,
	}
	for _, entry := range p.list("AuthenticationRequestExtraParams.entry") {
		if session.Extra == nil {
			session.Extra = map[string]string{}
		}
		session.Extra[entry.text("key")] = entry.text("value")
	}
	return session, err
}

// userPools are those at which the call has users log in.
func (q *request) userPools() (arns []string) {
	for _, list := range []string{"Actions.member", "DefaultActions.member"} {
		for _, a := range q.list(list) {
			if arn := a.text("AuthenticateCognitoConfig.UserPoolArn"); arn != "" {
				arns = append(arns, arn)
			}
		}
	}
	return arns
}

type rewriteXML struct {
	Regex, Replace string
}

type rewritesXML struct {
	Rewrites members[rewriteXML]
}

type transformXML struct {
	Type                    string
	HostHeaderRewriteConfig *rewritesXML `xml:",omitempty"`
	UrlRewriteConfig        *rewritesXML `xml:",omitempty"` //nolint:revive // as on the wire
}

func transformsAnswer(transforms []state.Transform) *members[transformXML] {
	if len(transforms) == 0 {
		return nil
	}
	answer := &members[transformXML]{}
	for _, t := range transforms {
		shown, config := transformXML{Type: t.Type}, &rewritesXML{members[rewriteXML]{[]rewriteXML{{t.Regex, t.Replace}}}}
		if t.Type == state.HostRewrite {
			shown.HostHeaderRewriteConfig = config
		} else {
			shown.UrlRewriteConfig = config
		}
		answer.Members = append(answer.Members, shown)
	}
	return answer
}

func (q *request) transforms() (out []state.Transform, err error) {
	for _, t := range q.list("Transforms.member") {
		kind, config := t.text("Type"), "UrlRewriteConfig"
		if kind == state.HostRewrite {
			config = "HostHeaderRewriteConfig"
		}
		rewrites := t.list(config + ".Rewrites.member")
		if len(rewrites) != 1 {
			return nil, state.Invalid("A transform of type '%s' must have one rewrite", kind)
		}
		out = append(out, state.Transform{Type: kind, Regex: rewrites[0].text("Regex"), Replace: rewrites[0].text("Replace")})
	}
	return out, nil
}
