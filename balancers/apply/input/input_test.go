// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package input

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// exported compares the fields that are on the wire.
var exported = cmp.FilterPath(func(p cmp.Path) bool {
	field, ok := p.Last().(cmp.StructField)
	return ok && field.Name() == "noSmithyDocumentSerde"
}, cmp.Ignore())

func TestConditions(t *testing.T) {
	got, err := Conditions([]stack.Condition{
		{Field: "http-header", Header: "X-A", Values: []string{"a"}},
		{Field: "host-header", Values: []string{"shop.example.com"}},
		{Field: "path-pattern", Regex: []string{"^/a"}},
		{Field: "http-request-method", Values: []string{"GET"}},
		{Field: "query-string", Query: []stack.Parameter{{Key: "a", Value: "b"}, {Value: "c"}}},
		{Field: "source-ip", Values: []string{"10.0.0.0/8"}},
	})
	want := []types.RuleCondition{
		{Field: aws.String("http-header"), HttpHeaderConfig: &types.HttpHeaderConditionConfig{HttpHeaderName: aws.String("X-A"), Values: []string{"a"}}},
		{Field: aws.String("host-header"), HostHeaderConfig: &types.HostHeaderConditionConfig{Values: []string{"shop.example.com"}}},
		{Field: aws.String("path-pattern"), PathPatternConfig: &types.PathPatternConditionConfig{RegexValues: []string{"^/a"}}},
		{Field: aws.String("http-request-method"), HttpRequestMethodConfig: &types.HttpRequestMethodConditionConfig{Values: []string{"GET"}}},
		{Field: aws.String("query-string"), QueryStringConfig: &types.QueryStringConditionConfig{Values: []types.QueryStringKeyValuePair{
			{Key: aws.String("a"), Value: aws.String("b")}, {Value: aws.String("c")},
		}}},
		{Field: aws.String("source-ip"), SourceIpConfig: &types.SourceIpConditionConfig{Values: []string{"10.0.0.0/8"}}},
	}
	if diff := cmp.Diff(want, got, exported); diff != "" || err != nil {
		t.Errorf("error %v, conditions (-want +got):\n%s", err, diff)
	}
	if _, err := Conditions([]stack.Condition{{Field: "cookie"}}); err == nil {
		t.Error("a condition of another field is written")
	}
}

func TestControlPort(t *testing.T) {
	if in := CreateTargetGroup(stack.TargetGroup{}, "vpc"); in.TargetControlPort != nil {
		t.Errorf("control port %d, want none", *in.TargetControlPort)
	}
	if in := CreateTargetGroup(stack.TargetGroup{ControlPort: 3000}, "vpc"); aws.ToInt32(in.TargetControlPort) != 3000 {
		t.Errorf("control port %v, want 3000", in.TargetControlPort)
	}
}

func TestActions(t *testing.T) {
	for name, tc := range map[string]struct {
		action stack.Action
		want   types.Action
	}{
		"a forward to one group has no weight": {
			action: stack.Action{Forward: &stack.Forward{Groups: []stack.Weighted{{Group: stack.Ref{ID: "tg"}, Weight: 1}}}},
			want:   types.Action{Type: "forward", ForwardConfig: &types.ForwardActionConfig{TargetGroups: []types.TargetGroupTuple{{TargetGroupArn: aws.String("tg")}}}},
		},
		"a forward to one group has another weight than 1, and the seconds of what is switched off": {
			action: stack.Action{Forward: &stack.Forward{Groups: []stack.Weighted{{Group: stack.Ref{ID: "tg"}}}, StickyOff: 60}},
			want: types.Action{Type: "forward", ForwardConfig: &types.ForwardActionConfig{
				TargetGroups:                []types.TargetGroupTuple{{TargetGroupArn: aws.String("tg"), Weight: aws.Int32(0)}},
				TargetGroupStickinessConfig: &types.TargetGroupStickinessConfig{Enabled: aws.Bool(false), DurationSeconds: aws.Int32(60)},
			}},
		},
		"a sticky forward to two": {
			action: stack.Action{Forward: &stack.Forward{Sticky: 60, Groups: []stack.Weighted{{Group: stack.Ref{ID: "a"}, Weight: 1}, {Group: stack.Ref{ID: "b"}}}}},
			want: types.Action{Type: "forward", ForwardConfig: &types.ForwardActionConfig{
				TargetGroups: []types.TargetGroupTuple{
					{TargetGroupArn: aws.String("a"), Weight: aws.Int32(1)}, {TargetGroupArn: aws.String("b"), Weight: aws.Int32(0)},
				},
				TargetGroupStickinessConfig: &types.TargetGroupStickinessConfig{Enabled: aws.Bool(true), DurationSeconds: aws.Int32(60)},
			}},
		},
		"a redirect that drops the query": {
			action: stack.Action{Redirect: &stack.Redirect{Protocol: "HTTPS", Host: "#{host}", Port: "443", Path: "/#{path}", Status: "HTTP_301"}},
			want: types.Action{Type: "redirect", RedirectConfig: &types.RedirectActionConfig{
				Protocol: aws.String("HTTPS"), Host: aws.String("#{host}"), Port: aws.String("443"), Path: aws.String("/#{path}"), Query: aws.String(""), StatusCode: "HTTP_301",
			}},
		},
		"a page without a body": {
			action: stack.Action{Fixed: &stack.FixedResponse{Status: "404", ContentType: "text/plain"}},
			want: types.Action{Type: "fixed-response", FixedResponseConfig: &types.FixedResponseActionConfig{
				StatusCode: aws.String("404"), ContentType: aws.String("text/plain"),
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.want.Order = aws.Int32(1)
			got, err := Actions(tc.action)
			if diff := cmp.Diff([]types.Action{tc.want}, got, exported); diff != "" || err != nil {
				t.Errorf("error %v, actions (-want +got):\n%s", err, diff)
			}
		})
	}
	if _, err := Actions(stack.Action{Unknown: "authenticate-oidc"}); err == nil {
		t.Error("an action that cannot be written is written")
	}
}

// The policy that we ship allows these calls only with the tags in them.
func TestWhatIsMadeHasItsTagsInTheCall(t *testing.T) {
	tags := map[string]string{"b": "2", "a": "1"}
	want := []types.Tag{{Key: aws.String("a"), Value: aws.String("1")}, {Key: aws.String("b"), Value: aws.String("2")}}
	action := stack.Action{Fixed: &stack.FixedResponse{Status: "404"}}
	listener, _ := CreateListener(steps.CreateListener{Listener: stack.Listener{Tags: tags, Default: action}})
	rule, _ := CreateRule(steps.CreateRule{Rule: stack.Rule{Tags: tags, Action: action}})
	for name, got := range map[string][]types.Tag{
		"load balancer": CreateLoadBalancer(stack.LoadBalancer{Tags: tags}).Tags,
		"target group":  CreateTargetGroup(stack.TargetGroup{Tags: tags}, "vpc").Tags,
		"listener":      listener.Tags, "rule": rule.Tags,
	} {
		if diff := cmp.Diff(want, got, exported); diff != "" {
			t.Errorf("tags of a %s (-want +got):\n%s", name, diff)
		}
	}
	group := CreateSecurityGroup(stack.SecurityGroup{Name: "n", Description: "d", Tags: map[string]string{"a": "1"}}, "vpc")
	if diff := cmp.Diff(&awsec2.CreateSecurityGroupInput{
		GroupName: aws.String("n"), Description: aws.String("d"), VpcId: aws.String("vpc"),
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: "security-group", Tags: []ec2types.Tag{{Key: aws.String("a"), Value: aws.String("1")}}}},
	}, group, exported, cmpopts.IgnoreUnexported(awsec2.CreateSecurityGroupInput{})); diff != "" {
		t.Errorf("security group (-want +got):\n%s", diff)
	}
}

