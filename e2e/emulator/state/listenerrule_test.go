// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/e2e/emulator/routing"
)

// path is a rule for one path.
func (b *bed) path(priority int, path, group string) ListenerRule {
	return ListenerRule{
		Listener: b.listeners[0].ARN, Priority: priority, Action: routing.ForwardTo(group),
		Conditions: []routing.Condition{{Field: routing.PathPattern, Values: []string{path}}},
	}
}

func (b *bed) addRule(r ListenerRule) string {
	b.t.Helper()
	made, err := b.CreateRule(r, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return made.ARN
}

// asked is the rule that a request for a path follows.
func (b *bed) asked(path string) string {
	b.t.Helper()
	r, ok := b.Decide(b.listeners[0].ARN, routing.Request{Path: path})
	if !ok {
		b.t.Fatal("the listener is gone")
	}
	return r.ARN
}

func (b *bed) shown() []string {
	b.t.Helper()
	rules, err := b.Rules(b.listeners[0].ARN)
	if err != nil {
		b.t.Fatal(err)
	}
	var list []string
	for _, r := range rules {
		list = append(list, fmt.Sprintf("%d %s", r.Priority, r.ARN))
	}
	return list
}

const batch = 10 * time.Second

// TestRuleChangesOfOneBatchAreNotSeenApart makes two rules, swaps their priorities and deletes one, and looks all the time.
func TestRuleChangesOfOneBatchAreNotSeenApart(t *testing.T) {
	b := newBed(t, Options{}, Application)
	one, two := b.addGroup(GroupSpec{Name: "one"}, 0), b.addGroup(GroupSpec{Name: "two"}, 0)
	standard := b.asked("/a")
	wide, narrow := b.addRule(b.path(1, "/*", one)), b.addRule(b.path(2, "/a", two))
	follow := func(before, after string) {
		t.Helper()
		turned := false
		for range 101 {
			got := b.asked("/a")
			if got == after {
				turned = true
			} else if got != before || turned {
				t.Fatalf("after %v a request follows %s", b.clock.Since(epoch), got)
			}
			b.pass(batch / 100)
		}
		if !turned {
			t.Errorf("after %v a request follows %s still", batch, b.asked("/a"))
		}
	}
	if b.asked("/a") != standard || len(b.shown()) != 3 {
		t.Errorf("rules are in force at once, or not shown at once: %v", b.shown())
	}
	follow(standard, wide)
	if _, err := b.SetRulePriorities([]RulePriority{{wide, 2}, {narrow, 1}}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1 " + narrow, "2 " + wide, "0 " + standard}, b.shown()); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	follow(wide, narrow)
	wantRefusal(t, b.DeleteRule(narrow), "")
	again := b.path(7, "/a", two)
	moved := b.addRule(again)
	wantRefusal(t, b.DeleteRule(wide), "")
	follow(narrow, moved)
}

// TestGroupsAreInUse goes through all ways of using a group and of leaving it.
func TestGroupsAreInUse(t *testing.T) {
	b := newBed(t, Options{}, Application)
	none := b.addGroup(GroupSpec{Name: "none"}, 0)
	b.group = none
	b.register("10.0.0.1")
	b.wantHealth("10.0.0.1", unattached)
	never := b.path(5, "/never", none)
	never.Action = routing.Action{Forward: &routing.Forward{Groups: []routing.Weighted{{Group: none}, {Group: b.order[0].ARN, Weight: 1}}}}
	arn := b.addRule(never)
	b.pass(30 * time.Second)
	b.wantHealth("10.0.0.1", healthy)
	wantRefusal(t, b.DeleteGroup(none), "ResourceInUse")

	wantRefusal(t, b.DeleteRule(arn), "")
	b.wantHealth("10.0.0.1", healthy) // it is sent to until the next batch
	b.pass(batch)
	b.wantHealth("10.0.0.1", unattached)
	wantRefusal(t, b.DeleteGroup(none), "")
}
