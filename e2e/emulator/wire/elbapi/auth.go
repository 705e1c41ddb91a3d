// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbapi

import (
	"maps"
	"slices"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/routing"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
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
	AdditionalClaims     call.Members[claimXML]
}

type claimXML struct {
	Format, Name string
	Values       call.Members[string]
}

func sessionAnswer(s routing.Session) sessionXML {
	shown := sessionXML{
		OnUnauthenticatedRequest: s.Unauthenticated, Scope: s.Scope, SessionCookieName: s.Cookie, SessionTimeout: s.Timeout,
	}
	for _, key := range slices.Sorted(maps.Keys(s.Extra)) {
		shown.AuthenticationRequestExtraParams.Entries = append(shown.AuthenticationRequestExtraParams.Entries, entryXML{key, s.Extra[key]})
	}
	return shown
}

// authAnswer never shows the secret of a client.
func authAnswer(a *routing.Auth) actionXML {
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
			claim := claimXML{c.Format, c.Name, call.Members[string]{Members: c.Values}}
			config.AdditionalClaims.Members = append(config.AdditionalClaims.Members, claim)
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
func auth(p *call.Tree) (*routing.Auth, error) {
	switch kind := p.Text("Type"); kind {
	case authenticateCognito:
		c := p.At("AuthenticateCognitoConfig")
		session, err := session(c)
		return &routing.Auth{Cognito: &routing.CognitoAuth{
			UserPool: c.Text("UserPoolArn"), ClientID: c.Text("UserPoolClientId"), Domain: c.Text("UserPoolDomain"), Session: session,
		}}, err
	case authenticateOIDC:
		c := p.At("AuthenticateOidcConfig")
		session, err := session(c)
		return &routing.Auth{OIDC: &routing.OIDCAuth{
			Issuer: c.Text("Issuer"), Authorization: c.Text("AuthorizationEndpoint"), Token: c.Text("TokenEndpoint"),
			UserInfo: c.Text("UserInfoEndpoint"), ClientID: c.Text("ClientId"), Secret: c.Text("ClientSecret"),
			Existing: c.Text("UseExistingClientSecret") == "true", Session: session,
		}}, err
	case "jwt-validation":
		c := p.At("JwtValidationConfig")
		out := &routing.JWTAuth{JWKS: c.Text("JwksEndpoint"), Issuer: c.Text("Issuer")}
		for _, claim := range c.List("AdditionalClaims.member") {
			out.Claims = append(out.Claims, routing.Claim{
				Format: claim.Text("Format"), Name: claim.Text("Name"), Values: claim.Texts("Values.member"),
			})
		}
		return &routing.Auth{JWT: out}, nil
	default:
		return nil, refusal.New("TooManyActions", "An action of type '%s' cannot come before another", kind)
	}
}

func session(p *call.Tree) (routing.Session, error) {
	timeout, err := p.Number("SessionTimeout")
	session := routing.Session{
		Scope: p.Text("Scope"), Cookie: p.Text("SessionCookieName"), Unauthenticated: p.Text("OnUnauthenticatedRequest"), Timeout: timeout,
	}
	for _, entry := range p.List("AuthenticationRequestExtraParams.entry") {
		if session.Extra == nil {
			session.Extra = map[string]string{}
		}
		session.Extra[entry.Text("key")] = entry.Text("value")
	}
	return session, err
}

// userPools are those at which the call has users log in.
func userPools(q *call.Request) (arns []string) {
	for _, list := range []string{"Actions.member", "DefaultActions.member"} {
		for _, a := range q.List(list) {
			if arn := a.Text("AuthenticateCognitoConfig.UserPoolArn"); arn != "" {
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
	Rewrites call.Members[rewriteXML]
}

type transformXML struct {
	Type                    string
	HostHeaderRewriteConfig *rewritesXML `xml:",omitempty"`
	UrlRewriteConfig        *rewritesXML `xml:",omitempty"` //nolint:revive // as on the wire
}

func transformsAnswer(transforms []routing.Transform) *call.Members[transformXML] {
	if len(transforms) == 0 {
		return nil
	}
	answer := &call.Members[transformXML]{}
	for _, t := range transforms {
		shown, config := transformXML{Type: t.Type}, &rewritesXML{call.Members[rewriteXML]{Members: []rewriteXML{{t.Regex, t.Replace}}}}
		if t.Type == routing.HostRewrite {
			shown.HostHeaderRewriteConfig = config
		} else {
			shown.UrlRewriteConfig = config
		}
		answer.Members = append(answer.Members, shown)
	}
	return answer
}

func transforms(q *call.Request) (out []routing.Transform, err error) {
	for _, t := range q.List("Transforms.member") {
		kind, config := t.Text("Type"), "UrlRewriteConfig"
		if kind == routing.HostRewrite {
			config = "HostHeaderRewriteConfig"
		}
		rewrites := t.List(config + ".Rewrites.member")
		if len(rewrites) != 1 {
			return nil, refusal.Invalid("A transform of type '%s' must have one rewrite", kind)
		}
		out = append(out, routing.Transform{Type: kind, Regex: rewrites[0].Text("Regex"), Replace: rewrites[0].Text("Replace")})
	}
	return out, nil
}
