// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/plan"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

const oldHost, newHost = "k8s-old.elb.amazonaws.com", "k8s-new.elb.amazonaws.com"

func refusedWith(change steps.Change, code string) apply.Result {
	step := steps.Step{Change: change, Why: "it is wanted"}
	return apply.Result{Failures: []apply.Failure{{Step: step, Err: &smithy.GenericAPIError{Code: code, Message: "no", Fault: smithy.FaultClient}}}}
}

func TestAMemberHasItsFinalizerFirstAndItsStatusWhileTheLoadBalancerIsProvisioned(t *testing.T) {
	b := newBed(t, webService(), ingressOf("a", edge))
	b.apply = func(apply.Pass) apply.Result {
		if got := b.get("a").Finalizers; !slices.Contains(got, membership.FinalizerOf(edge)) {
			t.Errorf("finalizers %v when AWS is called", got)
		}
		b.see(edge, balancer("new", false, 443, 80))
		return apply.Result{Done: []steps.Step{{}}}
	}
	b.mustPass(edge)
	want := []networkingv1.IngressLoadBalancerIngress{{Hostname: newHost, Ports: []networkingv1.IngressPortStatus{{Port: 80}, {Port: 443}}}}
	if diff := cmp.Diff(want, b.get("a").Status.LoadBalancer.Ingress); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a Normal SuccessfullyReconciled: Successfully reconciled"}, take(&b.events)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	take(&b.writes)
	b.apply = func(apply.Pass) apply.Result { return apply.Result{} }
	if result := b.mustPass(edge); result.RequeueAfter != setup {
		t.Errorf("again in %v, want it when the load balancer should be active", result.RequeueAfter)
	}
	if len(b.writes)+len(b.events) > 0 {
		t.Errorf("a pass with nothing to do writes %v, and tells %v", b.writes, b.events)
	}
}

// The incumbent's state is taken over without a write.
func TestTheFirstPassOverWhatIsRightWritesNothing(t *testing.T) {
	b := newBed(t, webService(), served(ingressOf("a", edge), oldHost, edge))
	b.see(edge, balancer("old", true, 80))
	b.mustPass(edge)
	if len(b.writes)+len(b.events) > 0 {
		t.Errorf("writes %v, events %v", b.writes, b.events)
	}
}

func TestABadMemberIsToldAloneAndOnce(t *testing.T) {
	bad := ingressOf("bad", edge)
	bad.Annotations["alb.ingress.kubernetes.io/scheme"] = "public"
	b := newBed(t, webService(), ingressOf("good", edge), bad)
	for range 2 {
		if result := b.mustPass(edge); result.RequeueAfter != faultPause {
			t.Errorf("again in %v, want %v", result.RequeueAfter, faultPause)
		}
	}
	if len(b.events) != 1 || !strings.HasPrefix(b.events[0], "bad Warning FailedBuildModel: Failed build model due to annotation alb.ingress.kubernetes.io/scheme") {
		t.Errorf("events %q, want one on the bad member", b.events)
	}
	if len(b.wanted.LoadBalancers) != 1 || len(b.wanted.Members) != 2 || !b.wanted.Members[0].Held || b.wanted.Members[1].Held {
		t.Errorf("wanted %+v, want the load balancer of the good member", b.wanted)
	}
	b.edit("bad", func(i *networkingv1.Ingress) { i.Annotations["alb.ingress.kubernetes.io/scheme"] = "internal" })
	b.mustPass(edge)
	b.edit("bad", func(i *networkingv1.Ingress) { i.Annotations["alb.ingress.kubernetes.io/scheme"] = "public" })
	if b.mustPass(edge); len(b.events) != 2 {
		t.Errorf("events %q, want it told again when it is wrong again", b.events)
	}
}

func TestAMemberToWhomAWSRefusesSomethingIsHeld(t *testing.T) {
	b := newBed(t, webService(), ingressOf("bad", edge), ingressOf("good", edge))
	b.apply = func(apply.Pass) apply.Result {
		return refusedWith(steps.CreateRule{Rule: stack.Rule{Owner: "shop/bad"}}, "InvalidLoadBalancerAction")
	}
	if result := b.mustPass(edge); result.RequeueAfter != heldSoon {
		t.Errorf("again in %v, want %v", result.RequeueAfter, heldSoon)
	}
	b.apply = func(apply.Pass) apply.Result { return apply.Result{} }
	if result := b.mustPass(edge); !b.wanted.Members[0].Held || b.wanted.Members[1].Held || result.RequeueAfter != refusalPauses.first {
		t.Errorf("members %+v, again in %v; want the bad one held for a while", b.wanted.Members, result.RequeueAfter)
	}
	if len(b.events) != 1 || !strings.HasPrefix(b.events[0], "bad Warning FailedDeployModel: Failed deploy model due to create rule") ||
		!strings.HasSuffix(b.events[0], ": InvalidLoadBalancerAction: no") {
		t.Errorf("events %q, want one that names the step", b.events)
	}
	b.clock.Step(refusalPauses.first)
	if b.mustPass(edge); b.wanted.Members[0].Held {
		t.Error("the member is held after the pause")
	}
}

