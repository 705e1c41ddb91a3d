// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

var shop = stack.ID{Cluster: "prod", Kind: stack.Ingresses, Name: "shop"}

const (
	prefix      = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:"
	balancerARN = prefix + "loadbalancer/app/lb/1"
	listenerARN = prefix + "listener/app/lb/1/443"
	otherARN    = prefix + "listener/app/lb/1/80"
)

func ruleARN(listener, name string) string {
	return strings.Replace(listener, ":listener/", ":listener-rule/", 1) + "/" + name
}

// noted is a view that remembers what it was told.
type noted struct {
	notes  []string
	forgot int
	names  []string // of what was made
}

func (n *noted) Note(_ stack.ID, change steps.Change, made steps.Made) {
	n.notes = append(n.notes, strings.TrimSpace(fmt.Sprintf("%T %s", change, made.ID)))
	if made.Name != "" {
		n.names = append(n.names, made.Name)
	}
}
func (n *noted) Forget(stack.ID) { n.forgot++ }
func (n *noted) Exists(arn string) bool {
	return strings.HasPrefix(arn, "known-")
}
func (n *noted) IsNew(id string) bool   { return strings.Contains(id, "young") }
func (n *noted) IsGone(id string) bool  { return strings.HasPrefix(id, "gone-") }
func (n *noted) Await(name string) bool { return strings.HasPrefix(name, "awaited-") }

func run(t *testing.T, f *fakeAWS, planned ...steps.Step) (Result, *noted) {
	t.Helper()
	return runPass(t, f, Pass{Plan: planned})
}

