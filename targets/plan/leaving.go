// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// A pod that leaves serves on until it gets SIGTERM, and its load balancer goes on sending for a while after the deregistration. So
// there is a deadline for the deregistration, and until then it may wait: for AWS's budget, for others of its group that can go in the
// same call, and for the pods that replace this one. Package budget sees to it that the deadline is kept.

// deadlineMargin is how long before the last moment the deadline is. The API server cuts the time of a deletion to whole seconds, which
// leaves up to a second more.
const deadlineMargin = 500 * time.Millisecond

// Lead is how long before a pod gets SIGTERM its target must be deregistered: the longest that load balancers go on sending.
type Lead struct{ ALB, NLB time.Duration }

// of is the lead for a target group; the longer one while its protocol is not known.
func (l Lead) of(settings *v1beta1.TargetGroupSettings) time.Duration {
	switch {
	case settings == nil:
		return max(l.ALB, l.NLB)
	case elbv2.IsApplication(settings.Protocol):
		return l.ALB
	default:
		return l.NLB
	}
}

// Deadline is by when the target of an endpoint that leaves must be deregistered, by the API server's clock; zero for at once. The
// settings of its target group are nil while they are not known.
func (l Lead) Deadline(ep endpoints.Endpoint, settings *v1beta1.TargetGroupSettings) time.Time {
	if ep.ServesUntil.IsZero() {
		return time.Time{}
	}
	deadline, known := ep.ServesUntil.Add(-l.of(settings)-deadlineMargin), deletedAt(ep)
	if known.IsZero() {
		known = ep.ServesUntil.Add(-endpoints.SpotNotice) // the pod leaves with its node
	}
	if !deadline.After(known) { // it could never have been in time
		return time.Time{}
	}
	return deadline
}

// Leaving is what passes remember of the pods that leave, and of how many pods served before. Its maps are not to be changed. The zero
// value remembers nothing.
type Leaving struct {
	pods map[types.UID]leaver

	usual     int       // how many targets are healthy usually, 0 when not known: see nextLeaving
	settled   int       // healthy targets since settledAt
	settledAt time.Time // since when no pod leaves or waits, zero when one does
	least     int       // the fewest healthy targets that stay since leastAt
	leastAt   time.Time // settledFor ago or less, as of the last pass
}

// leaver is what is remembered of a pod that leaves.
type leaver struct {
	before    int       // healthy targets when a pass first found that it leaves, itself included
	since     time.Time // when a pass first found that it leaves
	deletedAt time.Time // when a pass first found that it is deleted, by our clock; a notice to its node may come before that
}

// settledFor is how long the healthy targets must be as many as before, or more than usual, to be the usual number. The moments in which a
// Deployment has more pods than replicas, between the last gate that opens and the deletion of an old pod, are shorter.
const settledFor = 30 * time.Second

// addLeaving deregisters pods on their way out. A pod may leave while its registration is under way: it is deregistered at once, and
// again when the registration has been answered, because AWS may see the two in either order.
func (p *Plan) addLeaving(in Input) {
	p.Leaving = in.nextLeaving()
	var keep []elbv2.Target // may stay until they are replaced
	for target, ep := range in.Endpoints {
		if ep.State != endpoints.Terminating || !in.Mine(target) {
			continue
		}
		t := in.Group.Targets[target]
		inGroup := t.MayBeIn() || t.Registering || !in.Group.Complete() && t.Presence == targetgroup.Absent
		if !inGroup || !t.Leavable() {
			continue
		}
		d := targetgroup.Deregistration{Why: whyLeaves(ep), Since: deletedAt(ep), Deadline: in.deadline(ep, p.Leaving.pods[ep.UID])}
		p.Deregister[target] = d
		if in.mayStay(ep, t, d) {
			keep = append(keep, target)
		}
	}
	p.keepTillReplaced(in, keep)
	p.noteLeavers(in)
	p.noteCutShort(in)
}

func (p *Plan) noteCutShort(in Input) {
	for target, d := range p.Deregister {
		if ep := in.Endpoints[target]; d.Deadline.IsZero() && isCutShort(ep) {
			p.CutShort = append(p.CutShort, ep.Pod)
		}
	}
}

// isCutShort reports whether the grace period of the pod's deletion ends its sleep: somebody deleted, drained or evicted it with another
// one than its own.
func isCutShort(ep endpoints.Endpoint) bool {
	if ep.Pod == nil || ep.ServesUntil.IsZero() {
		return false
	}
	grace := time.Duration(ptr.Deref(ep.Pod.DeletionGracePeriodSeconds, 0)) * time.Second
	own := time.Duration(ptr.Deref(ep.Pod.Spec.TerminationGracePeriodSeconds, 0)) * time.Second
	return grace < own && ep.ServesUntil.Equal(deletedAt(ep).Add(grace))
}

func whyLeaves(ep endpoints.Endpoint) string {
	if ep.Pod != nil && !endpoints.IsTerminating(ep.Pod) {
		return whyNodeLeaves
	}
	return whyTerminating
}

// deadline is Lead.Deadline, or where the clocks of this process and of the API server differ, the earlier moment.
func (in Input) deadline(ep endpoints.Endpoint, known leaver) time.Time {
	deadline, deleted := in.Policy.Lead.Deadline(ep, in.Group.Settings), deletedAt(ep)
	if deadline.IsZero() || deleted.IsZero() || known.deletedAt.IsZero() {
		return deadline
	}
	return sooner(deadline, known.deletedAt.Add(deadline.Sub(deleted)))
}

