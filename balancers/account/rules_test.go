// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/balancers/apply/input"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// What a rule was made of is read back.
func TestRulesAreReadAsTheyWereWritten(t *testing.T) {
	group := func(arn string, weight int32) stack.Weighted {
		return stack.Weighted{Group: stack.Ref{ID: arn}, Weight: weight}
	}
	tests := map[string]stack.Rule{
		"one group":   {Action: stack.Action{Forward: &stack.Forward{Groups: []stack.Weighted{group("a", 1)}}}},
		"one, sticky": {Action: stack.Action{Forward: &stack.Forward{Groups: []stack.Weighted{group("a", 100)}, Sticky: 60}}},
		"one of weight 0, not sticky, with seconds": {
			Action: stack.Action{Forward: &stack.Forward{Groups: []stack.Weighted{group("a", 0)}, StickyOff: 60}},
		},
		"two, sticky": {Action: stack.Action{Forward: &stack.Forward{Groups: []stack.Weighted{group("a", 0), group("b", 3)}, Sticky: 60}}},
		"redirect": {Action: stack.Action{Redirect: &stack.Redirect{
			Protocol: "HTTPS", Host: "#{host}", Port: "443", Path: "/#{path}", Query: "#{query}", Status: "HTTP_301",
		}}},
		"redirect without a query": {Action: stack.Action{Redirect: &stack.Redirect{
			Protocol: "HTTPS", Host: "#{host}", Port: "443", Path: "/#{path}", Status: "HTTP_301",
		}}},
		"fixed": {Action: stack.Action{Fixed: &stack.FixedResponse{Status: "404", ContentType: "text/plain", Body: "no"}}},
		"each condition": {
			Conditions: []stack.Condition{
				{Field: "host-header", Values: []string{"a.example", "*.b.example"}}, {Field: "path-pattern", Regex: []string{"^/a"}},
				{Field: "http-header", Header: "X-A", Values: []string{"1"}}, {Field: "http-request-method", Values: []string{"GET"}},
				{Field: "query-string", Query: []stack.Parameter{{Key: "k", Value: "v"}, {Value: "w"}}},
				{Field: "source-ip", Values: []string{"10.0.0.0/8"}},
			},
			Action: stack.Action{Forward: &stack.Forward{Groups: []stack.Weighted{group("a", 1)}}},
		},
		"Cognito": {Action: stack.Action{
			Auth:    &stack.Auth{Cognito: &stack.Cognito{UserPoolARN: "arn", ClientID: "id", Domain: "domain", Session: session()}},
			Forward: &stack.Forward{Groups: []stack.Weighted{group("a", 1)}},
		}},
		"OIDC": {Action: stack.Action{
			Auth: &stack.Auth{OIDC: &stack.OIDC{
				Issuer: "i", AuthorizationEndpoint: "a", TokenEndpoint: "t", UserInfoEndpoint: "u", ClientID: "id", Session: session(),
			}},
			Fixed: &stack.FixedResponse{Status: "200"},
		}},
		"tokens": {Action: stack.Action{
			Auth: &stack.Auth{JWT: &stack.JWT{
				JWKSEndpoint: "j", Issuer: "i", Claims: []stack.Claim{{Format: "single-string", Name: "n", Values: []string{"v"}}},
			}},
			Forward: &stack.Forward{Groups: []stack.Weighted{group("a", 1)}},
		}},
		"transforms": {
			Action: stack.Action{Forward: &stack.Forward{Groups: []stack.Weighted{group("a", 1)}}},
			Transforms: []stack.Transform{
				{Type: "host-header-rewrite", Rewrites: []stack.Rewrite{{Regex: "^a", Replace: "b"}}},
				{Type: "url-rewrite", Rewrites: []stack.Rewrite{{Regex: "^/a(.*)", Replace: "/$1"}}},
			},
		},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			want.Priority = 7
			in, err := input.CreateRule(steps.CreateRule{Rule: want})
			if err != nil {
				t.Fatal(err)
			}
			for i := range in.Actions { // AWS fills in defaults
				if f := in.Actions[i].ForwardConfig; f != nil && f.TargetGroupStickinessConfig == nil {
					f.TargetGroupStickinessConfig = &types.TargetGroupStickinessConfig{Enabled: aws.Bool(false)}
				}
			}
			got := rule(types.Rule{Priority: aws.String("7"), Conditions: in.Conditions, Actions: in.Actions, Transforms: in.Transforms})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("rule (-written +read):\n%s", diff)
			}
		})
	}
}

func session() stack.Session {
	return stack.Session{Scope: "openid", Cookie: "c", Timeout: 60, Unauthenticated: "deny", Extra: map[string]string{"display": "page"}}
}

// AWS never shows the secret of a client: what is known of it is the version in the tag.
func TestClientSecretsAreKnownByTheirVersion(t *testing.T) {
	oidc := func(version string) stack.Action {
		return stack.Action{Auth: &stack.Auth{OIDC: &stack.OIDC{Secret: "hidden", Version: version}}, Fixed: &stack.FixedResponse{}}
	}
	seen := stack.Stack{LoadBalancers: []stack.LoadBalancer{{Listeners: []stack.Listener{{ARN: "listener"}}}}}
	steps.CreateRule{Listener: stack.Ref{ID: "listener"}, Rule: stack.Rule{Action: oidc("2")}}.On(&seen, steps.Made{ID: "rule"})
	noted := seen.Rule("rule").Action
	if noted.Auth.OIDC.Secret != "" || noted.SecretVersion() != "2" {
		t.Errorf("noted %#v", noted.Auth.OIDC)
	}
	setSecretVersion(&noted, map[string]string{stack.SecretTag: "3"})
	if noted.SecretVersion() != "3" {
		t.Errorf("version %q, want that of the tag", noted.SecretVersion())
	}
}

func TestActionsThatCannotBeWrittenAreUnknown(t *testing.T) {
	tests := map[string]types.Rule{
		"authenticate-oidc, forward": {Actions: []types.Action{{Type: "authenticate-oidc"}, {Type: "forward"}}},
		"forward, forward":           {Actions: []types.Action{{Type: "forward"}, {Type: "forward"}}},
		"nothing":                    {},
	}
	for want, described := range tests {
		if got := rule(described).Action; got.Unknown != want {
			t.Errorf("action %+v, want %q unknown", got, want)
		}
	}
}

func TestTheQueryOfARedirectIsTheClientsWhereAWSShowsNone(t *testing.T) {
	described := types.Rule{Actions: []types.Action{{Type: "redirect", RedirectConfig: &types.RedirectActionConfig{StatusCode: "HTTP_301"}}}}
	if got := rule(described).Action.Redirect.Query; got != "#{query}" {
		t.Errorf("query %q", got)
	}
}

func TestDefaultCertificateIsFirstAndInTheListAgain(t *testing.T) {
	certificate := func(arn string, standard bool) types.Certificate {
		return types.Certificate{CertificateArn: aws.String(arn), IsDefault: aws.Bool(standard)}
	}
	got := certificateList([]types.Certificate{certificate("b", false), certificate("a", true), certificate("a", false)})
	if diff := cmp.Diff([]string{"a", "b", "a"}, got); diff != "" {
		t.Errorf("certificates (-want +got):\n%s", diff)
	}
}
