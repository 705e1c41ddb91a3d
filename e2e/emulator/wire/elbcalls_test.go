// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/targetgate/targetgate/e2e/emulator/cloud"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/region"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// ignore leaves out what the SDK adds.
var ignore = cmpopts.IgnoreUnexported(types.Rule{}, types.RuleCondition{}, types.Action{}, types.ForwardActionConfig{},
	types.TargetGroupTuple{}, types.TargetGroupStickinessConfig{}, types.RedirectActionConfig{}, types.FixedResponseActionConfig{},
	types.HostHeaderConditionConfig{}, types.PathPatternConditionConfig{}, types.HttpHeaderConditionConfig{},
	types.HttpRequestMethodConditionConfig{}, types.QueryStringConditionConfig{}, types.QueryStringKeyValuePair{},
	types.SourceIpConditionConfig{}, types.Certificate{})

func (b *elbBed) rules(listener string) []types.Rule {
	b.t.Helper()
	all := elb.NewDescribeRulesPaginator(b.elb, &elb.DescribeRulesInput{ListenerArn: &listener, PageSize: aws.Int32(1)})
	var rules []types.Rule
	for all.HasMorePages() {
		rules = append(rules, must[*elb.DescribeRulesOutput](b.t)(all.NextPage(ctx(b.t))).Rules...)
	}
	return rules
}

// TestRuleRoundTrip has all fields of conditions and actions shown as they were given, with what AWS fills in.
func TestRuleRoundTrip(t *testing.T) {
	b := newELBBed(t)
	one, two := b.createGroup("one"), b.createGroup("two")
	listener := b.listener(b.balancer("lb"), 80, fixed("404"))
	in := &elb.CreateRuleInput{
		ListenerArn: &listener, Priority: aws.Int32(7),
		Conditions: []types.RuleCondition{
			{Field: aws.String("host-header"), HostHeaderConfig: &types.HostHeaderConditionConfig{Values: []string{"a.com"}}},
			{Field: aws.String("http-header"), HttpHeaderConfig: &types.HttpHeaderConditionConfig{HttpHeaderName: aws.String("X"), Values: []string{"y"}}},
			{Field: aws.String("http-request-method"), HttpRequestMethodConfig: &types.HttpRequestMethodConditionConfig{Values: []string{"GET"}}},
			{Field: aws.String("query-string"), QueryStringConfig: &types.QueryStringConditionConfig{
				Values: []types.QueryStringKeyValuePair{{Key: aws.String("k"), Value: aws.String("v")}},
			}},
			{Field: aws.String("source-ip"), SourceIpConfig: &types.SourceIpConditionConfig{Values: []string{"10.0.0.0/8"}}},
		},
		Actions: []types.Action{{Type: "forward", ForwardConfig: &types.ForwardActionConfig{
			TargetGroups:                []types.TargetGroupTuple{{TargetGroupArn: &one, Weight: aws.Int32(0)}, {TargetGroupArn: &two}},
			TargetGroupStickinessConfig: &types.TargetGroupStickinessConfig{Enabled: aws.Bool(false), DurationSeconds: aws.Int32(60)},
		}}},
	}
	made := must[*elb.CreateRuleOutput](t)(b.elb.CreateRule(ctx(t), in)).Rules[0]
	want := types.Rule{RuleArn: made.RuleArn, Priority: aws.String("7"), IsDefault: aws.Bool(false), Conditions: in.Conditions, Actions: []types.Action{{
		Type: "forward", Order: aws.Int32(1), ForwardConfig: &types.ForwardActionConfig{
			TargetGroups:                []types.TargetGroupTuple{{TargetGroupArn: &one, Weight: aws.Int32(0)}, {TargetGroupArn: &two, Weight: aws.Int32(1)}},
			TargetGroupStickinessConfig: in.Actions[0].ForwardConfig.TargetGroupStickinessConfig,
		},
	}}}
	for i := range want.Conditions {
		want.Conditions[i].Values = []string{}
	}
	want.Conditions[0].Values = []string{"a.com"}
	standard := types.Rule{Priority: aws.String("default"), IsDefault: aws.Bool(true), Conditions: []types.RuleCondition{}, Actions: []types.Action{fixed("404")}}
	standard.Actions[0].Order = aws.Int32(1)
	rules := b.rules(listener)
	standard.RuleArn = rules[1].RuleArn
	if diff := cmp.Diff([]types.Rule{want, standard}, rules, ignore); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	changed := must[*elb.ModifyRuleOutput](t)(b.elb.ModifyRule(ctx(t), &elb.ModifyRuleInput{RuleArn: made.RuleArn, Actions: []types.Action{{
		Type: "redirect", RedirectConfig: &types.RedirectActionConfig{Protocol: aws.String("HTTPS"), StatusCode: "HTTP_301"},
	}}})).Rules[0]
	want.Actions = []types.Action{{Type: "redirect", Order: aws.Int32(1), RedirectConfig: &types.RedirectActionConfig{
		Protocol: aws.String("HTTPS"), Host: aws.String("#{host}"), Port: aws.String("#{port}"), Path: aws.String("/#{path}"),
		Query: aws.String("#{query}"), StatusCode: "HTTP_301",
	}}}
	if diff := cmp.Diff(want, changed, ignore); diff != "" {
		t.Errorf("modified rule (-want +got):\n%s", diff)
	}
	changed = must[*elb.ModifyRuleOutput](t)(b.elb.ModifyRule(ctx(t), &elb.ModifyRuleInput{RuleArn: made.RuleArn, Actions: []types.Action{{
		Type:           "redirect",
		RedirectConfig: &types.RedirectActionConfig{Protocol: aws.String("HTTPS"), Query: aws.String(""), StatusCode: "HTTP_301"},
	}}})).Rules[0]
	want.Actions[0].RedirectConfig.Query = aws.String("")
	if diff := cmp.Diff(want, changed, ignore); diff != "" {
		t.Errorf("rule that drops the query (-want +got):\n%s", diff)
	}
}

