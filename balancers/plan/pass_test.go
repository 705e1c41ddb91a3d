// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// TestWaitsThatEndLaterKeepEachRoute is the promise of the package over passes as they are made: what waits ends when AWS has it end, a pass
// does what does not depend on that, if it is not interrupted, and the next one plans anew.
func TestWaitsThatEndLaterKeepEachRoute(t *testing.T) {
	t.Parallel()
	for seed := range *pairs / 4 {
		checkPasses(t, seed, 11)
	}
}

// TestAChangeOfMindDuringWaitsKeepsEachRoute is that promise when another stack was wanted before, and some of its waits have not ended.
func TestAChangeOfMindDuringWaitsKeepsEachRoute(t *testing.T) {
	t.Parallel()
	for seed := range *pairs / 4 {
		checkTurnOfPasses(t, seed, 15)
	}
}

// What is in front is to be changed as well, and a target group is deleted once nothing in front leads to it; another waits to take over.
func TestWhatGoesWithAListenerInFrontServesOn(t *testing.T) { checkPasses(t, 1400, 11) }

// A rule with a login that nothing is sent to goes; what asks for one in its place waits to take over from an open rule.
func TestALoginIsNotAwaitedBehindAnOpenRule(t *testing.T) { checkPasses(t, 35117, 14) }

// A security group goes with a load balancer that is replaced, and another target group waits to take over.
func TestASecurityGroupGoesAfterItsLoadBalancer(t *testing.T) { checkTurnOfPasses(t, 620, 15) }

// What stands in front goes when no client comes to it any more, and then the listener behind it, which names a target group from which
// another takes over before that.
func TestATargetGroupGoesAfterTheListenersThatNameIt(t *testing.T) {
	for _, seed := range []uint64{7233, 12926, 13862} {
		checkTwoTurnsOfPasses(t, seed, 21)
	}
}

func checkPasses(t *testing.T, seed, stream uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, stream))
	from := generate(r)
	checkHistory(t, history{way{stacks: []genStack{from, change(r, from)}, room: 100}, r.Uint64()})
}

func checkTurnOfPasses(t *testing.T, seed, stream uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, stream))
	w := aTurn(r)
	checkHistory(t, history{w, r.Uint64()})
}

// checkTwoTurnsOfPasses has two other stacks wanted before the last one.
func checkTwoTurnsOfPasses(t *testing.T, seed, stream uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, stream))
	stacks := []genStack{generate(r)}
	for len(stacks) < 4 {
		stacks = append(stacks, change(r, stacks[len(stacks)-1]))
	}
	checkHistory(t, history{way{stacks: stacks, room: 100}, r.Uint64()})
}

func checkHistory(t *testing.T, h history) {
	t.Helper()
	if err := h.check(); err != nil {
		h, err = shrink(h, err)
		t.Fatalf("%v\nthe stacks, of the plan to one midway %v:\n%s", err, h.share, h.way)
	}
}

// history is a way to the last stack by passes, in which the seed says which waits end.
type history struct {
	way
	seed uint64
}

const mostPasses = 8

// begin is a world that has gone the way to the last stack, by some passes to each before it, the last of which may end midway.
func (h history) begin() (*world, *rand.Rand, error) {
	w, err := settled(h.stacks[0])
	if err != nil {
		return nil, nil, err
	}
	p := passes{w, rand.New(rand.NewPCG(h.seed, 1))}
	for _, midway := range h.stacks[1:h.last()] {
		for range 1 + p.random.IntN(3) {
			plan, _ := Make(midway.want(), w.seen(), Options{Rules: 1000})
			if p.random.IntN(2) == 0 {
				plan = plan[:p.random.IntN(len(plan)+1)]
			}
			if err := p.pass(plan, nothing); err != nil {
				return nil, nil, fmt.Errorf("a stack midway: %w", err)
			}
		}
	}
	w.limit = max(1, w.rules()+h.room)
	return w, p.random, nil
}