func TestAMemberThatIsEditedIsHeldNoLonger(t *testing.T) {
	b := newBed(t, webService(), ingressOf("bad", edge))
	b.apply = func(apply.Pass) apply.Result {
		return refusedWith(steps.CreateTargetGroup{Group: stack.TargetGroup{Owner: "shop/bad"}}, "InvalidConfigurationRequest")
	}
	b.mustPass(edge)
	b.apply = func(apply.Pass) apply.Result { return apply.Result{} }
	if b.mustPass(edge); !b.wanted.Members[0].Held {
		t.Error("the member is not held")
	}
	b.edit("bad", func(i *networkingv1.Ingress) { i.Annotations["alb.ingress.kubernetes.io/healthcheck-path"] = "/health" })
	if b.mustPass(edge); b.wanted.Members[0].Held {
		t.Error("the member is held after it was edited")
	}
}

func TestAFailureOfTheGroupIsToldToAll(t *testing.T) {
	for name, tc := range map[string]struct {
		change steps.Change
		code   string
	}{
		"of its load balancer":          {steps.CreateLoadBalancer{}, "TooManyLoadBalancers"},
		"of a rule, as nobody knows us": {steps.CreateRule{Rule: stack.Rule{Owner: "shop/a"}}, "ExpiredToken"},
		"of a rule that is there since": {steps.CreateRule{Rule: stack.Rule{Owner: "shop/a"}}, "PriorityInUse"},
	} {
		t.Run(name, func(t *testing.T) {
			leaver := served(ingressOf("gone", edge), "", edge)
			b := newBed(t, webService(), ingressOf("a", edge), ingressOf("b", edge), leaver)
			b.delete("gone")
			b.see(edge, balancer("old", true, 80))
			b.apply = func(apply.Pass) apply.Result { return refusedWith(tc.change, tc.code) }
			_, err := b.pass(edge)
			if err == nil || b.get("b").Status.LoadBalancer.Ingress == nil {
				t.Errorf("error %v, status %v: want an error, and the status of others all the same", err, b.get("b").Status)
			}
			want := 1
			if _, ok := tc.change.(steps.CreateLoadBalancer); ok {
				want = 3
			}
			if len(b.events) != want {
				t.Errorf("events %q, want %d", b.events, want)
			}
			if b.apply = func(apply.Pass) apply.Result { return apply.Result{} }; len(b.mustHeld()) != 0 {
				t.Errorf("members %v are held", b.mustHeld())
			}
		})
	}
}

// mustHeld are the members that are held in the next pass.
func (b *bed) mustHeld() (held []string) {
	b.mustPass(edge)
	for _, member := range b.wanted.Members {
		if member.Held {
			held = append(held, member.Name)
		}
	}
	return held
}

func TestWhatLingersIsRemovedByLaterPasses(t *testing.T) {
	b := newBed(t)
	b.seen["edge"] = stack.Stack{SecurityGroups: []stack.SecurityGroup{{ID: "sg-1"}}}
	b.apply = func(apply.Pass) apply.Result { return apply.Result{Again: laterThis} }
	if result := b.mustPass(edge); b.planned != 1 || result.RequeueAfter != laterThis {
		t.Errorf("planned %d times, again in %v", b.planned, result.RequeueAfter)
	}
	b.apply = func(apply.Pass) apply.Result { return apply.Result{} }
	if result := b.mustPass(edge); result.RequeueAfter != 0 || len(b.memories.groups) != 0 {
		t.Errorf("again in %v, memory %v: want the group forgotten", result.RequeueAfter, b.memories.groups)
	}
}

const laterThis = 7 * time.Second

func TestALoadBalancerThatNoIngressSpeaksForIsLeftAlone(t *testing.T) {
	b := newBed(t)
	b.see(edge, balancer("old", true, 80))
	if result := b.mustPass(edge); b.planned != 0 || result.RequeueAfter != 0 {
		t.Errorf("planned %d times, again in %v", b.planned, result.RequeueAfter)
	}
}

