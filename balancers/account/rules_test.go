// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/balancers/apply/input"
	"github.com/targetgate/targetgate/balancers/plan"
	"github.com/targetgate/targetgate/balancers/stack"
)

// What a rule was made of is read back.
func TestRulesAreReadAsTheyWereWritten(t *testing.T) {
	group := func(arn string, weight int32) stack.Weighted {
		return stack.Weighted{Group: stack.Ref{ID: arn}, Weight: weight}
	}
	tests := map[string]stack.Rule{
		"one group":   {Action: stack.Action{Forward: &stack.Forward{Groups: []stack.Weighted{group("a", 1)}}}},
		"two, sticky": {Action: stack.Action{Forward: &stack.Forward{Groups: []stack.Weighted{group("a", 0), group("b", 3)}, Sticky: 60}}},
		"redirect": {Action: stack.Action{Redirect: &stack.Redirect{
			Protocol: "HTTPS", Host: "#{host}", Port: "443", Path: "/#{path}", Query: "#{query}", Status: "HTTP_301",
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
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			want.Priority = 7
			in, err := input.CreateRule(plan.CreateRule{Rule: want})
			if err != nil {
				t.Fatal(err)
			}
			for i := range in.Actions { // AWS fills in defaults
				if f := in.Actions[i].ForwardConfig; f != nil && f.TargetGroupStickinessConfig == nil {
					f.TargetGroupStickinessConfig = &types.TargetGroupStickinessConfig{Enabled: aws.Bool(false)}
				}
			}
			got := rule(types.Rule{Priority: aws.String("7"), Conditions: in.Conditions, Actions: in.Actions})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("rule (-written +read):\n%s", diff)
			}
		})
	}
}

func TestActionsThatCannotBeWrittenAreUnknown(t *testing.T) {
	tests := map[string]types.Rule{
		"authenticate-oidc, forward": {Actions: []types.Action{{Type: "authenticate-oidc"}, {Type: "forward"}}},
		"forward, url-rewrite":       {Actions: []types.Action{{Type: "forward"}}, Transforms: []types.RuleTransform{{Type: "url-rewrite"}}},
		"nothing":                    {},
	}
	for want, described := range tests {
		if got := rule(described).Action; got.Unknown != want {
			t.Errorf("action %+v, want %q unknown", got, want)
		}
	}
}

func TestDefaultCertificateIsFirstAndOnce(t *testing.T) {
	certificate := func(arn string, standard bool) types.Certificate {
		return types.Certificate{CertificateArn: aws.String(arn), IsDefault: aws.Bool(standard)}
	}
	got := certificateList([]types.Certificate{certificate("b", false), certificate("a", true), certificate("a", false)})
	if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" {
		t.Errorf("certificates (-want +got):\n%s", diff)
	}
}