// TestALoadBalancerFails has one be no longer provisioned, nor ever active.
func TestALoadBalancerFails(t *testing.T) {
	b := newELBBed(t)
	b.machine.FailProvisioning("no free addresses")
	doomed := b.balancer("doomed")
	b.machine.FailProvisioning("")
	fine := b.balancer("fine")
	b.clock.Step(5 * time.Minute)
	if got := b.described(doomed).State; got.Code != "failed" || aws.ToString(got.Reason) != "no free addresses" {
		t.Errorf("state %s, reason %q", got.Code, aws.ToString(got.Reason))
	}
	if got := b.described(fine).State; got.Code != "active" || got.Reason != nil {
		t.Errorf("state %s, reason %q", got.Code, aws.ToString(got.Reason))
	}
}

// TestLoadBalancerLife follows one from its creation until its security groups are free.
func TestLoadBalancerLife(t *testing.T) {
	b := newELBBed(t)
	sg, err := b.cloud.EC2.CreateSecurityGroup("", ec2.SecurityGroupSpec{Name: "front"})
	if err != nil {
		t.Fatal(err)
	}
	in := &elb.CreateLoadBalancerInput{Name: aws.String("lb"), Subnets: bothZones, SecurityGroups: []string{sg.ID}, Scheme: "internal"}
	made := must[*elb.CreateLoadBalancerOutput](t)(b.elb.CreateLoadBalancer(ctx(t), in)).LoadBalancers[0]
	again := must[*elb.CreateLoadBalancerOutput](t)(b.elb.CreateLoadBalancer(ctx(t), in)).LoadBalancers[0]
	if *made.LoadBalancerArn != *again.LoadBalancerArn || *made.DNSName == "" || made.State.Code != "provisioning" {
		t.Errorf("created %+v and again %+v", made, again)
	}
	group := b.createGroup("web")
	b.listener(*made.LoadBalancerArn, 80, forward(group))
	b.clock.Step(2*time.Minute - time.Second)
	stateOf := func() types.LoadBalancerStateEnum {
		in := &elb.DescribeLoadBalancersInput{LoadBalancerArns: []string{*made.LoadBalancerArn}}
		return must[*elb.DescribeLoadBalancersOutput](t)(b.elb.DescribeLoadBalancers(ctx(t), in)).LoadBalancers[0].State.Code
	}
	if got := stateOf(); got != "provisioning" {
		t.Errorf("before two minutes it is %s", got)
	}
	b.clock.Step(3*time.Minute + time.Second)
	if got := stateOf(); got != "active" {
		t.Errorf("after five minutes it is %s", got)
	}
	protect := func(value string) error {
		_, err := b.elb.ModifyLoadBalancerAttributes(ctx(t), &elb.ModifyLoadBalancerAttributesInput{
			LoadBalancerArn: made.LoadBalancerArn,
			Attributes:      []types.LoadBalancerAttribute{{Key: aws.String("deletion_protection.enabled"), Value: &value}},
		})
		return err
	}
	remove := func() error {
		_, err := b.elb.DeleteLoadBalancer(ctx(t), &elb.DeleteLoadBalancerInput{LoadBalancerArn: made.LoadBalancerArn})
		return err
	}
	wantCode(t, protect("yes"), "ValidationError")
	wantCode(t, protect("true"), "")
	wantCode(t, remove(), "OperationNotPermitted")
	wantCode(t, protect("false"), "")
	wantCode(t, remove(), "")
	wantCode(t, remove(), "")
	free := func() error {
		_, err := b.elb.DeleteTargetGroup(ctx(t), &elb.DeleteTargetGroupInput{TargetGroupArn: &group})
		return err
	}
	wantCode(t, free(), "ResourceInUse")
	b.clock.Step(10 * time.Second)
	wantCode(t, free(), "")
	if err := b.cloud.EC2.DeleteSecurityGroup(sg.ID); !refusal.Is(err, "DependencyViolation") {
		t.Errorf("deleting its security group: %v", err)
	}
	b.clock.Step(2 * time.Minute)
	if err := b.cloud.EC2.DeleteSecurityGroup(sg.ID); err != nil {
		t.Errorf("deleting its security group two minutes later: %v", err)
	}
}