func TestAnIngressOfAnotherClassIsLetGo(t *testing.T) {
	b := newBed(t, webService(), served(ingressOf("a", edge), oldHost, edge), served(ingressOf("b", edge), "nginx.example.com", edge))
	for _, name := range []string{"a", "b"} {
		b.edit(name, func(i *networkingv1.Ingress) { i.Annotations["kubernetes.io/ingress.class"] = "nginx" })
	}
	b.see(edge, balancer("old", true, 80))
	b.mustPass(edge)
	if got := b.get("a"); len(got.Finalizers) > 0 || len(got.Status.LoadBalancer.Ingress) > 0 {
		t.Errorf("finalizers %v, status %v", got.Finalizers, got.Status)
	}
	if got := b.get("b"); len(got.Finalizers) > 0 || len(got.Status.LoadBalancer.Ingress) != 1 {
		t.Errorf("finalizers %v, status %v: want the status that others have written", got.Finalizers, got.Status)
	}
}

func TestAStatusIsClearedWhenTheLoadBalancerWentInTheSamePass(t *testing.T) {
	b := newBed(t, served(ingressOf("a", edge), oldHost, edge))
	b.edit("a", func(i *networkingv1.Ingress) { i.Annotations["kubernetes.io/ingress.class"] = "nginx" })
	b.see(edge, balancer("old", true, 80))
	b.apply = func(apply.Pass) apply.Result {
		b.see(edge)
		return apply.Result{}
	}
	if b.mustPass(edge); hostname(b.get("a")) != "" {
		t.Errorf("status %s, want none", hostname(b.get("a")))
	}
}

func TestAMemberLeavesAGroupWithoutLoadBalancerAtOnce(t *testing.T) {
	b := newBed(t, webService(), served(ingressOf("a", other), oldHost, edge))
	if b.mustPass(edge); len(b.get("a").Finalizers) > 0 {
		t.Errorf("finalizers %v", b.get("a").Finalizers)
	}
}

// hostname is the first in the status.
func hostname(member *networkingv1.Ingress) string {
	if entries := member.Status.LoadBalancer.Ingress; len(entries) > 0 {
		return entries[0].Hostname
	}
	return ""
}

func TestAMemberThatMovesIsServedByEitherGroup(t *testing.T) {
	b := newBed(t, webService(), served(ingressOf("a", other), oldHost, edge))
	b.see(edge, balancer("old", true, 80))
	b.see(other, balancer("new", false, 80))

	if b.mustPass(edge); len(b.wanted.Members) != 1 || !b.wanted.Members[0].Held || len(b.events) > 0 {
		t.Errorf("members %+v, events %q: want it held where it is served", b.wanted.Members, b.events)
	}
	if b.mustPass(other); hostname(b.get("a")) != oldHost {
		t.Errorf("its status is %s before its new load balancer is active", hostname(b.get("a")))
	}
	b.see(other, balancer("new", true, 80))
	if b.mustPass(other); hostname(b.get("a")) != newHost {
		t.Errorf("its status is %s, want its new load balancer", hostname(b.get("a")))
	}
	if b.mustPass(edge); !slices.Contains(b.get("a").Finalizers, membership.FinalizerOf(edge)) || len(b.wanted.Members) != 1 {
		t.Errorf("it is let go while clients may know its old load balancer")
	}
	b.clock.Step(DefaultSettleTime)
	if b.mustPass(edge); slices.Contains(b.get("a").Finalizers, membership.FinalizerOf(edge)) || len(b.wanted.Members) != 0 {
		t.Errorf("it is not let go: finalizers %v", b.get("a").Finalizers)
	}
	if hostname(b.get("a")) != newHost {
		t.Errorf("its status is %s after it was let go", hostname(b.get("a")))
	}
}

// After a start it is not known when rules were changed last: as far as that goes, just now.
func TestTargetGroupsAreKeptForAWhileAfterRulesWereChanged(t *testing.T) {
	b := newBed(t, webService(), served(ingressOf("a", edge), oldHost, edge))
	b.see(edge, balancer("old", true, 80))
	var kept time.Duration
	rerouted := false
	b.apply = func(pass apply.Pass) apply.Result {
		kept = pass.Kept
		return apply.Result{Rerouted: rerouted}
	}
	pass := func(after, want time.Duration) {
		t.Helper()
		b.clock.Step(after)
		if b.mustPass(edge); kept != want {
			t.Errorf("kept for %s, want %s", kept, want)
		}
	}
	pass(0, apply.RuleLag)
	pass(apply.RuleLag-time.Second, time.Second)
	rerouted = true
	pass(time.Hour, 0)
	rerouted = false
	pass(time.Second, apply.RuleLag-time.Second)
	pass(apply.RuleLag, 0)
}

