// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/targetgate/targetgate/balancers/stack"
)

// auth reads who may pass; nil for an action of another kind.
func auth(a types.Action) *stack.Auth {
	switch {
	case a.AuthenticateCognitoConfig != nil:
		c := a.AuthenticateCognitoConfig
		return &stack.Auth{Cognito: &stack.Cognito{
			UserPoolARN: aws.ToString(c.UserPoolArn), ClientID: aws.ToString(c.UserPoolClientId), Domain: aws.ToString(c.UserPoolDomain),
			Session: stack.Session{
				Scope: aws.ToString(c.Scope), Cookie: aws.ToString(c.SessionCookieName), Timeout: aws.ToInt64(c.SessionTimeout),
				Unauthenticated: string(c.OnUnauthenticatedRequest), Extra: c.AuthenticationRequestExtraParams,
			},
		}}
	case a.AuthenticateOidcConfig != nil:
		c := a.AuthenticateOidcConfig
		return &stack.Auth{OIDC: &stack.OIDC{
			Issuer: aws.ToString(c.Issuer), AuthorizationEndpoint: aws.ToString(c.AuthorizationEndpoint),
			TokenEndpoint: aws.ToString(c.TokenEndpoint), UserInfoEndpoint: aws.ToString(c.UserInfoEndpoint), ClientID: aws.ToString(c.ClientId),
			Session: stack.Session{
				Scope: aws.ToString(c.Scope), Cookie: aws.ToString(c.SessionCookieName), Timeout: aws.ToInt64(c.SessionTimeout),
				Unauthenticated: string(c.OnUnauthenticatedRequest), Extra: c.AuthenticationRequestExtraParams,
			},
		}}
	case a.JwtValidationConfig != nil:
		c := a.JwtValidationConfig
		out := &stack.JWT{JWKSEndpoint: aws.ToString(c.JwksEndpoint), Issuer: aws.ToString(c.Issuer)}
		for _, claim := range c.AdditionalClaims {
			out.Claims = append(out.Claims, stack.Claim{Format: string(claim.Format), Name: aws.ToString(claim.Name), Values: claim.Values})
		}
		return &stack.Auth{JWT: out}
	}
	return nil
}

// transforms are those of a rule, sorted by type.
func transforms(list []types.RuleTransform) (out []stack.Transform) {
	for _, t := range list {
		var rewrites []types.RewriteConfig
		switch {
		case t.HostHeaderRewriteConfig != nil:
			rewrites = t.HostHeaderRewriteConfig.Rewrites
		case t.UrlRewriteConfig != nil:
			rewrites = t.UrlRewriteConfig.Rewrites
		}
		transform := stack.Transform{Type: string(t.Type)}
		for _, r := range rewrites {
			transform.Rewrites = append(transform.Rewrites, stack.Rewrite{Regex: aws.ToString(r.Regex), Replace: aws.ToString(r.Replace)})
		}
		out = append(out, transform)
	}
	slices.SortFunc(out, func(a, b stack.Transform) int { return cmp.Compare(a.Type, b.Type) })
	return out
}

// setSecretVersion notes in an action the version of its client secret that the tags say.
func setSecretVersion(a *stack.Action, tags map[string]string) {
	if a.Auth != nil && a.Auth.OIDC != nil {
		a.Auth.OIDC.Version = tags[stack.SecretTag]
	}
}
