// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"crypto/x509"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/targetgate/targetgate/e2e/emulator/acm"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
)

func oidc(secret string) types.Action {
	action := types.Action{Type: "authenticate-oidc", Order: aws.Int32(1), AuthenticateOidcConfig: &types.AuthenticateOidcActionConfig{
		Issuer: aws.String("https://i"), AuthorizationEndpoint: aws.String("https://i/a"), TokenEndpoint: aws.String("https://i/t"),
		UserInfoEndpoint: aws.String("https://i/u"), ClientId: aws.String("id"),
		AuthenticationRequestExtraParams: map[string]string{"display": "page"},
	}}
	if secret != "" {
		action.AuthenticateOidcConfig.ClientSecret = &secret
	}
	return action
}

func second(a types.Action) types.Action {
	a.Order = aws.Int32(2)
	return a
}

// secureListener is one for HTTPS, without rules.
func (b *elbBed) secureListener(name string) string {
	b.t.Helper()
	c, err := b.cloud.ACM.Add("", acm.Spec{Domains: []string{"a.com"}})
	if err != nil {
		b.t.Fatal(err)
	}
	out, err := b.elb.CreateListener(ctx(b.t), &elb.CreateListenerInput{
		LoadBalancerArn: aws.String(b.balancer(name)), Port: aws.Int32(443), Protocol: "HTTPS",
		Certificates: []types.Certificate{{CertificateArn: &c.ARN}}, DefaultActions: []types.Action{fixed("404")},
	})
	return *must[*elb.CreateListenerOutput](b.t)(out, err).Listeners[0].ListenerArn
}

// Rules show what they ask of users, with AWS's defaults, and never the secret of a client.
func TestLoginsRoundTrip(t *testing.T) {
	b := newELBBed(t)
	listener := b.secureListener("lb")
	in := ruleOf(listener, 1, "/a", fixed("200"))
	in.Actions = []types.Action{oidc("hidden"), second(fixed("200"))}
	made := must[*elb.CreateRuleOutput](t)(b.elb.CreateRule(ctx(t), in)).Rules[0]
	want := oidc("")
	want.AuthenticateOidcConfig.Scope, want.AuthenticateOidcConfig.SessionCookieName = aws.String("openid"), aws.String("AWSELBAuthSessionCookie")
	want.AuthenticateOidcConfig.SessionTimeout, want.AuthenticateOidcConfig.OnUnauthenticatedRequest = aws.Int64(604800), "authenticate"
	unexported := cmpopts.IgnoreUnexported(types.Action{}, types.AuthenticateOidcActionConfig{}, types.FixedResponseActionConfig{},
		types.AuthenticateCognitoActionConfig{}, types.JwtValidationActionConfig{}, types.JwtValidationActionAdditionalClaim{})
	if diff := cmp.Diff([]types.Action{want, second(fixed("200"))}, made.Actions, unexported); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	secretOf := func() string {
		rules, err := b.machine.Rules(listener)
		if err != nil {
			t.Fatal(err)
		}
		return rules[0].Action.Auth.OIDC.Secret
	}
	kept := oidc("")
	kept.AuthenticateOidcConfig.UseExistingClientSecret = aws.Bool(true)
	modify := func(actions ...types.Action) error {
		_, err := b.elb.ModifyRule(ctx(t), &elb.ModifyRuleInput{RuleArn: made.RuleArn, Actions: actions})
		return err
	}
	if err := modify(kept, second(fixed("201"))); err != nil || secretOf() != "hidden" {
		t.Errorf("secret %q, error %v: want the one that was there", secretOf(), err)
	}
	wantCode(t, modify(oidc(""), second(fixed("200"))), "ValidationError")

	jwt := types.Action{Type: "jwt-validation", Order: aws.Int32(1), JwtValidationConfig: &types.JwtValidationActionConfig{
		JwksEndpoint: aws.String("https://i/j"), Issuer: aws.String("i"),
		AdditionalClaims: []types.JwtValidationActionAdditionalClaim{{Format: "single-string", Name: aws.String("n"), Values: []string{"v"}}},
	}}
	cognito := types.Action{Type: "authenticate-cognito", Order: aws.Int32(1), AuthenticateCognitoConfig: &types.AuthenticateCognitoActionConfig{
		UserPoolArn: aws.String("arn:aws:cognito-idp:eu-west-1:1:userpool/p"), UserPoolClientId: aws.String("id"), UserPoolDomain: aws.String("d"),
		Scope: aws.String("email"), SessionCookieName: aws.String("c"), SessionTimeout: aws.Int64(60), OnUnauthenticatedRequest: "deny",
		AuthenticationRequestExtraParams: map[string]string{},
	}}
	for _, action := range []types.Action{jwt, cognito} {
		if err := modify(action, second(fixed("200"))); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]types.Action{action, second(fixed("200"))}, b.rules(listener)[0].Actions, unexported); diff != "" {
			t.Errorf("actions (-want +got):\n%s", diff)
		}
	}
}

