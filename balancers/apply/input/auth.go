// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package input

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/targetgate/targetgate/balancers/stack"
)

// auth is the first of two actions. A client secret that is not known is the one that the rule or listener has.
func auth(a stack.Auth) types.Action {
	out := types.Action{Order: aws.Int32(1)}
	switch {
	case a.Cognito != nil:
		c := a.Cognito
		out.Type, out.AuthenticateCognitoConfig = types.ActionTypeEnumAuthenticateCognito, &types.AuthenticateCognitoActionConfig{
			UserPoolArn: aws.String(c.UserPoolARN), UserPoolClientId: aws.String(c.ClientID), UserPoolDomain: aws.String(c.Domain),
			Scope: aws.String(c.Scope), SessionCookieName: aws.String(c.Cookie), SessionTimeout: aws.Int64(c.Timeout),
			OnUnauthenticatedRequest:         types.AuthenticateCognitoActionConditionalBehaviorEnum(c.Unauthenticated),
			AuthenticationRequestExtraParams: c.Extra,
		}
	case a.OIDC != nil:
		o := a.OIDC
		out.Type, out.AuthenticateOidcConfig = types.ActionTypeEnumAuthenticateOidc, &types.AuthenticateOidcActionConfig{
			Issuer: aws.String(o.Issuer), AuthorizationEndpoint: aws.String(o.AuthorizationEndpoint),
			TokenEndpoint: aws.String(o.TokenEndpoint), UserInfoEndpoint: aws.String(o.UserInfoEndpoint), ClientId: aws.String(o.ClientID),
			ClientSecret: some(string(o.Secret)),
			Scope:        aws.String(o.Scope), SessionCookieName: aws.String(o.Cookie), SessionTimeout: aws.Int64(o.Timeout),
			OnUnauthenticatedRequest:         types.AuthenticateOidcActionConditionalBehaviorEnum(o.Unauthenticated),
			AuthenticationRequestExtraParams: o.Extra,
		}
		if o.Secret == "" {
			out.AuthenticateOidcConfig.UseExistingClientSecret = aws.Bool(true)
		}
	case a.JWT != nil:
		out.Type, out.JwtValidationConfig = types.ActionTypeEnumJwtValidation, jwt(*a.JWT)
	}
	return out
}

func jwt(j stack.JWT) *types.JwtValidationActionConfig {
	out := &types.JwtValidationActionConfig{JwksEndpoint: aws.String(j.JWKSEndpoint), Issuer: aws.String(j.Issuer)}
	for _, claim := range j.Claims {
		out.AdditionalClaims = append(out.AdditionalClaims, types.JwtValidationActionAdditionalClaim{
			Format: types.JwtValidationActionAdditionalClaimFormatEnum(claim.Format), Name: aws.String(claim.Name), Values: claim.Values,
		})
	}
	return out
}

func transforms(list []stack.Transform) (out []types.RuleTransform) {
	for _, t := range list {
		transform := types.RuleTransform{Type: types.TransformTypeEnum(t.Type)}
		var rewrites []types.RewriteConfig
		for _, r := range t.Rewrites {
			rewrites = append(rewrites, types.RewriteConfig{Regex: aws.String(r.Regex), Replace: aws.String(r.Replace)})
		}
		if transform.Type == types.TransformTypeEnumHostHeaderRewrite {
			transform.HostHeaderRewriteConfig = &types.HostHeaderRewriteConfig{Rewrites: rewrites}
		} else {
			transform.UrlRewriteConfig = &types.UrlRewriteConfig{Rewrites: rewrites}
		}
		out = append(out, transform)
	}
	return out
}
