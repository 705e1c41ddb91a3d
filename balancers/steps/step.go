// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"encoding/json"
	"reflect"

	"github.com/targetgate/targetgate/balancers/stack"
)

// Plan is the steps in order. Each may be done twice without harm, and the rest is planned again from what is seen then.
type Plan []Step

// Step is one change, and what must hold before it. A step whose Wait does not hold is not done, nor is what comes after it until a step
// that begins anew. A step that is AfterAll, and what follows it, is not done either.
type Step struct {
	Wait   *Wait // nil for nothing
	Change Change
	Why    string // for users: what differs
	// Anew marks a step that, as those after it, depends on no wait before it.
	Anew bool
	// AfterAll marks a step that, as those after it, depends on each wait before it, also on those before one that begins anew.
	AfterAll bool
	// Late marks a change that no request depends on, such as a tag. It is done when the budget has room, after all others.
	Late bool
}

// Wait is what must hold before a step. Exactly one field is set.
type Wait struct {
	// Active is the load balancer that must be active.
	Active stack.Ref
	// Healthy is the target group that must take over from Instead, which may be empty: it has a healthy target and none whose first health
	// check is awaited, or Instead has no healthy one either.
	Healthy, Instead stack.Ref
	// Gone is the load balancer that an earlier step of the same plan must have deleted.
	Gone stack.Ref
	// Open is the target group whose targets must let in the load balancer: the inbound rules that its binding asks for are there.
	Open stack.Ref
	// Settled is the load balancer that no longer has its name in any status for long enough that clients have forgotten its addresses.
	Settled stack.Ref
}

// String says in one line what the step does.
func (s Step) String() string {
	text := s.Change.Text()
	_, only := s.Change.(Nothing)
	switch {
	case s.Wait == nil:
		return text
	case only:
		return "wait until " + s.Wait.String()
	}
	return text + ", once " + s.Wait.String()
}

// String says what must hold.
func (w Wait) String() string {
	switch {
	case w.Active != stack.Ref{}:
		return balancerText(w.Active) + " is active"
	case w.Gone != stack.Ref{}:
		return balancerText(w.Gone) + " is deleted"
	case w.Open != stack.Ref{}:
		return "targets of target group " + groupText(w.Open) + " let it in"
	case w.Settled != stack.Ref{}:
		return "the settle time of " + balancerText(w.Settled) + " is over (--load-balancer-settle-time)"
	case w.Instead.Part != "" && w.Instead.Part != w.Healthy.Part:
		return "target group " + groupText(w.Healthy) + " is as healthy as " + groupText(w.Instead)
	case w.Instead != stack.Ref{}:
		return "target group " + groupText(w.Healthy) + " is as healthy as the one before"
	}
	return "target group " + groupText(w.Healthy) + " is healthy"
}

func nameOf(change Change) string {
	if set, is := change.(Set); is {
		return string(set.Setting)
	}
	return reflect.TypeOf(change).Name()
}

// MarshalJSON gives each step as an object with the keys change (the name of its type, or of the setting), text, why, wait and late, the
// last two only if they are set. Other programs may rely on them.
func (p Plan) MarshalJSON() ([]byte, error) {
	type step struct {
		Change string `json:"change"`
		Text   string `json:"text"`
		Why    string `json:"why"`
		Wait   string `json:"wait,omitempty"`
		Late   bool   `json:"late,omitempty"`
	}
	steps := make([]step, len(p))
	for i, s := range p {
		steps[i] = step{Change: nameOf(s.Change), Text: s.Change.Text(), Why: s.Why, Late: s.Late}
		if s.Wait != nil {
			steps[i].Wait = s.Wait.String()
		}
	}
	return json.Marshal(steps)
}