func TestLoginsThatAreRefused(t *testing.T) {
	b := newELBBed(t)
	plain, secure := b.listener(b.balancer("plain"), 80, fixed("404")), b.secureListener("secure")
	create := func(listener string, edit func(*types.Action)) error {
		in := ruleOf(listener, 1, "/a", fixed("200"))
		first := oidc("hidden")
		edit(&first)
		in.Actions = []types.Action{first, second(fixed("200"))}
		_, err := b.elb.CreateRule(ctx(t), in)
		return err
	}
	same := func(*types.Action) {}
	wantCode(t, create(plain, same), "InvalidLoadBalancerAction")
	wantCode(t, create(secure, func(a *types.Action) { a.AuthenticateOidcConfig.TokenEndpoint = aws.String("http://i/t") }), "InvalidLoadBalancerAction")
	wantCode(t, create(secure, func(a *types.Action) { a.AuthenticateOidcConfig.OnUnauthenticatedRequest = "ask" }), "ValidationError")
	wantCode(t, create(secure, func(a *types.Action) { a.AuthenticateOidcConfig.SessionTimeout = aws.Int64(604801) }), "ValidationError")
	wantCode(t, create(secure, func(a *types.Action) {
		a.AuthenticateOidcConfig.ClientSecret, a.AuthenticateOidcConfig.UseExistingClientSecret = nil, aws.Bool(true)
	}), "ValidationError")
	if err := create(secure, same); err != nil {
		t.Fatal(err)
	}
	_, err := b.elb.ModifyListener(ctx(t), &elb.ModifyListenerInput{ListenerArn: &secure, Protocol: "HTTP"})
	wantCode(t, err, "InvalidLoadBalancerAction")
}

func TestTransformsRoundTrip(t *testing.T) {
	b := newELBBed(t)
	listener := b.listener(b.balancer("lb"), 80, fixed("404"))
	rewrite := func(regex string) []types.RewriteConfig {
		return []types.RewriteConfig{{Regex: &regex, Replace: aws.String("/$1")}}
	}
	transforms := []types.RuleTransform{
		{Type: "host-header-rewrite", HostHeaderRewriteConfig: &types.HostHeaderRewriteConfig{Rewrites: rewrite("^a")}},
		{Type: "url-rewrite", UrlRewriteConfig: &types.UrlRewriteConfig{Rewrites: rewrite("^/a(.*)")}},
	}
	in := ruleOf(listener, 1, "/a", fixed("200"))
	in.Transforms = transforms
	made := must[*elb.CreateRuleOutput](t)(b.elb.CreateRule(ctx(t), in)).Rules[0]
	unexported := cmpopts.IgnoreUnexported(types.RuleTransform{}, types.RewriteConfig{}, types.HostHeaderRewriteConfig{}, types.UrlRewriteConfig{})
	if diff := cmp.Diff(transforms, made.Transforms, unexported); diff != "" {
		t.Errorf("transforms (-want +got):\n%s", diff)
	}
	modify := func(in elb.ModifyRuleInput) (int, error) {
		in.RuleArn = made.RuleArn
		out, err := b.elb.ModifyRule(ctx(t), &in)
		if err != nil {
			return 0, err
		}
		return len(out.Rules[0].Transforms), nil
	}
	if n, err := modify(elb.ModifyRuleInput{Actions: []types.Action{fixed("201")}}); n != 2 || err != nil {
		t.Errorf("%d transforms, error %v: want both to stay", n, err)
	}
	if n, err := modify(elb.ModifyRuleInput{ResetTransforms: aws.Bool(true)}); n != 0 || err != nil {
		t.Errorf("%d transforms, error %v: want none", n, err)
	}
	twice := []types.RuleTransform{transforms[1], transforms[1]}
	_, err := modify(elb.ModifyRuleInput{Transforms: twice})
	wantCode(t, err, "ValidationError")
	broken := []types.RuleTransform{{Type: "url-rewrite", UrlRewriteConfig: &types.UrlRewriteConfig{Rewrites: rewrite("(")}}}
	_, err = modify(elb.ModifyRuleInput{Transforms: broken})
	wantCode(t, err, "ValidationError")
}