func TestLateStepsWaitUntilTheRestHasBeenDoneForAWhile(t *testing.T) {
	b := newBed(t, webService(), served(ingressOf("a", edge), oldHost, edge))
	b.see(edge, balancer("old", true, 80))
	var late time.Duration
	var done []steps.Step
	b.apply = func(pass apply.Pass) apply.Result {
		late = pass.Late
		return apply.Result{Done: done}
	}
	pass := func(step steps.Step, want time.Duration) {
		t.Helper()
		done = []steps.Step{step}
		if b.mustPass(edge); late != want {
			t.Errorf("late steps wait for %s, want %s", late, want)
		}
		b.clock.Step(time.Second)
	}
	pass(steps.Step{Late: true}, 0)
	pass(steps.Step{}, 0)
	pass(steps.Step{Late: true}, apply.LateDelay-time.Second)
	b.clock.Step(time.Hour)
	pass(steps.Step{}, 0)
}

// Rule 14: what waits ends a pass, so it comes last in the next one. Its member is told after a while.
func TestATargetGroupThatNeverGetsHealthyHoldsUpNoOther(t *testing.T) {
	b := newBed(t, webService(), served(ingressOf("a", edge), oldHost, edge), served(ingressOf("b", edge), oldHost, edge),
		served(ingressOf("c", edge), oldHost, edge))
	b.see(edge, balancer("old", true, 80))
	var waits string
	b.apply = func(apply.Pass) apply.Result {
		if waits == "" {
			return apply.Result{}
		}
		return apply.Result{Waits: []steps.Wait{{Healthy: stack.Ref{Part: part(waits)}}}, Again: time.Second}
	}
	pass := func(member string, want ...string) {
		t.Helper()
		waits = member
		b.mustPass(edge)
		var got []string
		for _, group := range b.wanted.TargetGroups {
			got = append(got, group.Owner)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("order of take-overs (-want +got):\n%s", diff)
		}
	}
	pass("a", "shop/a", "shop/b", "shop/c")
	pass("b", "shop/b", "shop/c", "shop/a")
	pass("a", "shop/c", "shop/a", "shop/b")
	take(&b.events)
	b.clock.Step(patience - time.Second)
	if pass("b", "shop/c", "shop/b", "shop/a"); len(b.events) > 0 {
		t.Errorf("events %q before it has taken long", b.events)
	}
	b.clock.Step(time.Second)
	pass("b", "shop/c", "shop/a", "shop/b")
	if events := take(&b.events); len(events) != 1 || !strings.HasPrefix(events[0], "b Warning") || !strings.Contains(events[0], part("b")) {
		t.Errorf("events %q, want one about b", events)
	}
	pass("", "shop/c", "shop/a", "shop/b")
	pass("", "shop/a", "shop/b", "shop/c")
}

// Rules 12 and 15: the load balancer keeps what targets let in, for a while, and members are told whose targets let in nothing else.
func TestTargetsThatLetInNothingElseAreToldAndNotAwaitedForEver(t *testing.T) {
	binding := &v1beta1.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "k8s-b", Labels: membership.LabelsOf(edge), Generation: 1}}
	binding.Spec = v1beta1.TargetGroupBindingSpec{TargetGroupARN: "arn-" + part("b"), Networking: &v1beta1.TargetGroupBindingNetworking{}}
	b := newBed(t, webService(), served(ingressOf("a", edge), oldHost, edge), served(ingressOf("b", edge), oldHost, edge), binding)
	b.see(edge, balancer("old", true, 80))
	b.seeGroup(edge, part("b"))
	b.ReplacementTimeout = 5 * time.Minute
	exchange := func(group string) steps.Plan {
		return steps.Plan{{
			Wait: &steps.Wait{Open: stack.Ref{ID: "arn-" + part("b"), Part: part("b")}}, Change: steps.SetSecurityGroups{Groups: []stack.Ref{{ID: group}}},
		}}
	}
	var left time.Duration
	b.apply = func(pass apply.Pass) (out apply.Result) {
		if left = pass.Closed; left > 0 {
			out = apply.Result{Waits: []steps.Wait{*pass.Plan[0].Wait}, Again: time.Second}
		}
		return out
	}
	for _, pass := range []struct {
		plan   steps.Plan
		after  time.Duration
		left   time.Duration
		events int
	}{
		{plan: exchange("sg-1"), left: 5 * time.Minute},
		{plan: exchange("sg-1"), after: 29 * time.Second, left: 5*time.Minute - 29*time.Second},
		{plan: exchange("sg-2"), after: time.Second, left: 5 * time.Minute},
		{plan: exchange("sg-2"), after: 30 * time.Second, left: 5*time.Minute - 30*time.Second, events: 1},
		{plan: exchange("sg-2"), after: 5 * time.Minute},
		{},
		{plan: exchange("sg-2"), left: 5 * time.Minute},
	} {
		b.clock.Step(pass.after)
		b.steps = pass.plan
		b.mustPass(edge)
		events := take(&b.events)
		if left != pass.left || len(events) != pass.events {
			t.Errorf("after %s it stays for %s, want %s; events %q, want %d", pass.after, left, pass.left, events, pass.events)
		}
		const why = "b Warning IngressWarning: the load balancer keeps its former security groups until targets of binding shop/k8s-b let in the " +
			"new ones, for --replacement-timeout=5m0s at most: the binding's last change has not been acted on"
		if len(events) > 0 && events[0] != why {
			t.Errorf("events %q, want %q", events, why)
		}
	}
}

