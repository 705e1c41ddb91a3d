// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"testing"

	"github.com/targetgate/targetgate/balancers/steps"
)

func isDeletion(s steps.Step) bool { _, deletes := s.Change.(steps.DeleteLoadBalancer); return deletes }

// A load balancer is being replaced, and a target group on the new one is to be replaced, too. That may never become healthy.
func TestAReplacedLoadBalancerWaitsForWhatServes(t *testing.T) {
	member := one("ns/k", "/k", 0)
	w := newWorld()
	w.settle(t, genStack{Members: []genMember{member}})
	plan, _ := Make(genStack{Internal: true, Members: []genMember{member}}.want(), w.seen(), Options{})
	if err := w.run(plan[:slices.IndexFunc(plan, isDeletion)], nothing); err != nil {
		t.Fatal(err)
	}
	member.Type = "instance"
	plan, _ = Make(genStack{Internal: true, Members: []genMember{member}}.want(), w.seen(), Options{})
	deleted := slices.IndexFunc(plan, isDeletion)
	isNew := func(s steps.Step) bool { return isWaiting(s) && s.Wait.Healthy.ID == "" && s.Wait.Healthy.Part != "" }
	if awaited := slices.IndexFunc(plan, isNew); awaited < deleted {
		t.Errorf("the end of the former load balancer waits for a target group that serves nobody yet:\n%s", lines(plan))
	}
}

// What stands in front is moved to the new load balancer when that serves.
func TestWhatIsInFrontWaitsForANewLoadBalancer(t *testing.T) {
	member := one("ns/k", "/k", 0)
	w := newWorld()
	w.settle(t, genStack{Front: 1, Members: []genMember{member}})
	plan, _ := Make(genStack{Internal: true, Front: 1, Members: []genMember{member}}.want(), w.seen(), Options{})
	first := slices.IndexFunc(plan, isWaiting)
	for i, step := range plan[first:] {
		if step.Anew {
			t.Errorf("step %d depends on no wait:\n%s", first+i, lines(plan))
		}
	}
}
