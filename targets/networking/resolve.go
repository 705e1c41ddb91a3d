// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/targets/networking/members"
	"github.com/targetgate/targetgate/targets/networking/ruleset"
	"github.com/targetgate/targetgate/targets/retry"
)

// errUnresolved is why a binding is looked at again.
var errUnresolved = errors.New("not all members are resolved")

// resolution is what was found out about a binding.
type resolution struct {
	incomplete bool // there may be more members
	wishes     map[string]ruleset.Rules
	fault      error
	problems   []problem
	retryAt    time.Time // when a member is looked for again that EC2 did not know
}

// resolve finds where the wishes of a binding go.
func (m *Manager) resolve(ctx context.Context, key types.NamespacedName) (time.Duration, error) {
	due := m.toResolve(key)
	if due.binding == nil {
		return m.endRelease(key), nil
	}
	class, maxAge := budget.ClassRegister, m.DriftInterval
	if due.before != unseen {
		class = budget.ClassOther
	}
	if due.before == resolvedBefore {
		maxAge = m.DriftInterval / 10
	}
	ctx = budget.WithCharge(ctx, budget.Charge{Urgency: class.Now(), Tenant: key.Namespace})
	found := look(ctx, m.locator, class, *due.binding, maxAge)
	if due.before == resolvedBefore && readFailed(found.problems) {
		return 0, errUnresolved // what was found before holds
	}
	if ctx.Err() != nil || !m.store(due, found) {
		return 0, nil // a newer version is in the queue
	}
	switch {
	case !found.retryAt.IsZero() && !readFailed(found.problems):
		return max(found.retryAt.Sub(m.Clock.Now()), firstPause/2), nil
	case !found.resolved():
		return 0, errUnresolved
	}
	return retry.Jitter(m.DriftInterval), nil
}

// How a version of a binding was found when it was last looked at.
const (
	unseen = iota
	unresolvedBefore
	resolvedBefore // this is a drift check
)

// dueBinding is a version of a binding to look at; without a binding, there is none.
type dueBinding struct {
	binding *Binding
	version int
	before  int
	wishes  map[string]ruleset.Rules // until now
}

func (m *Manager) toResolve(key types.NamespacedName) dueBinding {
	m.mu.Lock()
	defer m.mu.Unlock()
	state := m.bindings[key]
	if state == nil || state.released {
		return dueBinding{}
	}
	due := dueBinding{binding: state.want, version: state.version, before: resolvedBefore, wishes: state.wishes}
	switch {
	case state.tried != state.version:
		due.before = unseen
	case !state.resolved:
		due.before = unresolvedBefore
	}
	return due
}

// resolved reports whether all rules that the binding wishes for are known.
func (r resolution) resolved() bool {
	return r.fault == nil && !r.incomplete && !slices.ContainsFunc(r.problems, func(p problem) bool { return !p.final })
}

// readFailed reports whether members are unresolved because a read of EC2 failed.
func readFailed(problems []problem) bool {
	return slices.ContainsFunc(problems, func(p problem) bool { return members.IsPassing(p.err) })
}

// look finds the security groups of a binding's members, and puts its wishes together. A member that is not resolved does not keep the
// others from getting their rules.
func look(ctx context.Context, locator *members.Locator, class budget.Class, binding Binding, maxAge time.Duration) resolution {
	found := resolution{wishes: map[string]ruleset.Rules{}, incomplete: binding.Incomplete}
	asks, err := ruleset.Compile(binding.Networking, binding.Nodes)
	if err != nil {
		found.fault = err
		return found
	}
	if len(asks) == 0 {
		return found
	}
	for i, place := range locator.Locate(ctx, class, binding.Members, maxAge) {
		member := binding.Members[i]
		if place.Err != nil {
			found.problems = append(found.problems, problem{member: member, err: place.Err})
			if found.retryAt.IsZero() || place.RetryAt.Before(found.retryAt) {
				found.retryAt = place.RetryAt
			}
			continue
		}
		if place.Group == "" {
			continue
		}
		rules, err := asks.For(member.Ports)
		if err != nil {
			found.problems = append(found.problems, problem{member: member, err: err, final: true})
		}
		if found.wishes[place.Group] == nil {
			found.wishes[place.Group] = ruleset.Rules{}
		}
		for rule := range rules {
			found.wishes[place.Group].Insert(rule)
		}
	}
	slices.SortStableFunc(found.problems, func(a, b problem) int { return cmp.Compare(a.member.Name, b.member.Name) })
	return found
}

// store takes what was found out of a version of a binding, unless there is a newer one. After a fault of the spec the wishes stay
// as they were: the new ones are unknown. Only store and the end of a version change them.
func (m *Manager) store(due dueBinding, found resolution) bool {
	if found.fault != nil {
		found.wishes = due.wishes
	}
	same, allFound := reflect.DeepEqual(due.wishes, found.wishes), found.resolved()
	sum := trouble{text: problemText(found.problems), passing: readFailed(found.problems)}
	key := due.binding.Key
	m.mu.Lock()
	state := m.bindings[key]
	if state == nil || state.released || state.want != due.binding {
		m.mu.Unlock()
		return false
	}
	before, resolved := state.wishes, state.resolved
	state.tried, state.fault, state.trouble = due.version, found.fault, sum
	state.resolved, state.wishes = allFound, found.wishes
	switch {
	case !same:
		m.seq++
		state.seq = m.seq
		touched := maps.Clone(before)
		if touched == nil {
			touched = map[string]ruleset.Rules{}
		}
		maps.Copy(touched, state.wishes)
		m.wakeAbout(state, touched)
	case state.resolved && !resolved:
		m.wakeBlocked(state)
	}
	wake := m.changed(state)
	m.mu.Unlock()
	if wake {
		m.Wake(key)
	}
	return true
}

// wakeAbout has the groups passed that a change of a binding's wishes can matter to: those of the wishes, and those with rules that are
// ours, wanted or wait, of flows that it can ask for. The caller holds the lock.
func (m *Manager) wakeAbout(state *bindingState, wishes map[string]ruleset.Rules) {
	wake := func(id string, group *groupState) {
		group.tenant = state.want.Key.Namespace
		m.groupQueue.AddAfter(id, coalescePause)
	}
	for id := range wishes {
		if m.groups[id] == nil {
			m.groups[id] = &groupState{}
		}
		wake(id, m.groups[id])
	}
	for id, group := range m.groups {
		if _, done := wishes[id]; !done && state.reach.HasAny(group.flows) {
			wake(id, group)
		}
	}
}

// wakeBlocked has the groups passed that decided about rules on the ground that the binding was not resolved. Most changes of its
// members end here: another pod on the same nodes wishes for nothing new. The caller holds the lock.
func (m *Manager) wakeBlocked(state *bindingState) {
	for id, group := range m.groups {
		if slices.ContainsFunc(group.last.held, state.reach.Touches) {
			m.groupQueue.AddAfter(id, coalescePause)
		}
	}
}

// changed reports whether the State of the binding is another one than when it was last asked. The caller holds the lock.
func (m *Manager) changed(state *bindingState) bool {
	now := m.stateOf(state)
	if reflect.DeepEqual(now, state.last) {
		return false
	}
	state.last = now
	return true
}
