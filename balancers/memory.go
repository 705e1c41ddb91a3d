// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// memories are what is remembered of groups from pass to pass. Nothing of it is needed: after a restart waits begin again, and users are
// told again.
type memories struct {
	mu     sync.Mutex // guards the map; a memory is touched by the one pass over its group alone
	groups map[stack.Group]*memory
}

// memory is what is remembered of a group.
type memory struct {
	told map[told]bool
	// held are the Ingresses that have, or had, the finalizer of the group, as they were seen last; read only.
	held    map[types.UID]client.Object
	refused map[types.UID]refusal
	// inactive is since when a load balancer was seen that is not active, by ARN.
	inactive map[string]time.Time
	// moved is when the name of a load balancer was in no status any longer, by ARN.
	moved map[string]time.Time
	// rerouted is when rules were changed last. As far as is known that may have been just before this memory began.
	rerouted time.Time
	// done is when a step was done last that was not a late one.
	done time.Time
	// waiting are the target groups for whose health passes have waited since nothing had to wait: the last one longest ago first.
	waiting []waiting
	// closed is the change of security groups that passes wait to make until targets let in the new ones, and since when; "" for none.
	closed      string
	closedSince time.Time
	// lingering is what the last pass could not remove, as something else uses it, by what it tried.
	lingering map[string]lingers
	// lookedAgain is when the stack was read again last because a policy had refused a removal.
	lookedAgain time.Time
	// rediscovered is when subnets were looked for last in zones that the load balancer is not in.
	rediscovered time.Time
	// versions are those of the client secrets that rules and default actions have in AWS, as far as is known, by ARN.
	versions map[string]version
	// left is when a member that another group has got that one's load balancer as its status.
	left map[types.UID]time.Time
	// written is what is known of what passes have written to the API server.
	written map[thing]*written
}

// waiting is a target group that cannot take over yet, by the value of its resource tag.
type waiting struct {
	part  string
	since time.Time
}

func (m *memories) of(group stack.Group, now time.Time) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.groups == nil {
		m.groups = map[stack.Group]*memory{}
	}
	if m.groups[group] == nil {
		m.groups[group] = &memory{
			told: map[told]bool{}, held: map[types.UID]client.Object{},
			refused: map[types.UID]refusal{}, inactive: map[string]time.Time{}, moved: map[string]time.Time{},
			left: map[types.UID]time.Time{}, versions: map[string]version{}, written: map[thing]*written{}, rerouted: now,
		}
	}
	return m.groups[group]
}

// knows reports whether something is remembered of the group.
func (m *memories) knows(group stack.Group) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.groups[group] != nil
}

func (m *memories) forget(group stack.Group) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.groups, group)
}

func (m *memory) forget(member types.UID) {
	delete(m.refused, member)
	delete(m.left, member)
	delete(m.held, member)
	maps.DeleteFunc(m.written, func(of thing, _ *written) bool { return of.uid == member })
}

// staying is for how long clients may still come to the group for a member that has left it, 0 for no longer. While the group still
// serves it, that is not known: it is asked again after leavingPause.
func (m *memory) staying(member types.UID, served bool, now time.Time, settle time.Duration) time.Duration {
	if served {
		delete(m.left, member)
		return leavingPause
	}
	if m.left[member].IsZero() {
		m.left[member] = now
	}
	return max(0, m.left[member].Add(settle).Sub(now))
}

// kept is for how long target groups must be kept, as load balancers may follow rules that were changed before.
func (m *memory) kept(now time.Time) time.Duration {
	return max(0, m.rerouted.Add(apply.RuleLag).Sub(now))
}

// late is for how long late steps must still wait.
func (m *memory) late(now time.Time) time.Duration {
	return max(0, m.done.Add(apply.LateDelay).Sub(now))
}

func (m *memory) noteDone(result apply.Result, now time.Time) {
	if slices.ContainsFunc(result.Done, func(s steps.Step) bool { return !s.Late && s.Change != steps.Nothing{} }) {
		m.done = now
	}
	if result.Rerouted {
		m.rerouted = now
	}
	if result.LookedAgain {
		m.lookedAgain = now
	}
	for _, step := range result.Done {
		m.noteVersion(step.Change)
	}
}

// lookPause is how often a stack is read again at most because a policy refuses a removal.
const lookPause = 10 * time.Minute

func (m *memory) mayLookAgain(now time.Time) bool { return now.Sub(m.lookedAgain) >= lookPause }

