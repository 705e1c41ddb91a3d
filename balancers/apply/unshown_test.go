// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

const (
	youngBalancer = prefix + "loadbalancer/app/young/1"
	youngListener = prefix + "listener/app/young/1/443"
	youngGroup    = prefix + "targetgroup/young/1"
)

// What AWS does not find yet of what we have made a moment ago is no failure. What does not need it is done.
func TestWhatAWSDoesNotFindYetIsLeftToTheNextPass(t *testing.T) {
	old, youngRule := deleteRule(otherARN, "old"), deleteRule(otherARN, "young")
	attributes := steps.SetLoadBalancerAttributes{LoadBalancer: stack.Ref{ID: youngBalancer}, Attributes: map[string]string{"idle_timeout": "9"}}
	listener := steps.CreateListener{LoadBalancer: stack.Ref{ID: youngBalancer}, Listener: stack.Listener{Port: 80}}
	toYoung := func(priority int32) steps.CreateRule {
		rule := newRule(otherARN, priority, "")
		rule.Rule.Action = forwardTo(stack.Ref{ID: youngGroup})
		return rule
	}
	balancer := steps.CreateLoadBalancer{LoadBalancer: stack.LoadBalancer{Name: "lb", SecurityGroups: []stack.Ref{{ID: "sg-young"}}}}
	rules := steps.Authorize{Group: stack.Ref{ID: "sg-young"}, Rules: []stack.Inbound{{From: 80, To: 80, Protocol: "tcp", Source: "pl-1"}}}
	for name, tc := range map[string]struct {
		refused, code string
		steps         []steps.Step
		want          []string
		leftOut       int
		failed        int
	}{
		"a listener": {
			refused: "CreateRule 7", code: "ListenerNotFound",
			steps: do(newGroup("a"), newRule(youngListener, 7, "a"), newRule(youngListener, 8, "a"), newRule(otherARN, 8, "a"), old),
			want:  []string{"CreateTargetGroup a", "CreateRule 7", "CreateRule 8"}, leftOut: 3,
		},
		"a listener that is not new": {
			refused: "CreateRule 7", code: "ListenerNotFound",
			steps: do(newGroup("a"), newRule(listenerARN, 7, "a"), newRule(listenerARN, 8, "a"), old),
			want:  []string{"CreateTargetGroup a", "CreateRule 7", "CreateRule 8"}, leftOut: 1, failed: 1,
		},
		"something else than the new listener": {
			refused: "CreateRule 7", code: "TargetGroupNotFound",
			steps: do(newGroup("a"), newRule(youngListener, 7, "a"), newRule(youngListener, 8, "a")),
			want:  []string{"CreateTargetGroup a", "CreateRule 7", "CreateRule 8"}, failed: 1,
		},
		"a load balancer": {
			refused: "ModifyLoadBalancerAttributes " + youngBalancer, code: "LoadBalancerNotFound",
			steps: do(attributes, listener, newGroup("a")),
			want:  []string{"ModifyLoadBalancerAttributes " + youngBalancer, "CreateTargetGroup a"}, leftOut: 2,
		},
		"a target group": {
			refused: "CreateRule 7", code: "TargetGroupNotFound",
			steps: do(toYoung(7), toYoung(8), old), want: []string{"CreateRule 7"}, leftOut: 3,
		},
		"a security group that a load balancer is to have": {
			refused: "CreateLoadBalancer lb", code: "InvalidSecurityGroup",
			steps: do(balancer), want: []string{"CreateLoadBalancer lb"}, leftOut: 1,
		},
		"a security group that gets rules": {
			refused: "Authorize sg-young", code: "InvalidGroup.NotFound",
			steps: do(rules, newGroup("a")), want: []string{"Authorize sg-young", "CreateTargetGroup a"}, leftOut: 1,
		},
		"a rule that is to go": {
			refused: "DeleteRule " + youngRule.Rule.ID, code: "RuleNotFound",
			steps: do(youngRule, old), want: []string{"DeleteRule " + youngRule.Rule.ID, "DeleteRule " + old.Rule.ID}, leftOut: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			result, view := runRefused(t, tc.refused, tc.code, tc.want, tc.steps)
			if len(result.LeftOut) != tc.leftOut || len(result.Failures) != tc.failed || len(result.Later) > 0 || view.forgot != tc.failed {
				t.Errorf("result %+v, forgot %d times, want %d steps left out", result, view.forgot, tc.leftOut)
			}
			if len(view.notes) != len(result.Done) || tc.failed == 0 && result.Again != unshownPause {
				t.Errorf("notes %v, again in %v", view.notes, result.Again)
			}
		})
	}
}