// TestListenerCertificates lists the default one first, and again where it is in the list, too.
func TestListenerCertificates(t *testing.T) {
	b := newELBBed(t)
	lb := b.balancer("lb")
	arn := func(n int) types.Certificate {
		return types.Certificate{CertificateArn: aws.String(fmt.Sprint(certificate, n))}
	}
	made := must[*elb.CreateListenerOutput](t)(b.elb.CreateListener(ctx(t), &elb.CreateListenerInput{
		LoadBalancerArn: &lb, Port: aws.Int32(443), Protocol: "HTTPS", Certificates: []types.Certificate{arn(0)}, DefaultActions: []types.Action{fixed("404")},
	})).Listeners[0]
	if *made.SslPolicy != "ELBSecurityPolicy-2016-08" {
		t.Errorf("policy is %s", *made.SslPolicy)
	}
	add := func(list ...types.Certificate) error {
		_, err := b.elb.AddListenerCertificates(ctx(t), &elb.AddListenerCertificatesInput{ListenerArn: made.ListenerArn, Certificates: list})
		return err
	}
	remove := func(list ...types.Certificate) error {
		_, err := b.elb.RemoveListenerCertificates(ctx(t), &elb.RemoveListenerCertificatesInput{ListenerArn: made.ListenerArn, Certificates: list})
		return err
	}
	wantCode(t, add(arn(0), arn(1)), "")
	wantCode(t, add(arn(1)), "")
	wantCode(t, add(arn(2)), "TooManyCertificates")
	wantCode(t, add(arn(9)), "CertificateNotFound")
	listed := must[*elb.DescribeListenerCertificatesOutput](t)(
		b.elb.DescribeListenerCertificates(ctx(t), &elb.DescribeListenerCertificatesInput{ListenerArn: made.ListenerArn})).Certificates
	want := []types.Certificate{arn(0), arn(0), arn(1)}
	for i := range want {
		want[i].IsDefault = aws.Bool(i == 0)
	}
	if diff := cmp.Diff(want, listed, ignore); diff != "" {
		t.Errorf("certificates (-want +got):\n%s", diff)
	}
	wantCode(t, remove(arn(0), arn(1)), "")
	wantCode(t, remove(arn(0)), "OperationNotPermitted")
	out := must[*elb.ModifyListenerOutput](t)(b.elb.ModifyListener(ctx(t), &elb.ModifyListenerInput{
		ListenerArn: made.ListenerArn, Certificates: []types.Certificate{arn(3)},
	})).Listeners[0]
	if *out.Certificates[0].CertificateArn != *arn(3).CertificateArn || *out.DefaultActions[0].FixedResponseConfig.StatusCode != "404" {
		t.Errorf("modified listener is %+v", out)
	}
}

// TestTagsOfAllResources reads tags that lag.
func TestTagsOfAllResources(t *testing.T) {
	b := newELBBed(t, func(o *cloud.Options) {
		o.ELB.Delays = &state.Delays{Tags: region.Range{Min: time.Minute, Max: time.Minute}}
	})
	key, value := "team", "shop"
	tags := []types.Tag{{Key: &key, Value: &value}}
	lb := *must[*elb.CreateLoadBalancerOutput](t)(b.elb.CreateLoadBalancer(ctx(t), &elb.CreateLoadBalancerInput{
		Name: aws.String("lb"), Subnets: bothZones, Tags: tags,
	})).LoadBalancers[0].LoadBalancerArn
	listener := *must[*elb.CreateListenerOutput](t)(b.elb.CreateListener(ctx(t), &elb.CreateListenerInput{
		LoadBalancerArn: &lb, Port: aws.Int32(80), Protocol: "HTTP", DefaultActions: []types.Action{fixed("404")}, Tags: tags,
	})).Listeners[0].ListenerArn
	in := ruleOf(listener, 1, "/", fixed("200"))
	in.Tags = tags
	rule := *must[*elb.CreateRuleOutput](t)(b.elb.CreateRule(ctx(t), in)).Rules[0].RuleArn
	arns := []string{lb, listener, rule}
	read := func() (values []string) {
		for _, d := range must[*elb.DescribeTagsOutput](t)(b.elb.DescribeTags(ctx(t), &elb.DescribeTagsInput{ResourceArns: arns})).TagDescriptions {
			values = append(values, "")
			for _, tag := range d.Tags {
				values[len(values)-1] += *tag.Value
			}
		}
		return values
	}
	if diff := cmp.Diff([]string{"", "", ""}, read()); diff != "" {
		t.Errorf("new tags (-want +got):\n%s", diff)
	}
	b.clock.Step(time.Minute)
	must[*elb.RemoveTagsOutput](t)(b.elb.RemoveTags(ctx(t), &elb.RemoveTagsInput{ResourceArns: []string{rule}, TagKeys: []string{"team"}}))
	if diff := cmp.Diff([]string{"shop", "shop", "shop"}, read()); diff != "" {
		t.Errorf("tags after a minute (-want +got):\n%s", diff)
	}
	b.clock.Step(time.Minute)
	if diff := cmp.Diff([]string{"shop", "shop", ""}, read()); diff != "" {
		t.Errorf("tags after two minutes (-want +got):\n%s", diff)
	}
}

