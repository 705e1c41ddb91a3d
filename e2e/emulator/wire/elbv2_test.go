// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/targetgate/targetgate/e2e/emulator/cloud"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/region"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

func TestTargetGroupRoundTrip(t *testing.T) {
	b := newBed(t, cloud.Options{}, Options{})
	arn := b.createGroup("web")
	want := types.TargetGroup{
		TargetGroupArn: &arn, TargetGroupName: aws.String("web"), Protocol: "HTTP", ProtocolVersion: aws.String("HTTP1"),
		Port: aws.Int32(8080), VpcId: aws.String(ec2.DefaultVPCID), TargetType: "ip", IpAddressType: "ipv4",
		HealthCheckEnabled: aws.Bool(true), HealthCheckProtocol: "HTTP", HealthCheckPort: aws.String("traffic-port"),
		HealthCheckPath: aws.String("/"), HealthCheckIntervalSeconds: aws.Int32(30), HealthCheckTimeoutSeconds: aws.Int32(5),
		HealthyThresholdCount: aws.Int32(5), UnhealthyThresholdCount: aws.Int32(2), LoadBalancerArns: []string{},
		Matcher: &types.Matcher{HttpCode: aws.String("200")},
	}
	compare := func(got types.TargetGroup) {
		t.Helper()
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(types.TargetGroup{}, types.Matcher{})); diff != "" {
			t.Errorf("group (-want +got):\n%s", diff)
		}
	}
	for _, in := range []*elb.DescribeTargetGroupsInput{{}, {Names: []string{"web"}}, {TargetGroupArns: []string{arn}}} {
		compare(must[*elb.DescribeTargetGroupsOutput](t)(b.elb.DescribeTargetGroups(ctx(t), in)).TargetGroups[0])
	}
	out := must[*elb.ModifyTargetGroupOutput](t)(b.elb.ModifyTargetGroup(ctx(t), &elb.ModifyTargetGroupInput{
		TargetGroupArn: &arn, HealthCheckIntervalSeconds: aws.Int32(10), HealthCheckPath: aws.String("/ready"),
		Matcher: &types.Matcher{HttpCode: aws.String("200-299")},
	}))
	want.HealthCheckIntervalSeconds, want.HealthCheckPath = aws.Int32(10), aws.String("/ready")
	want.Matcher.HttpCode = aws.String("200-299")
	compare(out.TargetGroups[0])
	must[*elb.DeleteTargetGroupOutput](t)(b.elb.DeleteTargetGroup(ctx(t), &elb.DeleteTargetGroupInput{TargetGroupArn: &arn}))
	_, err := b.elb.DescribeTargetGroups(ctx(t), &elb.DescribeTargetGroupsInput{Names: []string{"web"}})
	wantCode(t, err, "TargetGroupNotFound")
}

