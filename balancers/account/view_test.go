// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/targetgate/targetgate/balancers/apply"
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
	want := map[string]int{"LoadBalancers": 1, "TargetGroups": 1, "SecurityGroups": 2, "Tags": 51 + 1000, "Listeners": 1000, "Rules": 1000}
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
	v.Note(id("g"), made, apply.Made{ID: "listed"})
	v.Note(id("g"), made, apply.Made{ID: "unlisted"})
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
	v.Note(id("g"), steps.DeleteLoadBalancer{LoadBalancer: stack.Ref{ID: "arn"}}, apply.Made{})
	v.Forget(id("g"))
	if got := balancersOf(t, v, "g"); got != nil {
		t.Errorf("load balancers %v after they were deleted", got)
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
		v.Note(id("g"), steps.SetAddressType{LoadBalancer: stack.Ref{ID: "arn"}, AddressType: "dualstack"}, apply.Made{})
	}
	seen, err := v.Stack(t.Context(), id("g"))
	if err != nil || len(seen.LoadBalancers) != 1 || seen.LoadBalancers[0].AddressType != "dualstack" {
		t.Errorf("error %v, seen %+v, want the noted address type", err, seen.LoadBalancers)
	}
}

func TestLegacyTagsAreMatched(t *testing.T) {
	c := newCloud()
	tags := tagged("g")
	delete(tags, stack.ClusterTag)
	tags["ingress.k8s.aws/cluster"] = "c"
	c.add("arn", tags)
	v, _ := viewOf(c)
	if got := balancersOf(t, v, "g"); len(got) != 1 {
		t.Errorf("load balancers %v, want one", got)
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