// runRefused runs the steps while AWS refuses a call with that code, and wants just these calls.
func runRefused(t *testing.T, refused, code string, want []string, planned []steps.Step) (Result, *noted) {
	t.Helper()
	f := good()
	f.errs[refused] = refusal(code)
	result, view := run(t, f, planned...)
	if diff := cmp.Diff(want, f.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	return result, view
}

// runPass runs a pass over the stack.
func runPass(t *testing.T, f *fakeAWS, pass Pass) (Result, *noted) {
	t.Helper()
	view := &noted{}
	a := &Applier{Calls: f.clients(), Late: f.clients(), View: view, VPC: "vpc-1"}
	pass.ID, pass.Unsettled = shop, func(string) time.Duration { return time.Minute }
	return a.Run(t.Context(), pass), view
}

func do(changes ...steps.Change) (planned []steps.Step) {
	for _, change := range changes {
		planned = append(planned, steps.Step{Change: change})
	}
	return planned
}

func forwardTo(ref stack.Ref) stack.Action {
	return stack.Action{Forward: &stack.Forward{Groups: []stack.Weighted{{Group: ref}}}}
}

// newRule makes the rule of that priority, which forwards to a target group with that Part.
func newRule(listener string, priority int32, group string) steps.CreateRule {
	return steps.CreateRule{
		Listener: stack.Ref{ID: listener}, Part: "rule" + strconv.Itoa(int(priority)),
		Rule: stack.Rule{Priority: priority, Action: forwardTo(stack.Ref{Part: group})},
	}
}

func newGroup(name string) steps.CreateTargetGroup {
	return steps.CreateTargetGroup{Group: stack.TargetGroup{Name: name, Part: name}}
}

func deleteRule(listener, name string) steps.DeleteRule {
	return steps.DeleteRule{Rule: stack.Ref{ID: ruleARN(listener, name)}}
}

func groupAnswer(arn string) *elbv2.CreateTargetGroupOutput {
	return &elbv2.CreateTargetGroupOutput{TargetGroups: []types.TargetGroup{{TargetGroupArn: &arn}}}
}

func ruleAnswer(arn string) *elbv2.CreateRuleOutput {
	return &elbv2.CreateRuleOutput{Rules: []types.Rule{{RuleArn: &arn}}}
}

// good answers that the target groups a and b are made, and the rules 7 and 8.
func good() *fakeAWS {
	return &fakeAWS{errs: map[string]error{}, answers: map[string]any{
		"CreateTargetGroup a": groupAnswer("tg-a"), "CreateTargetGroup b": groupAnswer("tg-b"),
		"CreateRule 7": ruleAnswer("rule-7"), "CreateRule 8": ruleAnswer("rule-8"),
	}}
}

func TestRunHandsOnWhatEarlierStepsHaveMade(t *testing.T) {
	f := good()
	change := newRule(listenerARN, 7, "a")
	result, view := run(t, f, do(newGroup("a"), change, steps.SetPriorities{
		Listener: stack.Ref{ID: listenerARN}, Priorities: []steps.RulePriority{{Rule: stack.Ref{Part: "rule7"}, Priority: 1}},
	})...)
	if diff := cmp.Diff([]string{"CreateTargetGroup a", "CreateRule 7", "SetRulePriorities rule-7=1"}, f.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if arn := *f.inputs[1].(*elbv2.CreateRuleInput).Actions[0].ForwardConfig.TargetGroups[0].TargetGroupArn; arn != "tg-a" {
		t.Errorf("the rule forwards to %s, want the group that was made", arn)
	}
	if diff := cmp.Diff([]string{"steps.CreateTargetGroup tg-a", "steps.CreateRule rule-7", "steps.SetPriorities"}, view.notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if given := change.Rule.Action.Forward.Groups[0].Group; given != (stack.Ref{Part: "a"}) {
		t.Errorf("the plan was changed: the rule forwards to %+v", given)
	}
	if len(result.Done) != 3 || len(result.Failures)+len(result.LeftOut) > 0 || result.Again != 0 || view.forgot != 0 {
		t.Errorf("result %+v, forgot %d times", result, view.forgot)
	}
}

// Rule 15: load balancers follow former rules for some seconds.
func TestTargetGroupsAreKeptWhileRequestsMayComeToThem(t *testing.T) {
	rule, group := deleteRule(listenerARN, "old"), steps.DeleteTargetGroup{Group: stack.Ref{ID: "tg-old"}}
	ruleCall, groupCall := "DeleteRule "+rule.Rule.ID, "DeleteTargetGroup tg-old"
	for name, tc := range map[string]struct {
		steps    []steps.Step
		kept     time.Duration
		want     []string
		rerouted bool
		again    time.Duration
	}{
		"no rule was changed":                {steps: do(group), want: []string{groupCall}},
		"one was changed in this pass":       {steps: do(rule, group), want: []string{ruleCall}, rerouted: true, again: RuleLag},
		"one was changed in an earlier pass": {steps: do(group), kept: time.Second, want: nil, again: time.Second},
		"one is changed later":               {steps: do(group, rule), want: []string{groupCall, ruleCall}, rerouted: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := good()
			result, _ := runPass(t, f, Pass{Plan: tc.steps, Kept: tc.kept})
			if diff := cmp.Diff(tc.want, f.calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if result.Rerouted != tc.rerouted || result.Again != tc.again || len(result.Failures) > 0 {
				t.Errorf("result %+v, want rerouted %v, again in %s", result, tc.rerouted, tc.again)
			}
		})
	}
}

func TestAFailedStepStopsOnlyWhatDependsOnIt(t *testing.T) {
	old, other := deleteRule(listenerARN, "old"), deleteRule(otherARN, "old")
	oldCall, otherCall := "DeleteRule "+old.Rule.ID, "DeleteRule "+other.Rule.ID
	priorities := steps.SetPriorities{Listener: stack.Ref{ID: listenerARN}}
	deleteGroup := steps.DeleteTargetGroup{Group: stack.Ref{ID: "tg-old"}}
	changed := steps.ModifyRule{Rule: stack.Ref{ID: ruleARN(listenerARN, "changed")}, To: stack.Rule{Action: forwardTo(stack.Ref{ID: "tg"})}}
	deleteSecurity := steps.DeleteSecurityGroup{Group: stack.Ref{ID: "sg-old"}}
	attributes := steps.SetLoadBalancerAttributes{LoadBalancer: stack.Ref{ID: balancerARN}}
	for name, tc := range map[string]struct {
		refused string
		code    string
		steps   []steps.Step
		want    []string
		leftOut int
		forgot  int
	}{
		"a rule that AWS refuses keeps all old rules, as its member may have had one of them": {
			refused: "CreateRule 7", code: "InvalidLoadBalancerAction",
			steps:   do(newGroup("a"), newRule(listenerARN, 7, "a"), newRule(listenerARN, 8, "a"), priorities, old, other, deleteGroup),
			want:    []string{"CreateTargetGroup a", "CreateRule 7", "CreateRule 8"},
			leftOut: 4,
		},
		"a target group that AWS refuses leaves its rules out, and what they would replace": {
			refused: "CreateTargetGroup a", code: "TooManyTargetGroups",
			steps:   do(newGroup("a"), newGroup("b"), newRule(listenerARN, 7, "a"), newRule(otherARN, 8, "b"), old, other),
			want:    []string{"CreateTargetGroup a", "CreateTargetGroup b", "CreateRule 8"},
			leftOut: 3,
		},
		"a rule that AWS does not let change keeps the old rules of its listener": {
			refused: "ModifyRule " + changed.Rule.ID, code: "InvalidLoadBalancerAction",
			steps:   do(changed, old, other),
			want:    []string{"ModifyRule " + changed.Rule.ID, otherCall},
			leftOut: 1,
		},
		"a setting that AWS refuses stops nothing": {
			refused: "ModifyLoadBalancerAttributes " + balancerARN, code: "InvalidConfigurationRequest",
			steps: do(attributes, deleteGroup, old),
			want:  []string{"ModifyLoadBalancerAttributes " + balancerARN, "DeleteTargetGroup tg-old", oldCall},
		},
		"a removal that AWS refuses stops nothing": {
			refused: oldCall, code: "OperationNotPermitted",
			steps: do(old, other, deleteSecurity), want: []string{oldCall, otherCall, "DeleteSecurityGroup sg-old"},
		},
		"bindings stay as they are when AWS refuses the security groups that they let in": {
			refused: "SetSecurityGroups " + balancerARN, code: "InvalidSecurityGroup",
			steps:   do(steps.SetSecurityGroups{LoadBalancer: stack.Ref{ID: balancerARN}}, steps.UpdateBinding{}, attributes),
			want:    []string{"SetSecurityGroups " + balancerARN, "ModifyLoadBalancerAttributes " + balancerARN},
			leftOut: 1,
		},
		"what is not as it was seen is read again": {
			refused: "CreateRule 7", code: "PriorityInUse",
			steps:   do(newGroup("a"), newRule(listenerARN, 7, "a"), old, other),
			want:    []string{"CreateTargetGroup a", "CreateRule 7"},
			leftOut: 2, forgot: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			result, view := runRefused(t, tc.refused, tc.code, tc.want, tc.steps)
			if len(result.LeftOut) != tc.leftOut || len(result.Failures) != 1 || view.forgot != tc.forgot {
				t.Errorf("%d left out, failures %v, forgot %d times", len(result.LeftOut), result.Failures, view.forgot)
			}
		})
	}
}

func TestAnErrorOfUnknownOutcomeEndsThePass(t *testing.T) {
	for name, tc := range map[string]struct {
		err    error
		forgot int
	}{
		"no answer":     {errors.New("connection reset"), 1},
		"AWS's fault":   {refusal("InternalFailure"), 1},
		"too many":      {refusal("Throttling"), 0},
		"out of a zone": {refusal("ServiceUnavailable"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := good()
			f.errs["CreateRule 7"] = tc.err
			result, view := run(t, f, do(newGroup("a"), newRule(listenerARN, 7, "a"), newRule(otherARN, 8, "a"))...)
			if diff := cmp.Diff([]string{"CreateTargetGroup a", "CreateRule 7"}, f.calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if len(result.Failures) != 1 || len(result.LeftOut) != 1 || view.forgot != tc.forgot {
				t.Errorf("result %+v, forgot %d times, want the last step left out", result, view.forgot)
			}
		})
	}
}

// A policy that asks for a tag refuses to delete what is gone.
func TestARemovalThatIsNotAllowedIsLookedAtAgain(t *testing.T) {
	for _, may := range []bool{true, false} {
		f := good()
		f.errs["DeleteRule rule"] = refusal("AccessDenied")
		planned := do(steps.DeleteRule{Rule: stack.Ref{ID: "rule"}}, steps.DeleteTargetGroup{Group: stack.Ref{ID: "tg"}})
		result, view := runPass(t, f, Pass{Plan: planned, MayLookAgain: may})
		if len(result.Failures) != 1 || result.LookedAgain != may || (view.forgot == 1) != may {
			t.Errorf("may look again %v: result %+v, forgot %d times", may, result, view.forgot)
		}
		if len(result.Done) != 1 || result.Rerouted {
			t.Errorf("may look again %v: done %v, rerouted %v, want the other target group deleted", may, result.Done, result.Rerouted)
		}
	}
}

func TestRemovalsOfWhatIsGoneOrInUse(t *testing.T) {
	balancer, group := steps.DeleteLoadBalancer{LoadBalancer: stack.Ref{ID: balancerARN}}, steps.DeleteTargetGroup{Group: stack.Ref{ID: "tg"}}
	f := good()
	f.errs["DeleteLoadBalancer "+balancerARN] = refusal("LoadBalancerNotFound")
	f.errs["DeleteTargetGroup tg"] = refusal("ResourceInUse")
	f.errs["DeleteSecurityGroup sg-1"] = refusal("DependencyViolation")
	f.errs["DeleteSecurityGroup sg-2"] = refusal("InvalidGroup.NotFound")
	result, view := run(t, f, do(balancer, group, steps.DeleteSecurityGroup{Group: stack.Ref{ID: "sg-1"}},
		steps.DeleteSecurityGroup{Group: stack.Ref{ID: "sg-2"}})...)
	if diff := cmp.Diff([]string{"steps.DeleteLoadBalancer", "steps.DeleteSecurityGroup"}, view.notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if len(result.Failures) != 0 || len(result.Later) != 2 || result.Again != 0 {
		t.Errorf("result %+v", result)
	}
}

// It serves on while it is protected, or while something else uses it.
func TestWhatALoadBalancerNeedsGoesAfterIt(t *testing.T) {
	balancer, group := stack.Ref{ID: balancerARN}, steps.DeleteTargetGroup{Group: stack.Ref{ID: "tg"}}
	for code, want := range map[string]int{"": 3, "LoadBalancerNotFound": 3, "OperationNotPermitted": 0, "ResourceInUse": 0} {
		f := good()
		if code != "" {
			f.errs["DeleteLoadBalancer "+balancerARN] = refusal(code)
		}
		planned := append(do(steps.DeleteLoadBalancer{LoadBalancer: balancer}),
			steps.Step{Wait: &steps.Wait{Gone: balancer}, Change: steps.Nothing{}}, steps.Step{Change: group})
		if result, _ := run(t, f, planned...); len(result.Done) != want || (len(result.Waits) > 0) != (want == 0) {
			t.Errorf("%q: done %v, waits for %v", code, result.Done, result.Waits)
		}
	}
}

func TestWaits(t *testing.T) {
	lb := func(state types.LoadBalancerStateEnum) *elbv2.DescribeLoadBalancersOutput {
		return &elbv2.DescribeLoadBalancersOutput{LoadBalancers: []types.LoadBalancer{{State: &types.LoadBalancerState{Code: state}}}}
	}
	targets := func(states ...types.TargetHealthStateEnum) *elbv2.DescribeTargetHealthOutput {
		out := &elbv2.DescribeTargetHealthOutput{}
		for _, state := range states {
			out.TargetHealthDescriptions = append(out.TargetHealthDescriptions,
				types.TargetHealthDescription{TargetHealth: &types.TargetHealth{State: state}})
		}
		return out
	}
	const healthy, initial, unhealthy = types.TargetHealthStateEnumHealthy, types.TargetHealthStateEnumInitial, types.TargetHealthStateEnumUnhealthy
	active := steps.Wait{Active: stack.Ref{ID: balancerARN}}
	takeOver := steps.Wait{Healthy: stack.Ref{ID: "new"}, Instead: stack.Ref{ID: "old"}}
	for name, tc := range map[string]struct {
		wait     steps.Wait
		balancer types.LoadBalancerStateEnum
		new, old *elbv2.DescribeTargetHealthOutput
		gone     bool
		closed   time.Duration
		want     time.Duration
	}{
		"an active load balancer":                       {wait: active, balancer: types.LoadBalancerStateEnumActive},
		"one that is being provisioned":                 {wait: active, balancer: types.LoadBalancerStateEnumProvisioning, want: activePause},
		"one that could not be set up":                  {wait: active, balancer: types.LoadBalancerStateEnumFailed, want: FailedPause},
		"a new group that is healthy":                   {wait: takeOver, new: targets(healthy, unhealthy), old: targets(healthy)},
		"a new group with a target that is checked":     {wait: takeOver, new: targets(healthy, initial), old: targets(healthy), want: healthyPause},
		"a new group without targets":                   {wait: takeOver, new: targets(), old: targets(healthy), want: healthyPause},
		"a new group that is as unhealthy as the old":   {wait: takeOver, new: targets(unhealthy), old: targets(unhealthy)},
		"a new group in place of one that has no ARN":   {wait: steps.Wait{Healthy: stack.Ref{ID: "new"}}, new: targets(unhealthy)},
		"a new group in place of one that is gone":      {wait: takeOver, new: targets(initial), gone: true},
		"a load balancer that clients still may be at":  {wait: steps.Wait{Settled: stack.Ref{ID: balancerARN}}, want: time.Minute},
		"targets that may not let it in":                {wait: steps.Wait{Open: stack.Ref{ID: "tg"}}, closed: time.Minute, want: healthyPause},
		"targets that may do so soon":                   {wait: steps.Wait{Open: stack.Ref{ID: "tg"}}, closed: time.Second, want: time.Second},
		"targets that never did":                        {wait: steps.Wait{Open: stack.Ref{ID: "tg"}}},
		"a part that no step of this pass has made yet": {wait: steps.Wait{Active: stack.Ref{Part: "LoadBalancer"}}, want: -1},
	} {
		t.Run(name, func(t *testing.T) {
			f := good()
			f.answers["DescribeLoadBalancers "+balancerARN] = lb(tc.balancer)
			if tc.new != nil {
				f.answers["DescribeTargetHealth new"] = tc.new
			}
			if tc.old != nil {
				f.answers["DescribeTargetHealth old"] = tc.old
			}
			if tc.gone {
				f.errs["DescribeTargetHealth old"] = refusal("TargetGroupNotFound")
			}
			planned := append(do(newGroup("a")), steps.Step{Wait: &tc.wait, Change: newGroup("b")})
			planned = append(planned, do(newRule(listenerARN, 7, "a"))...)
			result, _ := runPass(t, f, Pass{Plan: planned, Closed: tc.closed})
			switch {
			case tc.want < 0 && len(result.LeftOut) == 1 && len(result.Done) == 2:
			case len(result.Failures) > 0 || result.Again != tc.want || (len(result.Waits) > 0) != (tc.want > 0):
				t.Errorf("again in %v, want %v; waits for %+v", result.Again, tc.want, result.Waits)
			case tc.want > 0 && len(result.Done) != 1:
				t.Errorf("%d steps were done, want the one before the wait", len(result.Done))
			}
		})
	}
}

func TestAWaitHoldsUpWhatDependsOnItAlone(t *testing.T) {
	f := good()
	f.answers["DescribeLoadBalancers "+balancerARN] = &elbv2.DescribeLoadBalancersOutput{}
	behind := steps.Wait{Settled: stack.Ref{ID: balancerARN}}
	result, _ := run(t, f,
		steps.Step{Late: true, Change: steps.Tag{Of: stack.Ref{ID: "arn-1"}, Tags: map[string]string{"a": "b"}}},
		steps.Step{Wait: &steps.Wait{Active: stack.Ref{ID: balancerARN}}, Change: steps.Nothing{}},
		steps.Step{Wait: &behind, Change: newGroup("a")},
		steps.Step{Anew: true, Change: newGroup("b")},
	)
	want := []string{"DescribeLoadBalancers " + balancerARN, "CreateTargetGroup b"}
	if diff := cmp.Diff(want, f.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if len(result.Waits) != 1 || !cmp.Equal(result.Behind, []steps.Wait{behind}) || result.Again != activePause {
		t.Errorf("waits %+v, behind %+v, again in %v", result.Waits, result.Behind, result.Again)
	}
}

// What comes after all depends on a wait before a step that begins anew, too.
func TestAStepAfterAllDependsOnEachWait(t *testing.T) {
	for state, want := range map[types.LoadBalancerStateEnum]int{types.LoadBalancerStateEnumProvisioning: 2, types.LoadBalancerStateEnumActive: 4} {
		f := good()
		f.answers["DescribeLoadBalancers "+balancerARN] = &elbv2.DescribeLoadBalancersOutput{
			LoadBalancers: []types.LoadBalancer{{State: &types.LoadBalancerState{Code: state}}},
		}
		run(t, f,
			steps.Step{Wait: &steps.Wait{Active: stack.Ref{ID: balancerARN}}, Change: steps.Nothing{}},
			steps.Step{Anew: true, Change: newGroup("a")},
			steps.Step{AfterAll: true, Change: newGroup("b")},
			steps.Step{Change: newRule(listenerARN, 7, "b")},
		)
		if len(f.calls) != want {
			t.Errorf("%s: calls %v, want %d", state, f.calls, want)
		}
	}
}

// AWS refuses the question that a wait asks: what depends on it is not done.
func TestAWaitOfWhichNothingIsKnownDoesNotHold(t *testing.T) {
	f := good()
	f.errs["DescribeTargetHealth tg-a"] = refusal("AccessDenied")
	rule := stack.Ref{ID: ruleARN(listenerARN, "r")}
	result, _ := run(t, f,
		steps.Step{Wait: &steps.Wait{Healthy: stack.Ref{ID: "tg-a"}, Instead: stack.Ref{ID: "tg-b"}}, Change: steps.Nothing{}},
		steps.Step{Change: steps.SetPriorities{Listener: stack.Ref{ID: listenerARN}, Priorities: []steps.RulePriority{{Rule: rule, Priority: 1}}}},
		steps.Step{Anew: true, Change: newGroup("b")},
	)
	if diff := cmp.Diff([]string{"DescribeTargetHealth tg-a", "CreateTargetGroup b"}, f.calls); diff != "" || len(result.Failures) != 1 {
		t.Errorf("failures %+v, calls (-want +got):\n%s", result.Failures, diff)
	}
}

func TestLateStepsComeLastAndAreBounded(t *testing.T) {
	f := good()
	var planned []steps.Step
	for i := range maxLate + 5 {
		planned = append(planned, steps.Step{Late: true, Change: steps.Tag{Of: stack.Ref{ID: fmt.Sprint("arn-", i)}, Tags: map[string]string{"a": "b"}}})
	}
	if result, _ := run(t, f, append(planned, do(newGroup("a"))...)...); len(f.calls) != 1 || result.Again != LateDelay {
		t.Errorf("calls %v, again in %v, want no late step beside another", f.calls, result.Again)
	}
	f = good()
	if result, _ := runPass(t, f, Pass{Plan: planned, Late: time.Second}); len(f.calls) > 0 || result.Again != time.Second {
		t.Errorf("calls %v, again in %v, want no late step yet", f.calls, result.Again)
	}
	f = good()
	if result, _ := run(t, f, planned...); len(f.calls) != maxLate || result.Again != latePause {
		t.Errorf("%d calls, again in %v", len(f.calls), result.Again)
	}
	f = good()
	f.errs["CreateTargetGroup a"] = errors.New("no answer")
	if run(t, f, append(planned, do(newGroup("a"))...)...); len(f.calls) != 1 {
		t.Errorf("calls %v after one without an answer", f.calls)
	}
}

// A tag would say for good that a rule has the new client secret, which AWS never shows.
func TestNoTagSaysWhatARuleOrListenerDoesNotHave(t *testing.T) {
	refused, leftOut, rule := stack.Ref{ID: ruleARN(listenerARN, "a")}, stack.Ref{ID: ruleARN(listenerARN, "b")}, stack.Ref{ID: "arn-r"}
	listener := stack.Ref{ID: otherARN}
	to := stack.Rule{Action: stack.Action{Fixed: &stack.FixedResponse{Status: "404"}}}
	planned := do(
		steps.ModifyRule{Rule: refused, To: to}, steps.ModifyRule{Rule: leftOut, To: to},
		steps.ModifyListener{Listener: listener, To: stack.Listener{Port: 80, Protocol: "HTTP", Default: to.Action}},
	)
	for _, of := range []stack.Ref{refused, leftOut, listener, rule} {
		planned = append(planned,
			steps.Step{Late: true, Change: steps.Tag{Of: of, Tags: map[string]string{"a": "b"}}},
			steps.Step{Late: true, Change: steps.Untag{Of: of, Keys: []string{"c"}}},
		)
	}
	f := good()
	f.errs["ModifyRule "+refused.ID], f.errs["ModifyListener "+otherARN] = refusal("AccessDenied"), refusal("AccessDenied")
	result, _ := run(t, f, planned...)
	want := []string{"ModifyRule " + refused.ID, "ModifyListener " + otherARN, "AddTags arn-r", "RemoveTags arn-r"}
	if diff := cmp.Diff(want, f.calls); diff != "" || len(result.LeftOut) != 1 {
		t.Errorf("left out %+v, want the second rule alone; calls (-want +got):\n%s", result.LeftOut, diff)
	}
}

// A pass gives way when it has changed something: to know that a wait holds is nothing that the next one could build on.
func TestAnInterruptedPassLeavesTheRestToTheNext(t *testing.T) {
	late := steps.Step{Late: true, Change: newGroup("b")}
	whenChanged := func(changed bool) bool { return changed }
	for name, tc := range map[string]struct {
		plan                  steps.Plan
		interrupted           func(changed bool) bool
		done, leftOut, failed int
		again                 time.Duration
	}{
		"something is changed":             {append(do(newGroup("a"), newRule(listenerARN, 7, "a"), newGroup("b")), late), whenChanged, 1, 2, 0, time.Millisecond},
		"a wait holds":                     {do(steps.Nothing{}, newGroup("a"), newGroup("b")), whenChanged, 2, 1, 0, time.Millisecond},
		"nothing is changed for long":      {do(newGroup("no"), newGroup("a")), func(bool) bool { return true }, 0, 1, 1, idlePause},
		"late steps are done":              {steps.Plan{late, late, late}, whenChanged, 1, 0, 0, latePause},
		"nobody waits":                     {do(newGroup("a"), newGroup("b")), func(bool) bool { return false }, 2, 0, 0, 0},
		"nobody is asked, there is no one": {do(newGroup("a"), newGroup("b")), nil, 2, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := good()
			f.errs["CreateTargetGroup no"] = &smithy.GenericAPIError{Code: "InvalidConfigurationRequest", Fault: smithy.FaultClient}
			r, _ := runPass(t, f, Pass{Plan: tc.plan, Interrupted: tc.interrupted})
			if len(r.Done) != tc.done || len(r.LeftOut) != tc.leftOut || len(r.Failures) != tc.failed || r.Again != tc.again || r.Interrupted != (tc.leftOut > 0) {
				t.Errorf("%d done, %d left out, failures %v, again in %v, interrupted %v", len(r.Done), len(r.LeftOut), r.Failures, r.Again, r.Interrupted)
			}
		})
	}
}

func TestTheEndOfTheContextEndsThePass(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := good()
	a := &Applier{Calls: f.clients(), View: &noted{}}
	if result := a.Run(ctx, Pass{ID: shop, Plan: do(newGroup("a"))}); len(f.calls) > 0 || len(result.Done) > 0 {
		t.Errorf("calls %v", f.calls)
	}
}

// What exists already is taken when its tags are ours, and refused when they are not.
func TestCreateOfWhatExists(t *testing.T) {
	tags := stack.Tags("prod", stack.Ingresses, "shop", "shop/web-api:80")
	change := steps.CreateTargetGroup{Group: stack.TargetGroup{Name: "k8s-a", Part: "shop/web-api:80", Tags: tags}}
	for name, tc := range map[string]struct {
		tags map[string]string
		ours bool
	}{
		"ours":                     {tags: tags, ours: true},
		"of another stack":         {tags: stack.Tags("prod", stack.Ingresses, "other", "shop/web-api:80")},
		"of another cluster":       {tags: stack.Tags("test", stack.Ingresses, "shop", "shop/web-api:80")},
		"of another part":          {tags: stack.Tags("prod", stack.Ingresses, "shop", "shop/web-api:81")},
		"without tags, so by hand": {},
	} {
		t.Run(name, func(t *testing.T) {
			f := good()
			f.errs["CreateTargetGroup k8s-a"] = refusal("DuplicateTargetGroupName")
			f.answers["DescribeTargetGroups k8s-a"] = &elbv2.DescribeTargetGroupsOutput{TargetGroups: []types.TargetGroup{{TargetGroupArn: aws.String("tg-a")}}}
			description := types.TagDescription{}
			for key, value := range tc.tags {
				description.Tags = append(description.Tags, types.Tag{Key: &key, Value: &value})
			}
			f.answers["DescribeTags tg-a"] = &elbv2.DescribeTagsOutput{TagDescriptions: []types.TagDescription{description}}
			result, view := run(t, f, do(change)...)
			if tc.ours && (len(result.Done) != 1 || view.notes[0] != "steps.CreateTargetGroup tg-a" || view.forgot != 1) {
				t.Errorf("result %+v, notes %v, forgot %d times: want it taken, and read", result, view.notes, view.forgot)
			}
			if !tc.ours && (len(result.Failures) != 1 || !strings.Contains(result.Failures[0].Err.Error(), "does not have this stack's tags")) {
				t.Errorf("result %+v, want it refused", result)
			}
		})
	}
}

// AWS answers the same when it is asked again for what is there with these settings, and when that is another's.
func TestCreateOfWhatExistsWithTheSameSettings(t *testing.T) {
	ours := stack.Tags("prod", stack.Ingresses, "shop", "part")
	for name, tc := range map[string]struct {
		arn    string
		group  types.TargetGroup
		state  types.LoadBalancerStateEnum
		tags   map[string]string
		asked  bool
		failed bool
	}{
		"new":                      {arn: "new-1", state: types.LoadBalancerStateEnumProvisioning},
		"ours":                     {arn: "known-1", state: types.LoadBalancerStateEnumActive, tags: ours, asked: true},
		"another's":                {arn: "known-1", state: types.LoadBalancerStateEnumProvisioning, tags: map[string]string{"a": "b"}, asked: true, failed: true},
		"made by hand a while ago": {arn: "new-1", group: types.TargetGroup{LoadBalancerArns: []string{"lb"}}, state: types.LoadBalancerStateEnumActive, asked: true, failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			f, description := good(), types.TagDescription{}
			for key, value := range tc.tags {
				description.Tags = append(description.Tags, types.Tag{Key: &key, Value: &value})
			}
			tc.group.TargetGroupArn = &tc.arn
			f.answers["CreateTargetGroup k8s-a"] = &elbv2.CreateTargetGroupOutput{TargetGroups: []types.TargetGroup{tc.group}}
			f.answers["CreateLoadBalancer k8s-a"] = &elbv2.CreateLoadBalancerOutput{LoadBalancers: []types.LoadBalancer{{
				LoadBalancerArn: &tc.arn, DNSName: aws.String("dns"), State: &types.LoadBalancerState{Code: tc.state},
			}}}
			f.answers["DescribeTags "+tc.arn] = &elbv2.DescribeTagsOutput{TagDescriptions: []types.TagDescription{description}}
			for call, change := range map[string]steps.Change{
				"CreateTargetGroup k8s-a":  steps.CreateTargetGroup{Group: stack.TargetGroup{Name: "k8s-a", Part: "part", Tags: ours}},
				"CreateLoadBalancer k8s-a": steps.CreateLoadBalancer{LoadBalancer: stack.LoadBalancer{Name: "k8s-a", Tags: ours}},
			} {
				f.calls = nil
				want := []string{call}
				if tc.asked {
					want = append(want, "DescribeTags "+tc.arn)
				}
				result, view := run(t, f, do(change)...)
				if diff := cmp.Diff(want, f.calls); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
				if tc.failed != (len(result.Failures) == 1) || tc.failed == (len(result.Done) == 1) || tc.asked != (view.forgot == 1) {
					t.Errorf("result %+v, forgot %d times", result, view.forgot)
				}
			}
		})
	}
}

func TestCreateOfASecurityGroupThatExists(t *testing.T) {
	tags := stack.Tags("prod", stack.Ingresses, "shop", "ManagedLBSecurityGroup")
	change := steps.CreateSecurityGroup{Group: stack.SecurityGroup{Name: "k8s-shop", Tags: tags}}
	for name, tc := range map[string]struct {
		tags map[string]string
		ours bool
	}{
		"ours":    {tags, true},
		"foreign": {map[string]string{"Name": "k8s-shop"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			f, group := good(), ec2types.SecurityGroup{GroupId: aws.String("sg-1")}
			for key, value := range tc.tags {
				group.Tags = append(group.Tags, ec2types.Tag{Key: &key, Value: &value})
			}
			f.errs["CreateSecurityGroup k8s-shop"] = refusal("InvalidGroup.Duplicate")
			f.answers["DescribeSecurityGroups k8s-shop"] = &awsec2.DescribeSecurityGroupsOutput{SecurityGroups: []ec2types.SecurityGroup{group}}
			rules := steps.Authorize{Group: stack.Ref{Part: "ManagedLBSecurityGroup"}}
			result, view := run(t, f, do(change, rules)...)
			if tc.ours && (f.calls[len(f.calls)-1] != "Authorize sg-1" || view.forgot != 1) || !tc.ours && (len(result.Failures) != 1 || len(result.LeftOut) != 1) {
				t.Errorf("result %+v, calls %v, forgot %d times", result, f.calls, view.forgot)
			}
		})
	}
}

func TestCreateOfALoadBalancerThatExists(t *testing.T) {
	tags := stack.Tags("prod", stack.Ingresses, "shop", "LoadBalancer")
	for scheme, ours := range map[types.LoadBalancerSchemeEnum]bool{"internal": true, "internet-facing": false} {
		t.Run(string(scheme), func(t *testing.T) {
			f, description := good(), types.TagDescription{}
			for key, value := range tags {
				description.Tags = append(description.Tags, types.Tag{Key: &key, Value: &value})
			}
			f.errs["CreateLoadBalancer k8s-shop"] = refusal("DuplicateLoadBalancerName")
			f.answers["DescribeTags arn"] = &elbv2.DescribeTagsOutput{TagDescriptions: []types.TagDescription{description}}
			f.answers["DescribeLoadBalancers k8s-shop"] = &elbv2.DescribeLoadBalancersOutput{LoadBalancers: []types.LoadBalancer{{
				LoadBalancerArn: aws.String("arn"), DNSName: aws.String("dns"), Scheme: scheme,
			}}}
			result, view := run(t, f, do(steps.CreateLoadBalancer{LoadBalancer: stack.LoadBalancer{Name: "k8s-shop", Scheme: "internal", Tags: tags}})...)
			if ours != (len(result.Done) == 1) || ours != (len(result.Failures) == 0) || view.forgot != 1 {
				t.Errorf("result %+v, forgot %d times; want it taken: %v", result, view.forgot, ours)
			}
		})
	}
}

// A call may be made twice. The default certificate stays, and was in the list for SNI, too.
func TestACertificateThatIsTheDefaultOneIsRemovedTwice(t *testing.T) {
	f := good()
	f.errs["RemoveListenerCertificates c"] = refusal("OperationNotPermitted")
	result, _ := run(t, f, do(steps.RemoveCertificate{Listener: stack.Ref{ID: listenerARN}, Certificate: "c"})...)
	if len(result.Done) != 1 {
		t.Errorf("result %+v", result)
	}
}

func TestTagsNeverTouchTheClustersTag(t *testing.T) {
	f := good()
	tags := map[string]string{stack.ClusterTag: "prod", "team": "shop"}
	run(t, f, do(steps.Tag{Of: stack.Ref{ID: "arn"}, Tags: tags}, steps.Tag{Of: stack.Ref{ID: "sg-1"}, Tags: tags},
		steps.Untag{Of: stack.Ref{ID: "arn"}, Keys: []string{stack.ClusterTag}})...)
	want := []any{&elbv2.AddTagsInput{ResourceArns: []string{"arn"}, Tags: []types.Tag{{Key: aws.String("team"), Value: aws.String("shop")}}}}
	if diff := cmp.Diff(want, f.inputs[:1], cmpopts.IgnoreUnexported(elbv2.AddTagsInput{}, types.Tag{})); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"AddTags arn", "CreateTags sg-1"}, f.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestEachTypeOfChangeHasItsRow(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../steps/step.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for of := range kinds {
		known[of.Name()] = true
	}
	for _, decl := range file.Decls {
		method, ok := decl.(*ast.FuncDecl)
		if !ok || method.Name.Name != "change" {
			continue
		}
		if of := method.Recv.List[0].Type.(*ast.Ident).Name; !known[of] {
			t.Errorf("plan.%s has no row", of)
		}
	}
}

// AWS takes minutes to reserve capacity, and refuses to change it meanwhile: that is no failure.
func TestCapacityThatIsBeingReservedIsAskedForLater(t *testing.T) {
	f := good()
	f.errs["ModifyCapacityReservation "+balancerARN] = refusal("CapacityReservationPending")
	result, view := run(t, f, do(steps.Set{Setting: steps.Capacity, LoadBalancer: stack.Ref{ID: balancerARN}, Value: "100"})...)
	if len(result.Failures) > 0 || len(result.Later) != 1 || result.Again != 0 || view.forgot > 0 {
		t.Errorf("result %+v, forgot %d times", result, view.forgot)
	}
}