func TestDescribeTargetGroupsPages(t *testing.T) {
	b := newBed(t, cloud.Options{}, Options{})
	var want, got []string
	for i := range 5 {
		want = append(want, b.createGroup(fmt.Sprint("g", i)))
	}
	pages := 0
	all := elb.NewDescribeTargetGroupsPaginator(b.elb, &elb.DescribeTargetGroupsInput{PageSize: aws.Int32(2)})
	for all.HasMorePages() {
		pages++
		for _, g := range must[*elb.DescribeTargetGroupsOutput](t)(all.NextPage(ctx(t))).TargetGroups {
			got = append(got, *g.TargetGroupArn)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || pages != 3 {
		t.Errorf("%d pages, groups (-want +got):\n%s", pages, diff)
	}
	for name, in := range map[string]*elb.DescribeTargetGroupsInput{
		"marker":  {Marker: aws.String("?")},
		"size":    {PageSize: aws.Int32(401)},
		"several": {Names: []string{"g1"}, TargetGroupArns: want[:1]},
	} {
		_, err := b.elb.DescribeTargetGroups(ctx(t), in)
		t.Log(name)
		wantCode(t, err, "ValidationError")
	}
}

func TestTargetGroupAttributes(t *testing.T) {
	b := newBed(t, cloud.Options{}, Options{})
	arn := b.createGroup("web")
	change := func(key, value string) error {
		_, err := b.elb.ModifyTargetGroupAttributes(ctx(t), &elb.ModifyTargetGroupAttributesInput{
			TargetGroupArn: &arn, Attributes: []types.TargetGroupAttribute{{Key: &key, Value: &value}},
		})
		return err
	}
	wantCode(t, change("deregistration_delay.timeout_seconds", "30"), "")
	wantCode(t, change("deregistration_delay.timeout_seconds", "-1"), "ValidationError")
	out := must[*elb.DescribeTargetGroupAttributesOutput](t)(
		b.elb.DescribeTargetGroupAttributes(ctx(t), &elb.DescribeTargetGroupAttributesInput{TargetGroupArn: &arn}))
	for _, a := range out.Attributes {
		if *a.Key == "deregistration_delay.timeout_seconds" && *a.Value != "30" {
			t.Errorf("delay is %s, want 30", *a.Value)
		}
	}
	if len(out.Attributes) < 10 {
		t.Errorf("only %d attributes", len(out.Attributes))
	}
}

func TestTagsRoundTrip(t *testing.T) {
	b := newBed(t, cloud.Options{}, Options{})
	arn := b.createGroup("web")
	tag := func(key, value string) error {
		_, err := b.elb.AddTags(ctx(t), &elb.AddTagsInput{ResourceArns: []string{arn}, Tags: []types.Tag{{Key: &key, Value: &value}}})
		return err
	}
	read := func() map[string]string {
		in := &elb.DescribeTagsInput{ResourceArns: []string{arn}}
		got := map[string]string{}
		for _, tag := range must[*elb.DescribeTagsOutput](t)(b.elb.DescribeTags(ctx(t), in)).TagDescriptions[0].Tags {
			got[*tag.Key] = *tag.Value
		}
		return got
	}
	wantCode(t, tag("targetgate.dev/bind", "prod/shop +/till"), "")
	wantCode(t, tag("team", ""), "")
	wantCode(t, tag("team", "*"), "ValidationError")
	wantCode(t, tag("team", strings.Repeat("a", 257)), "ValidationError")
	wantCode(t, tag("aws:team", "a"), "ValidationError")
	if diff := cmp.Diff(map[string]string{"targetgate.dev/bind": "prod/shop +/till", "team": ""}, read()); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	out := &elb.RemoveTagsInput{ResourceArns: []string{arn}, TagKeys: []string{"team", "none"}}
	must[*elb.RemoveTagsOutput](t)(b.elb.RemoveTags(ctx(t), out))
	if diff := cmp.Diff(map[string]string{"targetgate.dev/bind": "prod/shop +/till"}, read()); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	made := must[*elb.CreateTargetGroupOutput](t)(b.elb.CreateTargetGroup(ctx(t), &elb.CreateTargetGroupInput{
		Name: aws.String("tagged"), Protocol: "HTTP", Port: aws.Int32(80), VpcId: aws.String(ec2.DefaultVPCID), TargetType: "ip",
		Tags: []types.Tag{{Key: aws.String("team"), Value: aws.String("shop")}},
	}))
	if arn = *made.TargetGroups[0].TargetGroupArn; read()["team"] != "shop" {
		t.Errorf("tags of a new group are %v", read())
	}
}

func TestTargetsRoundTrip(t *testing.T) {
	b := newBed(t, cloud.Options{}, Options{})
	arn := b.createGroup("web")
	if empty := must[[]types.TargetHealthDescription](t)(b.health(arn)); len(empty) != 0 {
		t.Errorf("a new group has targets: %v", empty)
	}
	wantCode(t, b.register(arn, "10.0.0.1", "10.64.0.1"), "")
	got := must[[]types.TargetHealthDescription](t)(b.health(arn, targets("10.64.0.1", "10.0.0.9")...))
	line := func(id string, zone *string, port *string, reason types.TargetHealthReasonEnum, text string) types.TargetHealthDescription {
		return types.TargetHealthDescription{
			Target:          &types.TargetDescription{Id: &id, Port: aws.Int32(8080), AvailabilityZone: zone},
			HealthCheckPort: port,
			TargetHealth:    &types.TargetHealth{State: "unused", Reason: reason, Description: &text},
		}
	}
	want := []types.TargetHealthDescription{
		line("10.64.0.1", aws.String("eu-west-1b"), aws.String("8080"), "Target.NotInUse",
			"Target group is not configured to receive traffic from the load balancer"),
		line("10.0.0.9", nil, nil, "Target.NotRegistered", "Target is not registered to the target group"),
	}
	ignore := cmpopts.IgnoreUnexported(types.TargetHealthDescription{}, types.TargetDescription{}, types.TargetHealth{})
	if diff := cmp.Diff(want, got, ignore); diff != "" {
		t.Errorf("health (-want +got):\n%s", diff)
	}
	out := &elb.DeregisterTargetsInput{TargetGroupArn: &arn, Targets: targets("10.0.0.1", "10.0.0.9")}
	must[*elb.DeregisterTargetsOutput](t)(b.elb.DeregisterTargets(ctx(t), out))
	if left := must[[]types.TargetHealthDescription](t)(b.health(arn)); len(left) != 1 {
		t.Errorf("%d targets are left, want 1", len(left))
	}
}

func TestTargetErrors(t *testing.T) {
	b := newBed(t, cloud.Options{ELB: state.Options{Quotas: &state.Quotas{Groups: 5, TargetsPerGroup: 1}}}, Options{})
	arn := b.createGroup("web")
	missing := arn[:len(arn)-1] + "x"
	wantCode(t, b.register(missing, "10.0.0.1"), "TargetGroupNotFound")
	wantCode(t, b.register("web", "10.0.0.1"), "ValidationError")
	wantCode(t, b.register(arn, "203.0.113.1"), "InvalidTarget")
	wantCode(t, b.register(arn, "10.0.0.1", "10.0.0.2"), "TooManyTargets")
	wantCode(t, b.register(arn), "ValidationError")
	_, err := b.health(missing)
	wantCode(t, err, "TargetGroupNotFound")
	_, err = b.elb.DescribeTargetGroupAttributes(ctx(t), &elb.DescribeTargetGroupAttributesInput{TargetGroupArn: &missing})
	wantCode(t, err, "TargetGroupNotFound")
	_, err = b.elb.DescribeTags(ctx(t), &elb.DescribeTagsInput{ResourceArns: []string{missing}})
	wantCode(t, err, "TargetGroupNotFound")
	_, err = b.elb.DescribeAccountLimits(ctx(t), &elb.DescribeAccountLimitsInput{})
	wantCode(t, err, "InvalidAction")
}

func TestLoadBalancerRoundTrip(t *testing.T) {
	b := newBed(t, cloud.Options{Region: region.Options{Scale: 1e-9}}, Options{})
	group := b.createGroup("web")
	subnets := []string{"subnet-0a000000000000001", "subnet-0b000000000000002"}
	lb := must[*elb.CreateLoadBalancerOutput](t)(b.elb.CreateLoadBalancer(ctx(t), &elb.CreateLoadBalancerInput{
		Name: aws.String("front"), Subnets: subnets,
	})).LoadBalancers[0]
	byName := &elb.DescribeLoadBalancersInput{Names: []string{"front"}}
	shown := must[*elb.DescribeLoadBalancersOutput](t)(b.elb.DescribeLoadBalancers(ctx(t), byName)).LoadBalancers[0]
	if shown.State.Code != "active" || shown.Type != "application" ||
		len(shown.AvailabilityZones) != 2 || *shown.LoadBalancerArn != *lb.LoadBalancerArn {
		t.Errorf("load balancer is %+v", shown)
	}
	listener := must[*elb.CreateListenerOutput](t)(b.elb.CreateListener(ctx(t), &elb.CreateListenerInput{
		LoadBalancerArn: lb.LoadBalancerArn, Port: aws.Int32(80), Protocol: "HTTP",
		DefaultActions: []types.Action{{Type: "forward", TargetGroupArn: &group}},
	})).Listeners[0]
	ofBalancer := &elb.DescribeListenersInput{LoadBalancerArn: lb.LoadBalancerArn}
	got := must[*elb.DescribeListenersOutput](t)(b.elb.DescribeListeners(ctx(t), ofBalancer)).Listeners[0]
	if *got.ListenerArn != *listener.ListenerArn || *got.DefaultActions[0].TargetGroupArn != group {
		t.Errorf("listener is %+v", got)
	}
	behind := &elb.DescribeTargetGroupsInput{LoadBalancerArn: lb.LoadBalancerArn}
	attached := must[*elb.DescribeTargetGroupsOutput](t)(b.elb.DescribeTargetGroups(ctx(t), behind))
	if diff := cmp.Diff([]string{*lb.LoadBalancerArn}, attached.TargetGroups[0].LoadBalancerArns); diff != "" {
		t.Errorf("load balancers (-want +got):\n%s", diff)
	}
	_, err := b.elb.DeleteTargetGroup(ctx(t), &elb.DeleteTargetGroupInput{TargetGroupArn: &group})
	wantCode(t, err, "ResourceInUse")
	must[*elb.DeleteListenerOutput](t)(b.elb.DeleteListener(ctx(t), &elb.DeleteListenerInput{ListenerArn: listener.ListenerArn}))
	must[*elb.DeleteLoadBalancerOutput](t)(b.elb.DeleteLoadBalancer(ctx(t), &elb.DeleteLoadBalancerInput{LoadBalancerArn: lb.LoadBalancerArn}))
	_, err = b.elb.DescribeLoadBalancers(ctx(t), byName)
	wantCode(t, err, "LoadBalancerNotFound")
	_, err = b.elb.DeleteListener(ctx(t), &elb.DeleteListenerInput{ListenerArn: listener.ListenerArn})
	wantCode(t, err, "ListenerNotFound")
}
