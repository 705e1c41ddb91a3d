// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

func id(name string) stack.ID { return stack.ID{Cluster: "c", Kind: stack.Ingresses, Name: name} }

func tagged(name string) map[string]string {
	return stack.Tags("c", stack.Ingresses, name, stack.LoadBalancerPart)
}

func viewOf(c *cloud) (*View, *clocktesting.FakePassiveClock) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	return &View{ELB: c, EC2: c, Clock: clock, Cluster: "c", VPC: "vpc", Interval: time.Hour}, clock
}

func balancersOf(t *testing.T, v *View, name string) (arns []string) {
	t.Helper()
	seen, err := v.Stack(t.Context(), id(name))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range seen.LoadBalancers {
		arns = append(arns, b.ARN)
	}
	return arns
}

// Rule 19: the calls of a restart do not grow with groups times account.
func TestRestartReadsTheAccountOnce(t *testing.T) {
	c := newCloud()
	for i := range 1000 {
		c.add(fmt.Sprint("arn", i), tagged(fmt.Sprint(i)))
	}
	c.add("foreign", map[string]string{stack.ClusterTag: "another"})
	v, _ := viewOf(c)
	for range 2 {
		var all sync.WaitGroup
		for i := range 1000 {
			all.Go(func() {
				if seen, err := v.Stack(t.Context(), id(fmt.Sprint(i))); err != nil || len(seen.LoadBalancers) != 1 {
					t.Errorf("group %d: error %v, %d load balancers", i, err, len(seen.LoadBalancers))
				}
			})
		}
		all.Wait()
	}
	want := map[string]int{"LoadBalancers": 1, "TargetGroups": 1, "SecurityGroups": 2, "Tags": 51 + 1000, "Listeners": 1000, "Rules": 1000, "Attributes": 2000}
	if diff := cmp.Diff(want, c.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestWhatWeMadeIsKnownBeforeItsTagsAreShown(t *testing.T) {
	c := newCloud()
	v, clock := viewOf(c)
	if got := balancersOf(t, v, "g"); got != nil {
		t.Fatalf("load balancers %v of an empty account", got)
	}
	made := steps.CreateLoadBalancer{LoadBalancer: stack.LoadBalancer{Tags: tagged("g")}}
	v.Note(id("g"), made, steps.Made{ID: "listed"})
	v.Note(id("g"), made, steps.Made{ID: "unlisted"})
	c.add("listed", nil)
	v.Forget(id("g"))
	if diff := cmp.Diff([]string{"listed", "unlisted"}, balancersOf(t, v, "g")); diff != "" {
		t.Errorf("load balancers (-want +got):\n%s", diff)
	}
	clock.SetTime(clock.Now().Add(time.Hour))
	if got := balancersOf(t, v, "g"); got != nil {
		t.Errorf("%v are still ours, without tags", got)
	}
}

func TestWhatWeDeletedStaysAway(t *testing.T) {
	c := newCloud()
	c.add("arn", tagged("g"))
	v, _ := viewOf(c)
	if got := balancersOf(t, v, "g"); len(got) != 1 {
		t.Fatalf("load balancers %v, want one", got)
	}
	v.Note(id("g"), steps.DeleteLoadBalancer{LoadBalancer: stack.Ref{ID: "arn"}}, steps.Made{})
	v.Forget(id("g"))
	if got := balancersOf(t, v, "g"); got != nil {
		t.Errorf("load balancers %v after they were deleted", got)
	}
}

// Target groups are of a load balancer for as long as it is there.
func TestWhatWeDeletedHasNoTargetGroups(t *testing.T) {
	c := newCloud()
	c.add("arn", tagged("g"))
	c.addGroup("group", "g", "shop/a-web:80")
	c.groups[0].LoadBalancerArns = []string{"arn", "other"}
	v, _ := viewOf(c)
	balancersOf(t, v, "g")
	v.Note(id("g"), steps.DeleteLoadBalancer{LoadBalancer: stack.Ref{ID: "arn"}}, steps.Made{})
	v.Forget(id("g"))
	seen, err := v.Stack(t.Context(), id("g"))
	if err != nil || !slices.Equal(seen.TargetGroups[0].LoadBalancers, []string{"other"}) {
		t.Errorf("error %v, target groups %+v", err, seen.TargetGroups)
	}
}

// listenersOf are the ARNs of the listeners of the first load balancer, each with those of its rules.
func listenersOf(t *testing.T, v *View, name string) (arns []string) {
	t.Helper()
	seen, err := v.Stack(t.Context(), id(name))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range seen.LoadBalancers[0].Listeners {
		arns = append(arns, l.ARN)
		for _, r := range l.Rules {
			arns = append(arns, r.ARN)
		}
	}
	return arns
}

// Listeners and rules that are read again are as we have left them, though AWS shows them as they were.
func TestListenersAndRulesAreAsWeLeftThem(t *testing.T) {
	c := newCloud()
	c.add("arn", tagged("g"))
	c.rules = map[string][]types.Rule{"arn/80": {
		{RuleArn: aws.String("arn/80/old"), Priority: aws.String("1")}, {RuleArn: aws.String("arn/80/kept"), Priority: aws.String("3")},
	}}
	v, clock := viewOf(c)
	listenersOf(t, v, "g")
	port80, balancer := stack.Ref{ID: "arn/80"}, stack.Ref{ID: "arn"}
	for _, step := range []struct {
		change steps.Change
		made   string
		pause  time.Duration
		want   []string
	}{
		{steps.DeleteRule{Rule: stack.Ref{ID: "arn/80/old"}}, "", 0, []string{"arn/80", "arn/80/kept"}},
		{steps.CreateRule{Listener: port80, Rule: stack.Rule{Priority: 2}, Part: "2"}, "arn/80/new", 0, []string{"arn/80", "arn/80/new", "arn/80/kept"}},
		{
			steps.CreateListener{LoadBalancer: balancer, Listener: stack.Listener{Port: 81}}, "arn/81", 0,
			[]string{"arn/80", "arn/80/new", "arn/80/kept", "arn/81"},
		},
		{steps.DeleteListener{Listener: port80}, "", 0, []string{"arn/81"}},
		{steps.Nothing{}, "", newFor, nil}, // AWS has had the time to show it, so somebody else has deleted it
		{steps.Nothing{}, "", lag, []string{"arn/80", "arn/80/old", "arn/80/kept"}},
	} {
		v.Note(id("g"), step.change, steps.Made{ID: step.made})
		clock.SetTime(clock.Now().Add(step.pause))
		v.Forget(id("g"))
		if diff := cmp.Diff(step.want, listenersOf(t, v, "g")); diff != "" {
			t.Errorf("after %T and %s: listeners and rules (-want +got):\n%s", step.change, step.pause, diff)
		}
	}
}

func TestWhatAWSDoesNotFindYetStaysAsItIsKnown(t *testing.T) {
	c := newCloud()
	v, clock := viewOf(c)
	balancersOf(t, v, "g")
	v.Note(id("g"), steps.CreateLoadBalancer{LoadBalancer: stack.LoadBalancer{Tags: tagged("g")}}, steps.Made{ID: "arn"})
	v.Note(id("g"), steps.CreateListener{LoadBalancer: stack.Ref{ID: "arn"}, Listener: stack.Listener{Port: 80}}, steps.Made{ID: "arn/80"})
	c.unfound = map[string]bool{"arn": true}
	clock.SetTime(clock.Now().Add(statePause)) // it may be active now
	if got := listenersOf(t, v, "g"); len(got) != 1 {
		t.Errorf("listeners %v, want one", got)
	}
	c.add("arn", tagged("g"))
	v.Forget(id("g"))
	if got := listenersOf(t, v, "g"); len(got) != 1 {
		t.Errorf("listeners %v of what is listed, want one", got)
	}
	clock.SetTime(clock.Now().Add(newFor))
	v.Forget(id("g"))
	if _, err := v.Stack(t.Context(), id("g")); !awserr.IsGone(err) {
		t.Errorf("error %v of what is not found at last", err)
	}
}

// Whether AWS could set up a load balancer is read again as long as it is not active.
func TestAFailedLoadBalancerIsSeenWithItsReason(t *testing.T) {
	c := newCloud()
	c.add("arn", tagged("g"))
	v, clock := viewOf(c)
	for _, tc := range []struct {
		state types.LoadBalancerState
		want  string
	}{
		{types.LoadBalancerState{Code: types.LoadBalancerStateEnumProvisioning}, ""},
		{types.LoadBalancerState{Code: types.LoadBalancerStateEnumFailed, Reason: aws.String("no addresses")}, "no addresses"},
		{types.LoadBalancerState{Code: types.LoadBalancerStateEnumFailed}, "AWS does not say why"},
		{types.LoadBalancerState{Code: types.LoadBalancerStateEnumActive}, ""},
	} {
		c.balancers[0].State = &tc.state
		clock.SetTime(clock.Now().Add(statePause))
		seen, err := v.Stack(t.Context(), id("g"))
		if err != nil {
			t.Fatal(err)
		}
		if got := seen.LoadBalancers[0].Failed; got != tc.want {
			t.Errorf("%s: failed due to %q, want %q", tc.state.Code, got, tc.want)
		}
	}
}

func TestNamesAreAwaitedForAWhile(t *testing.T) {
	v, clock := viewOf(newCloud())
	for _, tc := range []struct {
		pause time.Duration
		want  bool
	}{{0, true}, {newFor - 1, true}, {1, false}, {lag, true}} {
		clock.SetTime(clock.Now().Add(tc.pause))
		balancersOf(t, v, "g")
		if got := v.Await("name"); got != tc.want {
			t.Errorf("after %s more: awaited %v, want %v", tc.pause, got, tc.want)
		}
		v.Forget(id("g"))
	}
}

func TestForgettingOneStackReadsNoOther(t *testing.T) {
	c := newCloud()
	c.add("a", tagged("a"))
	c.add("b", tagged("b"))
	v, _ := viewOf(c)
	balancersOf(t, v, "a")
	balancersOf(t, v, "b")
	v.Forget(id("a"))
	balancersOf(t, v, "b")
	before := c.calls["Listeners"]
	balancersOf(t, v, "a")
	balancersOf(t, v, "b")
	if got := c.calls["Listeners"] - before; got != 1 {
		t.Errorf("the listeners of %d load balancers were read again, want those of one", got)
	}
}

// A sweep that began before a step was done does not undo what is known of it.
func TestSweepLeavesWhatWasNotedMeanwhile(t *testing.T) {
	c := newCloud()
	c.add("arn", tagged("g"))
	v, clock := viewOf(c)
	balancersOf(t, v, "g")
	clock.SetTime(clock.Now().Add(time.Hour))
	c.during = func() {
		v.Note(id("g"), steps.Set{Setting: steps.AddressType, LoadBalancer: stack.Ref{ID: "arn"}, Value: "dualstack"}, steps.Made{})
	}
	seen, err := v.Stack(t.Context(), id("g"))
	if err != nil || len(seen.LoadBalancers) != 1 || seen.LoadBalancers[0].AddressType != "dualstack" {
		t.Errorf("error %v, seen %+v, want the noted address type", err, seen.LoadBalancers)
	}
}

func TestStacksAreCopies(t *testing.T) {
	c := newCloud()
	c.add("arn", tagged("g"))
	v, _ := viewOf(c)
	for range 2 {
		seen, err := v.Stack(t.Context(), id("g"))
		if err != nil || seen.LoadBalancers[0].Tags["mine"] != "" || len(seen.LoadBalancers[0].Listeners) != 1 {
			t.Fatalf("error %v, seen %+v", err, seen)
		}
		seen.LoadBalancers[0].Tags["mine"] = "yes"
		seen.LoadBalancers[0].Listeners = nil
	}
}

func TestWhatIsKnownIsFreshForAnInterval(t *testing.T) {
	v, clock := viewOf(newCloud())
	if got := v.Fresh(); got != time.Hour {
		t.Errorf("before the first sweep: %v, want an hour", got)
	}
	for _, want := range []time.Duration{time.Hour, 20 * time.Minute, 0} {
		balancersOf(t, v, "g")
		clock.SetTime(clock.Now().Add(time.Hour - want))
		if got := v.Fresh(); got != want {
			t.Errorf("%v after the sweep: %v, want %v", time.Hour-want, got, want)
		}
		clock.SetTime(clock.Now().Add(want)) // the next one is due
	}
}