func (h history) check() error {
	w, random, err := h.begin()
	if err != nil {
		return err
	}
	wanted, options := h.stacks[h.last()].want(), Options{Rules: w.limit}
	before := w.answers()
	plan, _ := Make(wanted, w.seen(), options)
	end := w.clone()
	if err := end.run(plan, nothing); err != nil {
		return err
	}
	end.rest()
	after := end.answers()
	same := agreed(before, after)
	guarded := slices.DeleteFunc(slices.Clone(universe), func(r request) bool { return !isGuarded(before[r]) || !isGuarded(after[r]) })
	open, targets := w.opened(), w.open()
	maps.DeleteFunc(open, func(port int32, _ bool) bool { return !end.opened()[port] })
	maps.DeleteFunc(targets, func(group string, _ bool) bool { _, serves := end.open()[group]; return !serves })
	promise := func() error {
		return errors.Join(w.keeps(before, same), w.guards(guarded), w.lets(open), w.staysOpen(targets))
	}
	p := passes{w, random}
	for n := range mostPasses {
		plan, _ = Make(wanted, w.seen(), options)
		if err := p.pass(plan, promise); err != nil {
			return fmt.Errorf("in pass %d: %w\n%s", n, err, lines(plan))
		}
	}
	plan, over := Make(wanted, w.seen(), options)
	if err := w.run(plan, promise); err != nil {
		return fmt.Errorf("in the last pass: %w\n%s", err, lines(plan))
	}
	w.rest()
	return verify(w, wanted, over, options)
}

func (h history) smaller() (all []history) {
	for _, small := range h.way.smaller() {
		all = append(all, history{small, h.seed})
	}
	return all
}

// passes does plans as the applier does.
type passes struct {
	*world
	random *rand.Rand
}

func (p passes) isLucky() bool { return p.random.IntN(2) == 0 }

// pass does the steps that depend on no wait that does not hold.
func (p passes) pass(plan steps.Plan, check func() error) error {
	p.made, p.removed = steps.Refs{}, map[string]bool{}
	waiting, awaits, done := false, false, false
	var leaves []stack.Ref
	for i, step := range plan {
		waiting = waiting && !step.Anew || awaits && step.AfterAll
		if waiting || step.Late && done || p.misses(step) {
			continue
		}
		if !p.holds(step.Wait) {
			waiting, awaits = true, true
			if step.Wait.Settled != (stack.Ref{}) {
				leaves = append(leaves, step.Wait.Settled)
			}
			continue
		}
		if err := p.do(step.Change); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		if err := check(); err != nil {
			return fmt.Errorf("after step %d: %w", i, err)
		}
		done = done || !step.Late
		p.mayGrant()
		if p.random.IntN(20) == 0 { // another tenant waits
			break
		}
	}
	for _, old := range leaves {
		p.leave(p.balancer(old))
	}
	p.mayGrant()
	return check()
}

// mayGrant has rules be there, or not yet.
func (p passes) mayGrant() {
	if p.letIn != nil && p.isLucky() {
		p.grant()
	}
}

// holds reports whether a wait does, as the applier asks.
func (p passes) holds(wait *steps.Wait) bool {
	switch none := (stack.Ref{}); {
	case wait == nil || wait.Active != none:
		return true
	case wait.Gone != none:
		return p.balancer(wait.Gone) == nil
	case wait.Open != none: // as the plan has seen it
		return false
	case wait.Settled != none:
		b, client := p.balancer(wait.Settled), p.client
		if b.Network {
			client = p.inFront
		}
		return client != b.ARN && p.isLucky()
	}
	id, instead := p.made.ID(wait.Healthy), p.made.ID(wait.Instead)
	bound := slices.ContainsFunc(p.Bindings, func(b stack.Binding) bool { return b.Group.ID == id })
	if g := p.group(id); (bound || g.Target.ID != "") && len(g.LoadBalancers) > 0 && p.isLucky() {
		p.healthy[id] = true
	}
	return p.healthy[id] || !p.healthy[instead]
}

// misses reports whether a step refers to a part that is not made.
func (p passes) misses(step steps.Step) bool {
	_, missing := p.made.Resolve(step.Change)
	if w := step.Wait; w != nil {
		for _, ref := range []stack.Ref{w.Active, w.Healthy, w.Instead, w.Gone, w.Open, w.Settled} {
			if ref != (stack.Ref{}) && p.made.ID(ref) == "" {
				missing = append(missing, ref.Part)
			}
		}
	}
	return len(missing) > 0
}
