// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	apitypes "k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/plan"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// maker is an AWS in which everything can be made. After some calls the process is gone.
type maker struct {
	apply.ELB
	apply.SecurityGroups
	calls []string
	crash context.CancelFunc
	after int
	// denies is the operation that no policy allows.
	denies string
}

// made is an ARN, or an ID, of what the call makes.
func (m *maker) made(operation, name string) *string {
	m.calls = append(m.calls, operation+" "+name)
	if len(m.calls) == m.after {
		m.crash()
	}
	id := map[string]string{
		"CreateSecurityGroup": "sg-", "CreateLoadBalancer": "arn:loadbalancer/app/", "CreateTargetGroup": "arn:targetgroup/",
		"CreateListener": "arn:listener/app/lb/1/", "CreateRule": "arn:listener-rule/app/lb/1/80/",
	}[operation] + name
	return &id
}

func (m *maker) CreateLoadBalancer(_ context.Context, in *elbv2.CreateLoadBalancerInput) (*elbv2.CreateLoadBalancerOutput, error) {
	return &elbv2.CreateLoadBalancerOutput{LoadBalancers: []types.LoadBalancer{{
		LoadBalancerArn: m.made("CreateLoadBalancer", *in.Name), DNSName: in.Name, Scheme: in.Scheme,
	}}}, nil
}

func (m *maker) CreateTargetGroup(_ context.Context, in *elbv2.CreateTargetGroupInput) (*elbv2.CreateTargetGroupOutput, error) {
	if m.denies == "CreateTargetGroup" {
		return nil, &smithy.GenericAPIError{Code: "AccessDenied", Fault: smithy.FaultClient}
	}
	return &elbv2.CreateTargetGroupOutput{TargetGroups: []types.TargetGroup{{TargetGroupArn: m.made("CreateTargetGroup", *in.Name)}}}, nil
}

func (m *maker) CreateListener(_ context.Context, in *elbv2.CreateListenerInput) (*elbv2.CreateListenerOutput, error) {
	return &elbv2.CreateListenerOutput{Listeners: []types.Listener{{ListenerArn: m.made("CreateListener", fmt.Sprint(*in.Port))}}}, nil
}

func (m *maker) CreateRule(_ context.Context, in *elbv2.CreateRuleInput) (*elbv2.CreateRuleOutput, error) {
	return &elbv2.CreateRuleOutput{Rules: []types.Rule{{RuleArn: m.made("CreateRule", fmt.Sprint(*in.Priority))}}}, nil
}

func (m *maker) ModifyRule(_ context.Context, in *elbv2.ModifyRuleInput) (*elbv2.ModifyRuleOutput, error) {
	m.made("ModifyRule", *in.RuleArn)
	return &elbv2.ModifyRuleOutput{}, nil
}

func (m *maker) DeleteRule(_ context.Context, in *elbv2.DeleteRuleInput) (*elbv2.DeleteRuleOutput, error) {
	m.made("DeleteRule", *in.RuleArn)
	return &elbv2.DeleteRuleOutput{}, nil
}

func (m *maker) SetRulePriorities(_ context.Context, in *elbv2.SetRulePrioritiesInput) (*elbv2.SetRulePrioritiesOutput, error) {
	m.made("SetRulePriorities", fmt.Sprint(len(in.RulePriorities)))
	return &elbv2.SetRulePrioritiesOutput{}, nil
}

func (m *maker) DeleteTargetGroup(_ context.Context, in *elbv2.DeleteTargetGroupInput) (*elbv2.DeleteTargetGroupOutput, error) {
	m.made("DeleteTargetGroup", *in.TargetGroupArn)
	return &elbv2.DeleteTargetGroupOutput{}, nil
}

func (m *maker) DescribeTargetHealth(context.Context, *elbv2.DescribeTargetHealthInput) (*elbv2.DescribeTargetHealthOutput, error) {
	return &elbv2.DescribeTargetHealthOutput{}, nil
}

func (m *maker) CreateSecurityGroup(_ context.Context, in *awsec2.CreateSecurityGroupInput) (*awsec2.CreateSecurityGroupOutput, error) {
	return &awsec2.CreateSecurityGroupOutput{GroupId: m.made("CreateSecurityGroup", *in.GroupName)}, nil
}

func (m *maker) Authorize(_ context.Context, group string, _ []ec2.Permission) error {
	m.made("Authorize", group)
	return nil
}

// world is a view that is told of all that is made.
type world struct{ seen stack.Stack }

func (a *world) Stack(_ context.Context, id stack.ID) (stack.Stack, error) {
	out := a.seen
	out.ID = id
	return out, nil
}

func (a *world) Parts(ctx context.Context, id stack.ID) (stack.Stack, error) { return a.Stack(ctx, id) }

func (a *world) Complete(context.Context, stack.Stack) (bool, error) { return false, nil }

func (a *world) Forget(stack.ID)    {}
func (a *world) Exists(string) bool { return false }
func (a *world) IsNew(string) bool  { return false }
func (a *world) IsGone(string) bool { return false }
func (a *world) Await(string) bool  { return false }

func (a *world) Note(_ stack.ID, change steps.Change, made steps.Made) {
	change.On(&a.seen, made)
	for i := range a.seen.LoadBalancers {
		a.seen.LoadBalancers[i].Active = true
	}
}

// A process that is gone after any call leaves what the next one goes on with: nothing is made twice.
func TestACrashAfterAnyCallMakesNothingTwice(t *testing.T) {
	whole := callsUntilDone(t, 0)
	if len(whole) < 6 || !slices.Contains(whole, "CreateRule 2") {
		t.Fatalf("calls %v, want a load balancer with two rules", whole)
	}
	for after := 1; after <= len(whole); after++ {
		if diff := cmp.Diff(whole, callsUntilDone(t, after)); diff != "" {
			t.Errorf("a crash after %s: calls (-whole +got):\n%s", whole[after-1], diff)
		}
	}
}

// callsUntilDone are those that make something of passes until one makes none, of which the process is gone after that many calls once.
func callsUntilDone(t *testing.T, after int) []string {
	t.Helper()
	b := newBed(t, webService(), ingressOf("a", edge), ingressOf("b", edge))
	m, view := &maker{after: after}, &world{}
	calls := apply.Calls{ELB: m, EC2: m}
	b.View = view
	b.MakePlan = func(wanted, seen stack.Stack) (steps.Plan, []plan.Overflow) {
		return plan.Make(wanted, seen, plan.Options{})
	}
	b.Applier = &apply.Applier{Calls: calls, Late: calls, View: view, Bindings: b.Client, VPC: "vpc-1"}
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		m.crash = cancel
		before := len(m.calls)
		_, err := b.Reconcile(ctx, ctrl.Request{NamespacedName: apitypes.NamespacedName(edge)})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		b.memories = memories{}
		if len(m.calls) == before {
			break
		}
	}
	if hosts := slices.Collect(maps.Keys(view.hosts())); len(hosts) != 2 {
		t.Errorf("a crash after %d calls: rules for %v, want both", after, hosts)
	}
	return slices.DeleteFunc(m.calls, func(call string) bool { return strings.HasPrefix(call, "Modify") })
}

// hosts are those that rules are for.
func (a *world) hosts() map[string]bool {
	out := map[string]bool{}
	for _, rule := range a.seen.LoadBalancers[0].Listeners[0].Rules {
		for _, condition := range rule.Conditions {
			if condition.Field == "host-header" {
				out[condition.Values[0]] = true
			}
		}
	}
	return out
}