// mayRediscover reports whether subnets are looked for again, once in the interval, and takes in that they are.
func (m *memory) mayRediscover(now time.Time, interval time.Duration) bool {
	due := m.rediscovered.IsZero() || now.Sub(m.rediscovered) >= interval
	if due {
		m.rediscovered = now
	}
	return due
}

// noteWait takes in for which target group a pass has waited, "" for none. It returns since when.
func (m *memory) noteWait(part string, now time.Time) (since time.Time) {
	if part == "" {
		m.waiting = nil
		return now
	}
	w := waiting{part, now}
	if i := m.waits(part); i >= 0 {
		w = m.waiting[i]
		m.waiting = slices.Delete(m.waiting, i, i+1)
	}
	m.waiting = append(m.waiting, w)
	return w.since
}

// noteInactive takes in whether a load balancer is active. It returns since when it is not.
func (m *memory) noteInactive(balancer *stack.LoadBalancer, now time.Time) (since time.Time) {
	if balancer.Active {
		delete(m.inactive, balancer.ARN)
		return now
	}
	if m.inactive[balancer.ARN].IsZero() {
		m.inactive[balancer.ARN] = now
	}
	return m.inactive[balancer.ARN]
}

// waits is the target group's place among those that are waited for, -1 for none.
func (m *memory) waits(part string) int {
	return slices.IndexFunc(m.waiting, func(w waiting) bool { return w.part == part })
}

// closedFor is for how long security groups that are to be taken off the load balancer must still be kept, as targets may not let in the
// others. It takes in that a pass is to take them off.
func (m *memory) closedFor(planned steps.Plan, now time.Time, timeout time.Duration) time.Duration {
	change := ""
	for _, step := range planned {
		if step.Wait != nil && step.Wait.Open != (stack.Ref{}) {
			change = steps.Step{Change: step.Change}.String()
		}
	}
	if m.closed != change {
		m.closed, m.closedSince = change, now
	}
	if change == "" {
		return 0
	}
	return max(0, m.closedSince.Add(timeout).Sub(now))
}

// inTurn puts target groups that are waited for behind all others, so that one that never gets healthy holds up no other: what waits ends
// a pass.
func (m *memory) inTurn(groups []stack.TargetGroup) {
	slices.SortStableFunc(groups, func(a, b stack.TargetGroup) int { return cmp.Compare(m.waits(a.Part), m.waits(b.Part)) })
}

// movedFrom takes in that the load balancer is in no status; when it is not known since when, since now.
func (m *memory) movedFrom(arn string, now time.Time) {
	if m.moved[arn].IsZero() {
		m.moved[arn] = now
	}
}

// movedTo takes in that the load balancer is in a status.
func (m *memory) movedTo(arn string) { delete(m.moved, arn) }

func (m *memory) unsettled(arn string, now time.Time, settle time.Duration) time.Duration {
	if m.moved[arn].IsZero() {
		return settle
	}
	return max(0, m.moved[arn].Add(settle).Sub(now))
}

// refusal is what AWS has refused to a member. The member is held until it says something else, or for a while.
type refusal struct {
	note  string
	said  client.Object // as it was then
	until time.Time
	pause time.Duration
}

// pauses are the first and the longest one until what AWS has refused is asked for again.
type pauses struct{ first, longest time.Duration }

var (
	refusalPauses = pauses{time.Minute, 10 * time.Minute}
	// denialPauses are those of what policies deny. That may be over in a moment, when AWS knows the tags of what was just made.
	denialPauses = pauses{5 * time.Second, 30 * time.Second}
)

func pausesOf(err error) pauses {
	if awserr.IsDenied(err) {
		return denialPauses
	}
	return refusalPauses
}

// refuse holds the member for longer each time, unless what was refused before has been well for a while.
func (m *memory) refuse(member client.Object, note string, now time.Time, pauses pauses) {
	pause := pauses.first
	if before := m.refused[member.GetUID()]; now.Sub(before.until) < pauses.longest {
		pause = min(max(pause, 2*before.pause), pauses.longest)
	}
	m.refused[member.GetUID()] = refusal{note: note, said: member, until: now.Add(pause), pause: pause}
}

// refusalOf is what the member is held for, and for how long; 0 for nothing.
func (m *memory) refusalOf(
	member client.Object, saysTheSame func(a, b client.Object) bool, now time.Time,
) (note string, left time.Duration) {
	r, ok := m.refused[member.GetUID()]
	if !ok || !now.Before(r.until) {
		return "", 0
	}
	if !saysTheSame(r.said, member) {
		delete(m.refused, member.GetUID())
		return "", 0
	}
	return r.note, r.until.Sub(now)
}