// mayStay reports whether the target can wait for a replacement: its pod serves and has time left. Before the first reading nobody knows
// what the load balancer says of it.
func (in Input) mayStay(ep endpoints.Endpoint, t targetgroup.Target, d targetgroup.Deregistration) bool {
	serves := !in.Group.Complete() || t.Presence == targetgroup.Registered && in.serves(t.Health.State)
	return in.Policy.KeepUntilReplaced && !ep.LeavesAtOnce && serves && d.Deadline.After(in.Now)
}

// keepTillReplaced has as many of the targets stay as are missing to what there was before; the last deadlines are those that stay.
func (p *Plan) keepTillReplaced(in Input, targets []elbv2.Target) {
	slices.SortFunc(targets, func(a, b elbv2.Target) int { return p.byDeadline(b, a) })
	stay, coming := in.countStaying(), in.coming(targets)
	for _, target := range targets {
		ep := in.Endpoints[target]
		if in.Group.Complete() && (stay >= p.Leaving.needed(ep.UID) || !p.isAwaited(in, ep, coming)) {
			continue
		}
		p.keep(target, true)
		stay++
	}
}

// keep notes whether the target stays until its deadline.
func (p *Plan) keep(target elbv2.Target, stays bool) {
	d := p.Deregister[target]
	d.Stays = stays
	p.Deregister[target] = d
}

// byDeadline orders targets by the deadlines of their deregistrations.
func (p *Plan) byDeadline(a, b elbv2.Target) int {
	return cmp.Or(p.Deregister[a].Deadline.Compare(p.Deregister[b].Deadline), strings.Compare(a.String(), b.String()))
}

// needed is how many healthy targets there must be without the pod for it to go before its deadline: as many as usual, or while that is
// not known, as many as before. A Deployment that rolls has more pods than replicas for a moment, and they are not missed.
func (l Leaving) needed(uid types.UID) int {
	if l.usual > 0 {
		return l.usual
	}
	return l.pods[uid].before
}

// countStaying is how many targets are healthy whose pods do not leave, nor their nodes.
func (in Input) countStaying() (n int) {
	for target, ep := range in.Endpoints {
		if ep.State == endpoints.Desired && !ep.NodeLeaves && in.healthy(target) {
			n++
		}
	}
	return n
}

func (in Input) healthy(target elbv2.Target) bool {
	t := in.Group.Targets[target]
	return t.Presence == targetgroup.Registered && in.serves(t.Health.State)
}

// nextLeaving is what the next pass has to remember. The usual number of healthy targets is that which stood for settledFor while nothing
// changed, or before that, the first one while nothing changed and no pod started. Something may change for long where pods come one after
// the other: so it is never less than there were at any time in the last settledFor.
func (in Input) nextLeaving() Leaving {
	if !in.Group.Complete() {
		return in.Leaving
	}
	next := Leaving{pods: map[types.UID]leaver{}, usual: in.Leaving.usualAt(in.Now)}
	next.countLeast(in.Leaving, in.countStaying(), in.Now)
	healthy, changing, starting := in.countHealthy()
	for _, ep := range in.Endpoints {
		if ep.State != endpoints.Terminating {
			continue
		}
		known, ok := in.Leaving.pods[ep.UID]
		if !ok {
			known = leaver{before: healthy, since: in.Now}
		}
		if known.deletedAt.IsZero() && !deletedAt(ep).IsZero() {
			known.deletedAt = in.Now
		}
		next.pods[ep.UID] = known
	}
	if !changing {
		next.settle(in.Leaving, healthy, starting, in.Now)
	}
	return next
}

// countHealthy also reports whether that number is about to change, and whether pods start.
func (in Input) countHealthy() (healthy int, changing, starting bool) {
	for target, ep := range in.Endpoints {
		if in.healthy(target) {
			healthy++
		}
		changing = changing || in.changes(target, ep)
		starting = starting || ep.State == endpoints.NotReady
	}
	return healthy, changing, starting
}

// settle notes how many targets are healthy while nothing changes, but that more pods may be starting.
func (l *Leaving) settle(before Leaving, healthy int, starting bool, now time.Time) {
	l.settled, l.settledAt = healthy, now
	if before.settled == healthy && !before.settledAt.IsZero() {
		l.settledAt = before.settledAt
	}
	if l.usual == 0 && !starting { // a Deployment may roll right after a start: better this number than one in the middle of that
		l.usual = healthy
	}
}

// countLeast notes the fewest healthy targets that stay, anew each settledFor.
func (l *Leaving) countLeast(before Leaving, staying int, now time.Time) {
	l.least, l.leastAt = min(before.least, staying), before.leastAt
	if now.Sub(before.leastAt) >= settledFor {
		l.least, l.leastAt = staying, now
	}
}

// longStart is how long a target may take to become healthy, or healthy again: longer than behind any load balancer. After that it is not
// expected any more.
const longStart = 10 * time.Minute

// changes reports whether the number of healthy targets is about to change: the endpoint is on its way in or out.
func (in Input) changes(target elbv2.Target, ep endpoints.Endpoint) bool {
	t := in.Group.Targets[target]
	switch ep.State {
	case endpoints.Desired:
		neverHealthy := t.Presence == targetgroup.Registered && !t.Since.IsZero() && in.Now.Sub(t.Since) >= longStart
		return !in.healthy(target) && !neverHealthy
	case endpoints.Terminating:
		return t.MayBeIn() || t.Registering
	default:
		return false
	}
}

// usualAt is the usual number of healthy targets, as of then: a pass comes with each change, so since the last one there was none.
func (l Leaving) usualAt(now time.Time) int {
	if !l.settledAt.IsZero() && now.Sub(l.settledAt) >= settledFor {
		return l.settled
	}
	if !l.leastAt.IsZero() && now.Sub(l.leastAt) >= settledFor {
		return max(l.usual, l.least)
	}
	return l.usual
}