func TestAWaitForWhatAWSDoesNotFindYetDoesNotHold(t *testing.T) {
	for call, wait := range map[string]steps.Wait{
		"DescribeLoadBalancers " + youngBalancer: {Active: stack.Ref{ID: youngBalancer}},
		"DescribeTargetHealth " + youngGroup:     {Healthy: stack.Ref{ID: youngGroup}, Instead: stack.Ref{ID: "old"}},
	} {
		f := good()
		f.errs["DescribeLoadBalancers "+youngBalancer], f.errs["DescribeTargetHealth "+youngGroup] = refusal("LoadBalancerNotFound"), refusal("TargetGroupNotFound")
		result, view := run(t, f, steps.Step{Wait: &wait, Change: newGroup("a")})
		if len(result.Failures) > 0 || len(result.Waits) != 1 || result.Again != unshownPause || view.forgot > 0 || len(f.calls) != 1 {
			t.Errorf("%s: result %+v, calls %v", call, result, f.calls)
		}
	}
}

// A name may lead to what we have deleted, or to what AWS does not show: neither is taken.
func TestANameWhoseHolderIsGoneOrNotShown(t *testing.T) {
	tags := stack.Tags("prod", stack.Ingresses, "shop", "part")
	for name, tc := range map[string]struct {
		name           string
		isTaken, shown bool
		failed         int
	}{
		"AWS answers with what we have deleted":  {name: "k8s-a", shown: true},
		"what we have deleted has the name":      {name: "k8s-a", isTaken: true, shown: true},
		"what has the name is not shown yet":     {name: "awaited-a", isTaken: true},
		"what has the name is not shown at last": {name: "k8s-a", isTaken: true, failed: 1},
	} {
		for kind, change := range map[string]steps.Change{
			"LoadBalancer":  steps.CreateLoadBalancer{LoadBalancer: stack.LoadBalancer{Name: tc.name, Scheme: "internal", Tags: tags}},
			"TargetGroup":   steps.CreateTargetGroup{Group: stack.TargetGroup{Name: tc.name, Tags: tags}},
			"SecurityGroup": steps.CreateSecurityGroup{Group: stack.SecurityGroup{Name: tc.name, Tags: tags}},
		} {
			t.Run(name+" "+kind, func(t *testing.T) {
				f := goneHolders(tc.name, tc.shown)
				if tc.isTaken {
					f.errs["CreateLoadBalancer "+tc.name] = refusal("DuplicateLoadBalancerName")
					f.errs["CreateTargetGroup "+tc.name] = refusal("DuplicateTargetGroupName")
					f.errs["CreateSecurityGroup "+tc.name] = refusal("InvalidGroup.Duplicate")
				}
				result, view := run(t, f, do(change)...)
				if len(result.Failures) != tc.failed || len(result.LeftOut) != 1-tc.failed || view.forgot != tc.failed || len(view.notes) > 0 {
					t.Errorf("result %+v, forgot %d times, notes %v", result, view.forgot, view.notes)
				}
			})
		}
	}
}

// goneHolders answers with what we have deleted when something of that name is made, and when it is asked for if that is still shown.
func goneHolders(name string, shown bool) *fakeAWS {
	f, gone := good(), aws.String("gone-1")
	balancers := []types.LoadBalancer{{LoadBalancerArn: gone, DNSName: gone, Scheme: "internal"}}
	groups := []types.TargetGroup{{TargetGroupArn: gone}}
	f.answers["CreateLoadBalancer "+name] = &elbv2.CreateLoadBalancerOutput{LoadBalancers: balancers}
	f.answers["CreateTargetGroup "+name] = &elbv2.CreateTargetGroupOutput{TargetGroups: groups}
	f.answers["CreateSecurityGroup "+name] = &awsec2.CreateSecurityGroupOutput{GroupId: gone}
	if !shown {
		f.errs["DescribeLoadBalancers "+name], f.errs["DescribeTargetGroups "+name] = refusal("LoadBalancerNotFound"), refusal("TargetGroupNotFound")
		return f
	}
	f.answers["DescribeLoadBalancers "+name] = &elbv2.DescribeLoadBalancersOutput{LoadBalancers: balancers}
	f.answers["DescribeTargetGroups "+name] = &elbv2.DescribeTargetGroupsOutput{TargetGroups: groups}
	f.answers["DescribeSecurityGroups "+name] = &awsec2.DescribeSecurityGroupsOutput{SecurityGroups: []ec2types.SecurityGroup{{GroupId: gone}}}
	return f
}
