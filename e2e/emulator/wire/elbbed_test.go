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
	testclock "k8s.io/utils/clock/testing"

	"github.com/targetgate/targetgate/e2e/emulator/cloud"
	"github.com/targetgate/targetgate/e2e/emulator/region"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

var bothZones = []string{"subnet-0a000000000000001", "subnet-0b000000000000002"}

// elbBed is a bed whose clock stands still until the test moves it, with small quotas.
type elbBed struct {
	*bed
	clock *testclock.FakeClock
}

const certificate = "arn:aws:acm:eu-west-1:123456789012:certificate/one"

func newELBBed(t *testing.T, changes ...func(*cloud.Options)) *elbBed {
	t.Helper()
	clock := testclock.NewFakeClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	quotas := state.DefaultQuotas()
	quotas.Balancers, quotas.ListenersPerBalancer, quotas.RulesPerBalancer, quotas.CertificatesPerBalancer = 2, 3, 3, 2
	quotas.GroupsPerALB, quotas.GroupsPerAction, quotas.TargetsPerALB = 3, 2, 2
	opts := cloud.Options{Region: region.Options{Clock: clock}, ELB: state.Options{Quotas: &quotas}}
	for _, change := range changes {
		change(&opts)
	}
	b := &elbBed{newBed(t, opts, Options{Limits: &Limits{}}), clock}
	for n := range 5 {
		b.machine.PutCertificate(fmt.Sprint(certificate, n))
	}
	b.machine.PutCertificate(certificate)
	return b
}

func (b *elbBed) balancer(name string) string {
	b.t.Helper()
	out := must[*elb.CreateLoadBalancerOutput](b.t)(b.elb.CreateLoadBalancer(ctx(b.t), &elb.CreateLoadBalancerInput{Name: &name, Subnets: bothZones}))
	return *out.LoadBalancers[0].LoadBalancerArn
}

func (b *elbBed) listener(lb string, port int, action types.Action) string {
	b.t.Helper()
	out := must[*elb.CreateListenerOutput](b.t)(b.elb.CreateListener(ctx(b.t), &elb.CreateListenerInput{
		LoadBalancerArn: &lb, Port: aws.Int32(int32(port)), Protocol: "HTTP", DefaultActions: []types.Action{action},
	}))
	return *out.Listeners[0].ListenerArn
}

func ruleOf(listener string, priority int, path string, action types.Action) *elb.CreateRuleInput {
	return &elb.CreateRuleInput{
		ListenerArn: &listener, Priority: aws.Int32(int32(priority)), Actions: []types.Action{action},
		Conditions: []types.RuleCondition{{Field: aws.String("path-pattern"), Values: []string{path}}},
	}
}

func (b *elbBed) rule(listener string, priority int, path string, action types.Action) string {
	b.t.Helper()
	out := must[*elb.CreateRuleOutput](b.t)(b.elb.CreateRule(ctx(b.t), ruleOf(listener, priority, path, action)))
	return *out.Rules[0].RuleArn
}

func fixed(status string) types.Action {
	return types.Action{Type: "fixed-response", FixedResponseConfig: &types.FixedResponseActionConfig{StatusCode: &status}}
}

func forward(groups ...string) types.Action {
	config := &types.ForwardActionConfig{}
	for _, arn := range groups {
		config.TargetGroups = append(config.TargetGroups, types.TargetGroupTuple{TargetGroupArn: &arn})
	}
	return types.Action{Type: "forward", ForwardConfig: config}
}