// part is the resource tag of the member's target group.
func part(member string) string { return "shop/" + member + "-web:80" }

func TestAnErrorOfTheViewIsToldOnceAndKeepsWhatWasTold(t *testing.T) {
	bad := ingressOf("bad", edge)
	bad.Annotations["alb.ingress.kubernetes.io/scheme"] = "public"
	b := newBed(t, webService(), bad, ingressOf("a", edge))
	b.mustPass(edge)
	b.viewErr = errors.New("no answer")
	for range 2 {
		if _, err := b.pass(edge); err == nil {
			t.Error("no error")
		}
	}
	b.viewErr = nil
	b.mustPass(edge)
	if len(b.events) != 3 {
		t.Errorf("events %q, want the fault once, and the error once on each member", b.events)
	}
}

func TestRulesWithoutRoomAreToldToTheirMembers(t *testing.T) {
	b := newBed(t, webService(), ingressOf("a", edge), ingressOf("b", edge))
	b.overflow = []plan.Overflow{{Rule: stack.Rule{Owner: "shop/b"}}, {Rule: stack.Rule{Owner: "shop/b"}}}
	b.mustPass(edge)
	if b.mustPass(edge); len(b.events) != 1 || !strings.Contains(b.events[0], "b Warning FailedDeployModel") || !strings.Contains(b.events[0], "2 rules do not fit") {
		t.Errorf("events %q", b.events)
	}
}

func TestImplicitGroupsHaveOneMember(t *testing.T) {
	a := ingressOf("a", edge)
	delete(a.Annotations, "alb.ingress.kubernetes.io/group.name")
	b := newBed(t, webService(), a, ingressOf("b", edge))
	b.mustPass(stack.Group{Namespace: "shop", Name: "a"})
	if len(b.wanted.Members) != 1 || b.wanted.ID.Name != "shop/a" || !slices.Equal(b.get("a").Finalizers, []string{"ingress.k8s.aws/resources"}) {
		t.Errorf("wanted %+v, finalizers %v", b.wanted, b.get("a").Finalizers)
	}
}

func TestWhatIsWantedIsComparedWithAllThatIsReadForIt(t *testing.T) {
	b := newBed(t, webService(), ingressOf("a", edge))
	b.see(edge, balancer("edge", true, 80))
	b.complete = func(wanted stack.Stack) bool {
		b.seen["edge"].LoadBalancers[0].WebACL = &wanted.TargetGroups[0].Part
		return true
	}
	b.mustPass(edge)
	if acl := b.compared.LoadBalancers[0].WebACL; acl == nil || *acl != part("a") {
		t.Errorf("it is compared with the web ACL %v, want what was read for the wanted stack", acl)
	}
}

// What somebody changes in AWS is seen an interval later at the latest, also where the last pass came long after what it knew was read: as
// the sweep is shared, it may have been for another group.
func TestTheNextPassComesWhenWhatIsKnownIsOld(t *testing.T) {
	for name, tc := range map[string]struct {
		fresh func() time.Duration
		want  time.Duration
	}{
		"nobody tells":                 {nil, time.Hour},
		"it was read just now":         {func() time.Duration { return time.Hour }, time.Hour},
		"it was read half an hour ago": {func() time.Duration { return 30 * time.Minute }, 30 * time.Minute},
		"it is too old":                {func() time.Duration { return 0 }, 6 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, webService(), served(ingressOf("a", edge), "", edge))
			b.see(edge, balancer("one", true, 80))
			b.mustPass(edge)
			b.clock.Step(time.Hour)
			b.Fresh = tc.fresh
			if result := b.mustPass(edge); result.RequeueAfter != tc.want {
				t.Errorf("the next pass comes in %v, want %v", result.RequeueAfter, tc.want)
			}
		})
	}
}
