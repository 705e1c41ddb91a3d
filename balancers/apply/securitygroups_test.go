// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// smallGroup is a security group with room for some rules, as EC2 counts them: the list pl-large counts as two.
type smallGroup struct {
	*fakeAWS
	room, has int
}

func (s *smallGroup) Authorize(ctx context.Context, group string, rules []ec2.Permission) error {
	if s.has+weight(rules) > s.room {
		s.calls = append(s.calls, fmt.Sprint("no room for ", weight(rules)))
		return refusal("RulesPerSecurityGroupLimitExceeded")
	}
	s.has += weight(rules)
	return s.fakeAWS.Authorize(ctx, group, rules)
}

func (s *smallGroup) Revoke(ctx context.Context, group string, rules []ec2.Permission) error {
	s.has -= weight(rules)
	return s.fakeAWS.Revoke(ctx, group, rules)
}

// EC2 knows better how many rules a security group has than a plan does: what nobody wants goes first once it says that there is no room.
func TestRulesThatHaveNoRoomBesideTheFormerOnes(t *testing.T) {
	group, rules := stack.Ref{ID: "sg-1"}, []stack.Inbound{{From: 443, To: 443, Protocol: "tcp", Source: "pl-1"}}
	add, remove := steps.Authorize{Group: group, Rules: rules}, steps.Revoke{Group: group, Rules: []stack.Inbound{{From: 80, To: 80, Protocol: "tcp", Source: "pl-1"}}}
	other := steps.Revoke{Group: stack.Ref{ID: "sg-2"}, Rules: remove.Rules}
	for name, test := range map[string]struct {
		room   int
		plan   []steps.Change
		calls  []string
		notes  []string
		failed int
	}{
		"there is room": {2, []steps.Change{add, remove}, []string{"Authorize sg-1", "Revoke sg-1"}, []string{"steps.Authorize", "steps.Revoke"}, 0},
		"others have to go": {
			1, []steps.Change{add, other, remove},
			[]string{"no room for 1", "Revoke sg-1", "Authorize sg-1", "Revoke sg-2"}, []string{"steps.Revoke", "steps.Authorize", "steps.Revoke"}, 0,
		},
		"others have gone":       {0, []steps.Change{remove, add}, []string{"Revoke sg-1", "no room for 1"}, []string{"steps.Revoke"}, 1},
		"those of another group": {1, []steps.Change{add, other}, []string{"no room for 1"}, nil, 1},
		"they may be needed":     {1, []steps.Change{newGroup("bad"), add, remove}, []string{"CreateTargetGroup bad", "no room for 1"}, nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			f, view := good(), &noted{}
			f.errs["CreateTargetGroup bad"] = refusal("ValidationError")
			a := &Applier{Calls: f.clients(), View: view}
			a.Calls.EC2 = &smallGroup{f, test.room, 1}
			got := a.Run(t.Context(), Pass{ID: shop, Plan: do(test.plan...)})
			if diff := cmp.Diff(test.calls, f.calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.notes, view.notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			if len(got.Failures) != test.failed || len(got.Done)+len(got.Failures)+len(got.LeftOut) != len(test.plan) || view.forgot > 0 {
				t.Errorf("result %+v, forgot %d times", got, view.forgot)
			}
		})
	}
}

func weight(rules []ec2.Permission) (n int) {
	for _, rule := range rules {
		if n++; rule.Source.PrefixList == "pl-large" {
			n++
		}
	}
	return n
}

// What has no room by itself takes nothing away: if that is plain, at no time.
func TestRulesThatHaveNoRoomAtAll(t *testing.T) {
	group, former := stack.Ref{ID: "sg-1"}, []stack.Inbound{{From: 80, Source: "pl-1"}}
	for name, test := range map[string]struct {
		rules  []stack.Inbound
		calls  []string
		forgot int
	}{
		"two lists for one": {[]stack.Inbound{{From: 443, Source: "pl-1"}, {From: 444, Source: "pl-1"}}, []string{"no room for 2"}, 0},
		"a larger list":     {[]stack.Inbound{{From: 443, Source: "pl-large"}}, []string{"no room for 2", "Revoke sg-1", "no room for 2", "Authorize sg-1"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f, view := good(), &noted{}
			a := &Applier{Calls: f.clients(), View: view}
			a.Calls.EC2 = &smallGroup{f, 1, 1}
			got := a.Run(t.Context(), Pass{ID: shop, Plan: do(
				steps.Authorize{Group: group, Rules: test.rules}, steps.Revoke{Group: group, Rules: former},
			)})
			if diff := cmp.Diff(test.calls, f.calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if len(got.Failures) != 1 || len(got.LeftOut) != 1 || !IsRefusal(got.Failures[0].Err) || view.forgot != test.forgot {
				t.Errorf("result %+v, forgot %d times", got, view.forgot)
			}
		})
	}
}

// ruleByRule is a security group that has one rule already, or has lost it, which it did not show.
type ruleByRule struct {
	*fakeAWS
	changed int32 // port of the rule
	code    string
}

func (r *ruleByRule) change(operation string, rules []ec2.Permission) error {
	r.calls = append(r.calls, fmt.Sprint(operation, " ", len(rules)))
	if slices.ContainsFunc(rules, func(rule ec2.Permission) bool { return rule.From == r.changed }) {
		return refusal(r.code)
	}
	return nil
}

func (r *ruleByRule) Authorize(_ context.Context, _ string, rules []ec2.Permission) error {
	return r.change("Authorize", rules)
}

func (r *ruleByRule) Revoke(_ context.Context, _ string, rules []ec2.Permission) error {
	return r.change("Revoke", rules)
}

func TestRulesOfWhichOneIsChangedAlready(t *testing.T) {
	rules := []stack.Inbound{{From: 80, Source: "pl-1"}, {From: 443, Source: "pl-1"}}
	add, remove := steps.Authorize{Group: stack.Ref{ID: "sg-1"}, Rules: rules}, steps.Revoke{Group: stack.Ref{ID: "sg-1"}, Rules: rules}
	for name, test := range map[string]struct {
		change steps.Change
		code   string
		calls  []string
		failed int
	}{
		"it is there":             {add, "InvalidPermission.Duplicate", []string{"Authorize 2", "Authorize 1", "Authorize 1"}, 0},
		"it is not there":         {remove, "InvalidPermission.NotFound", []string{"Revoke 2", "Revoke 1", "Revoke 1"}, 0},
		"it is refused otherwise": {add, "InvalidPermission.Malformed", []string{"Authorize 2"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f, view := good(), &noted{}
			a := &Applier{Calls: f.clients(), View: view}
			a.Calls.EC2 = &ruleByRule{f, 80, test.code}
			got := a.Run(t.Context(), Pass{ID: shop, Plan: do(test.change)})
			if diff := cmp.Diff(test.calls, f.calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if len(got.Failures) != test.failed || len(view.notes) != 1-test.failed || view.forgot > 0 {
				t.Errorf("result %+v, notes %v, forgot %d times", got, view.notes, view.forgot)
			}
		})
	}
}
