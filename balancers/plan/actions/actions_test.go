// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package actions

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/balancers/stack"
)

func forward(weights ...int32) stack.Action {
	f := &stack.Forward{}
	for i, weight := range weights {
		f.Groups = append(f.Groups, stack.Weighted{Group: stack.Ref{ID: fmt.Sprint(i)}, Weight: weight})
	}
	return stack.Action{Forward: f}
}

func TestRulesAreEqualAsTheIncumbentComparesThem(t *testing.T) {
	turned := forward(1, 2)
	slices.Reverse(turned.Forward.Groups)
	host := stack.Condition{Field: "host-header", Values: []string{"a", "b"}}
	path := stack.Condition{Field: "path-pattern", Values: []string{"/"}}
	for name, test := range map[string]struct {
		a, b stack.Rule
		want bool
	}{
		"placeholders of a redirect": {
			stack.Rule{Action: stack.Action{Redirect: &stack.Redirect{Port: "443", Query: "#{query}", Status: "HTTP_301"}}},
			stack.Rule{Action: stack.Action{Redirect: &stack.Redirect{
				Protocol: "#{protocol}", Host: "#{host}", Port: "443", Path: "/#{path}", Query: "#{query}", Status: "HTTP_301",
			}}}, true,
		},
		"a query that is dropped, and one that stays": {
			stack.Rule{Action: stack.Action{Redirect: &stack.Redirect{Port: "443", Status: "HTTP_301"}}},
			stack.Rule{Action: stack.Action{Redirect: &stack.Redirect{Port: "443", Query: "#{query}", Status: "HTTP_301"}}}, false,
		},
		"the weight of a single target group": {stack.Rule{Action: forward(0)}, stack.Rule{Action: forward(1)}, true},
		"the weights of two":                  {stack.Rule{Action: forward(1, 2)}, stack.Rule{Action: forward(1, 3)}, false},
		"the order of target groups":          {stack.Rule{Action: forward(1, 2)}, stack.Rule{Action: turned}, true},
		"the order of conditions": {
			stack.Rule{Conditions: []stack.Condition{host, path}}, stack.Rule{Conditions: []stack.Condition{path, host}}, true,
		},
		"the order of values": {
			stack.Rule{Conditions: []stack.Condition{host}},
			stack.Rule{Conditions: []stack.Condition{{Field: "host-header", Values: []string{"b", "a"}}}}, false,
		},
		"a fixed response": {
			stack.Rule{Action: stack.Action{Fixed: &stack.FixedResponse{Status: "404"}}},
			stack.Rule{Action: stack.Action{Fixed: &stack.FixedResponse{Status: "404", Body: "x"}}}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := SameRule(test.a, test.b); got != test.want {
				t.Errorf("equal: %v, want %v", got, test.want)
			}
		})
	}
}

// The stickiness of a single target group does nothing. It is written again where one is wanted and another seen, as by the incumbent, which
// would do that else on the way back.
func TestTheStickinessOfASingleTargetGroupIsWrittenWhereOneIsWanted(t *testing.T) {
	sticky := func(on, off int32, weights ...int32) stack.Action {
		action := forward(weights...)
		action.Forward.Sticky, action.Forward.StickyOff = on, off
		return action
	}
	for name, test := range map[string]struct {
		wanted, seen stack.Action
		same         bool
	}{
		"another":                    {sticky(60, 0, 1), sticky(0, 0, 1), false},
		"other seconds":              {sticky(60, 0, 1), sticky(90, 0, 1), false},
		"switched off":               {sticky(0, 60, 1), sticky(60, 0, 1), false},
		"off, with other seconds":    {sticky(0, 60, 1), sticky(0, 0, 1), true},
		"none is wanted":             {sticky(0, 0, 1), sticky(60, 0, 1), true},
		"none is wanted of several":  {sticky(0, 0, 1, 1), sticky(60, 0, 1, 1), false},
		"off, of several":            {sticky(0, 60, 1, 1), sticky(0, 0, 1, 1), true},
		"that of weight 0":           {sticky(60, 0, 0), sticky(60, 0, 1), true},
		"a forward becomes a page":   {stack.Action{Fixed: &stack.FixedResponse{Status: "404"}}, sticky(60, 0, 1), false},
		"another, and a page before": {sticky(60, 0, 1), stack.Action{Fixed: &stack.FixedResponse{Status: "404"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Same(test.wanted, test.seen); got != test.same {
				t.Errorf("actions are the same: %v, want %v", got, test.same)
			}
			if got := SameRule(stack.Rule{Action: test.wanted}, stack.Rule{Action: test.seen}); got != test.same {
				t.Errorf("rules are the same: %v, want %v", got, test.same)
			}
		})
	}
}

func TestASingleTargetGroupReceivesWhateverItsWeight(t *testing.T) {
	for name, test := range map[string]struct {
		action stack.Action
		want   []stack.Ref
	}{
		"no forward":       {stack.Action{Fixed: &stack.FixedResponse{Status: "404"}}, nil},
		"one":              {forward(0), []stack.Ref{{ID: "0"}}},
		"one of two":       {forward(0, 3), []stack.Ref{{ID: "1"}}},
		"two":              {forward(1, 3), []stack.Ref{{ID: "0"}, {ID: "1"}}},
		"one and a waiter": {With(forward(0), stack.Ref{ID: "9"}), []stack.Ref{{ID: "0"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Receivers(test.action)); diff != "" {
				t.Errorf("receivers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAWaitingActionNamesNoMoreThanAWSTakes(t *testing.T) {
	for name, test := range map[string]struct {
		meanwhile stack.Action
		want      int
	}{"of one": {forward(1), Most}, "of four": {forward(1, 1, 1, 1), Most}, "of five": {forward(1, 1, 1, 1, 1), Most}} {
		t.Run(name, func(t *testing.T) {
			waiting := Waiting(test.meanwhile, []stack.Ref{{ID: "a"}, {ID: "0"}, {ID: "b"}, {ID: "c"}, {ID: "d"}, {ID: "e"}})
			if got := len(waiting.Forward.Groups); got != test.want {
				t.Errorf("%d target groups, want %d", got, test.want)
			}
			if diff := cmp.Diff(Receivers(test.meanwhile), Receivers(waiting)); diff != "" {
				t.Errorf("receivers (-meanwhile +waiting):\n%s", diff)
			}
		})
	}
}