func TestMutualAuthenticationRoundTrip(t *testing.T) {
	b := newELBBed(t)
	store := b.machine.AddTrustStore("partners", x509.NewCertPool())
	found := must[*elb.DescribeTrustStoresOutput](t)(b.elb.DescribeTrustStores(ctx(t), &elb.DescribeTrustStoresInput{Names: []string{"partners"}}))
	if len(found.TrustStores) != 1 || *found.TrustStores[0].TrustStoreArn != store.ARN {
		t.Errorf("trust stores %+v", found.TrustStores)
	}
	_, err := b.elb.DescribeTrustStores(ctx(t), &elb.DescribeTrustStoresInput{Names: []string{"others"}})
	wantCode(t, err, "TrustStoreNotFound")

	listener := b.secureListener("lb")
	modify := func(m types.MutualAuthenticationAttributes) (*types.MutualAuthenticationAttributes, error) {
		out, err := b.elb.ModifyListener(ctx(t), &elb.ModifyListenerInput{ListenerArn: &listener, MutualAuthentication: &m})
		if err != nil {
			return nil, err
		}
		return out.Listeners[0].MutualAuthentication, nil
	}
	got, err := modify(types.MutualAuthenticationAttributes{
		Mode: aws.String("verify"), TrustStoreArn: &store.ARN, IgnoreClientCertificateExpiry: aws.Bool(true), AdvertiseTrustStoreCaNames: "on",
	})
	if err != nil || *got.Mode != "verify" || *got.TrustStoreArn != store.ARN || !*got.IgnoreClientCertificateExpiry || got.AdvertiseTrustStoreCaNames != "on" {
		t.Errorf("got %+v, error %v", got, err)
	}
	verify := types.MutualAuthenticationAttributes{Mode: aws.String("verify"), TrustStoreArn: &store.ARN}
	for port, code := range []string{"", "TooManyListeners"} {
		listeners := must[*elb.DescribeListenersOutput](t)(b.elb.DescribeListeners(ctx(t), &elb.DescribeListenersInput{ListenerArns: []string{listener}}))
		_, err := b.elb.CreateListener(ctx(t), &elb.CreateListenerInput{
			LoadBalancerArn: listeners.Listeners[0].LoadBalancerArn, Port: aws.Int32(8443 + int32(port)), Protocol: "HTTPS",
			Certificates: listeners.Listeners[0].Certificates, DefaultActions: []types.Action{fixed("404")}, MutualAuthentication: &verify,
		})
		wantCode(t, err, code)
	}
	if got, err := modify(types.MutualAuthenticationAttributes{Mode: aws.String("off")}); err != nil || *got.Mode != "off" || got.TrustStoreArn != nil {
		t.Errorf("got %+v, error %v, want off", got, err)
	}
	_, err = modify(types.MutualAuthenticationAttributes{Mode: aws.String("verify")})
	wantCode(t, err, "TrustStoreNotFound")
	_, err = modify(types.MutualAuthenticationAttributes{Mode: aws.String("passthrough"), TrustStoreArn: &store.ARN})
	wantCode(t, err, "ValidationError")
	_, err = modify(types.MutualAuthenticationAttributes{Mode: aws.String("ask")})
	wantCode(t, err, "ValidationError")
}

func TestTokensThatAreRefused(t *testing.T) {
	b := newELBBed(t)
	listener := b.secureListener("lb")
	for name, tc := range map[string]struct {
		jwks, issuer, code string
		claim              types.JwtValidationActionAdditionalClaim
	}{
		"no HTTPS":       {"http://i/j", "i", "InvalidLoadBalancerAction", claim("single-string", "n", "v")},
		"no issuer":      {"https://i/j", "", "ValidationError", claim("single-string", "n", "v")},
		"unknown format": {"https://i/j", "i", "ValidationError", claim("number", "n", "v")},
		"no name":        {"https://i/j", "i", "ValidationError", claim("string-array", "", "v")},
		"no values":      {"https://i/j", "i", "ValidationError", claim("space-separated-values", "n")},
		"own claim":      {"https://i/j", "i", "ValidationError", claim("single-string", "exp", "1")},
	} {
		t.Run(name, func(t *testing.T) {
			in := ruleOf(listener, 1, "/a", fixed("200"))
			in.Actions = []types.Action{{Type: "jwt-validation", Order: aws.Int32(1), JwtValidationConfig: &types.JwtValidationActionConfig{
				JwksEndpoint: &tc.jwks, Issuer: &tc.issuer, AdditionalClaims: []types.JwtValidationActionAdditionalClaim{tc.claim},
			}}, second(fixed("200"))}
			_, err := b.elb.CreateRule(ctx(t), in)
			wantCode(t, err, tc.code)
		})
	}
}

func claim(format, name string, values ...string) types.JwtValidationActionAdditionalClaim {
	return types.JwtValidationActionAdditionalClaim{
		Format: types.JwtValidationActionAdditionalClaimFormatEnum(format), Name: &name, Values: append([]string{}, values...),
	}
}

func TestTargetControlPort(t *testing.T) {
	b := newELBBed(t)
	create := func(name string, kind types.TargetTypeEnum, protocol types.ProtocolEnum, port int32) (*elb.CreateTargetGroupOutput, error) {
		return b.elb.CreateTargetGroup(ctx(t), &elb.CreateTargetGroupInput{
			Name: &name, TargetType: kind, Protocol: protocol, Port: aws.Int32(80), VpcId: aws.String(ec2.DefaultVPCID),
			TargetControlPort: &port,
		})
	}
	made := must[*elb.CreateTargetGroupOutput](t)(create("ip", "ip", "HTTP", 3000)).TargetGroups[0]
	if made.TargetControlPort == nil || *made.TargetControlPort != 3000 {
		t.Errorf("target control port %v, want 3000", made.TargetControlPort)
	}
	_, err := create("instance", "instance", "HTTP", 3000)
	wantCode(t, err, "InvalidConfigurationRequest")
	_, err = create("tcp", "ip", "TCP", 3000)
	wantCode(t, err, "InvalidConfigurationRequest")
	_, err = create("high", "ip", "HTTP", 65536)
	wantCode(t, err, "ValidationError")
}