func TestGRPCGroupsMatchGRPCCodes(t *testing.T) {
	b := newELBBed(t)
	in := &elb.CreateTargetGroupInput{
		Name: aws.String("rpc"), Protocol: "HTTP", ProtocolVersion: aws.String("GRPC"), Port: aws.Int32(80), VpcId: aws.String(ec2.DefaultVPCID),
	}
	made := must[*elb.CreateTargetGroupOutput](t)(b.elb.CreateTargetGroup(ctx(t), in)).TargetGroups[0]
	if *made.Matcher.GrpcCode != "12" || made.Matcher.HttpCode != nil || *made.HealthCheckPath != "/AWS.ALB/healthcheck" {
		t.Errorf("group is %+v, matcher %+v", made, made.Matcher)
	}
	for code, want := range map[string]string{"0-99": "", "100": "ValidationError"} {
		_, err := b.elb.ModifyTargetGroup(ctx(t), &elb.ModifyTargetGroupInput{
			TargetGroupArn: made.TargetGroupArn, Matcher: &types.Matcher{GrpcCode: &code},
		})
		wantCode(t, err, want)
	}
	_, err := b.elb.ModifyTargetGroup(ctx(t), &elb.ModifyTargetGroupInput{
		TargetGroupArn: made.TargetGroupArn, Matcher: &types.Matcher{HttpCode: aws.String("200")},
	})
	wantCode(t, err, "ValidationError")
}

// TestWhatIsNewIsFoundAfterAWhile is AWS's answers that lag behind what was created.
func TestWhatIsNewIsFoundAfterAWhile(t *testing.T) {
	b := newELBBed(t, func(o *cloud.Options) {
		o.ELB.Delays = &state.Delays{Shown: region.Range{Min: time.Minute, Max: time.Minute}}
	})
	lb, group := b.balancer("lb"), b.createGroup("web")
	listen := &elb.CreateListenerInput{LoadBalancerArn: &lb, Port: aws.Int32(80), Protocol: "HTTP", DefaultActions: []types.Action{fixed("404")}}
	_, err := b.elb.CreateListener(ctx(t), listen)
	wantCode(t, err, "LoadBalancerNotFound")
	_, err = b.elb.DescribeLoadBalancers(ctx(t), &elb.DescribeLoadBalancersInput{Names: []string{"lb"}})
	wantCode(t, err, "LoadBalancerNotFound")
	wantCode(t, b.register(group, "10.0.0.9"), "TargetGroupNotFound")
	if all := must[*elb.DescribeTargetGroupsOutput](t)(b.elb.DescribeTargetGroups(ctx(t), &elb.DescribeTargetGroupsInput{})); len(all.TargetGroups) > 0 {
		t.Errorf("target groups %+v, want none yet", all.TargetGroups)
	}
	b.clock.Step(time.Minute)
	listener := *must[*elb.CreateListenerOutput](t)(b.elb.CreateListener(ctx(t), listen)).Listeners[0].ListenerArn
	_, err = b.elb.CreateRule(ctx(t), ruleOf(listener, 1, "/", forward(group)))
	wantCode(t, err, "ListenerNotFound")
	b.clock.Step(time.Minute)
	b.rule(listener, 1, "/", forward(group))
	rules := must[*elb.DescribeRulesOutput](t)(b.elb.DescribeRules(ctx(t), &elb.DescribeRulesInput{ListenerArn: &listener})).Rules
	if len(rules) != 1 || !*rules[0].IsDefault {
		t.Errorf("rules %+v, want the default one alone", rules)
	}
	_, err = b.elb.CreateRule(ctx(t), ruleOf(listener, 1, "/other", fixed("404")))
	wantCode(t, err, "PriorityInUse")
}