func TestASubnetHasTheAddressAtItsPlace(t *testing.T) {
	got := Subnets([]string{"a", "b"}, []string{"", "eipalloc-0b"})
	if got[0].AllocationId != nil || aws.ToString(got[1].AllocationId) != "eipalloc-0b" {
		t.Errorf("subnets %+v", got)
	}
}

func TestTheMatcherIsOfTheProtocolVersion(t *testing.T) {
	for version, grpc := range map[string]bool{"HTTP1": false, "HTTP2": false, "GRPC": true} {
		in := CreateTargetGroup(stack.TargetGroup{ProtocolVersion: version, HealthCheck: stack.HealthCheck{Matcher: "12"}}, "vpc")
		if (in.Matcher.GrpcCode != nil) != grpc || (in.Matcher.HttpCode != nil) == grpc {
			t.Errorf("%s: matcher %+v", version, in.Matcher)
		}
	}
}

func TestListenersHaveTheirFirstCertificateAsDefault(t *testing.T) {
	listener := stack.Listener{
		Port: 443, Protocol: "HTTPS", SSLPolicy: "policy", Certificates: []string{"first", "second"},
		Default: stack.Action{Fixed: &stack.FixedResponse{Status: "404"}},
	}
	in, err := ModifyListener(steps.ModifyListener{Listener: stack.Ref{ID: "arn"}, To: listener})
	if err != nil || len(in.Certificates) != 1 || *in.Certificates[0].CertificateArn != "first" || *in.SslPolicy != "policy" || *in.Port != 443 {
		t.Errorf("error %v, input %+v", err, in)
	}
	listener.Protocol, listener.SSLPolicy, listener.Certificates = "HTTP", "", nil
	if in, err = ModifyListener(steps.ModifyListener{To: listener}); err != nil || in.Certificates != nil || in.SslPolicy != nil {
		t.Errorf("error %v, HTTP listener %+v", err, in)
	}
}

func TestPermissions(t *testing.T) {
	got, err := Permissions([]stack.Inbound{
		{From: 80, To: 80, Protocol: "tcp", Source: "10.0.0.0/8"}, {From: 80, To: 80, Protocol: "tcp", Source: "::/0"},
		{From: 80, To: 80, Protocol: "tcp", Source: "pl-1"}, {From: 80, To: 90, Protocol: "tcp", Source: "sg-1"},
	})
	var texts []string
	for _, rule := range got {
		texts = append(texts, rule.String())
	}
	if diff := cmp.Diff([]string{"tcp 80 from 10.0.0.0/8", "tcp 80 from ::/0", "tcp 80 from pl-1", "tcp 80-90 from sg-1"}, texts); diff != "" || err != nil {
		t.Errorf("error %v, rules (-want +got):\n%s", err, diff)
	}
	if _, err := Permissions([]stack.Inbound{{Source: "everybody"}}); err == nil {
		t.Error("a source that is none is written")
	}
}
