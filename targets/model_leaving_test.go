// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"time"

	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/elbv2"
)

// How long before SIGTERM the deregistration of a pod that leaves must have been accepted: for that long an ALB goes on sending, and
// that much is the registrar's margin.
const (
	modelLead   = 20 * time.Second
	modelMargin = 500 * time.Millisecond
)

// departure is by when the target of a pod that leaves has to be deregistered.
type departure struct {
	by      time.Time // zero is at once
	knownAt time.Time // since when that has been so
}

// noteDepartures notes which pods leave, and by when. It comes before time passes, as the registrar may act then.
func (m *model) noteDepartures(now time.Time) {
	next := map[types.UID]departure{}
	w := &m.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, pod := range listOf[*corev1.Pod](m.store) {
		by, leaves := m.leavesBy(pod)
		if !leaves {
			continue
		}
		d := departure{by: by, knownAt: now}
		if known, ok := w.leaving[pod.UID]; ok && known.by.Equal(by) {
			d.knownAt = known.knownAt
		}
		next[pod.UID] = d
	}
	w.leaving = next
}

// leavesBy reports whether a pod leaves, by itself or with its node, and by when it has to be deregistered: zero is at once. How long the
// pod serves is not known, it does not serve, or it could never be in time.
func (m *model) leavesBy(pod *corev1.Pod) (by time.Time, leaves bool) {
	own, node := m.pods[pod.UID], stored[*corev1.Node](m.store, "", pod.Spec.NodeName)
	notice, ends := hasTaint(node, modelSpotTaint), node != nil && shutsDownIn(node)
	if live(pod) && !notice && !ends {
		return time.Time{}, false
	}
	noticeAt := m.nodes[pod.Spec.NodeName].noticeAt
	if ended(pod) || ends || node == nil || nodeReadyIn(node) == corev1.ConditionFalse || !isTrue(pod, corev1.ContainersReady) || closedByOthers(pod) || notice && !noticeAt.After(m.upSince) {
		return time.Time{}, true
	}
	if !own.deletedAt.IsZero() {
		by = own.leavesBy()
	}
	if end := noticeAt.Add(modelSpotSeen - modelLead - modelMargin); notice && (live(pod) || end.Before(by)) {
		by = end
	}
	return by, true
}

// leavesBy is the deadline of a pod that is being deleted.
func (p *modelPod) leavesBy() time.Time {
	by := p.stopsAt().Add(-modelLead - modelMargin)
	if p.sleep == 0 || !by.After(p.deletedAt) {
		return time.Time{}
	}
	return by
}

// modelNotice is how long before a deadline the registrar has to know of all that leads to it for the deadline to be exact.
const modelNotice = 2 * time.Second

const clockTime = "15:04:05.000"

// missed reports whether a deadline has passed that the registrar could keep: nothing was disturbed, and it knew in time.
func (w *modelWatch) missed(b *watched, c claim, t *modelTarget, now time.Time) bool {
	d := w.leaving[c.uid]
	inTime := func(since time.Time) bool { return !since.IsZero() && d.by.Sub(since) > modelNotice }
	return !d.by.IsZero() && now.After(d.by) && inTime(d.knownAt) && inTime(w.calm.departures) && inTime(w.since[b.fact(c)]) &&
		inTime(t.registeredAt) && w.held(fact(b.UID, "usable")) > 45*time.Second
}

// checkDeparture holds the deregistration of a pod that leaves against its deadline: it must not come behind that, nor before while
// the pod is not replaced. The caller holds AWS's lock and the watch's.
func (w *modelWatch) checkDeparture(m *model, b *watched, c claim, g *modelGroup) {
	now, d := time.Now(), w.leaving[c.uid]
	if w.missed(b, c, g.targets[c.target], now) {
		w.breaksLocked("%s of %s was deregistered for binding %s %s after its deadline", c.target, c.uid, b.Name, now.Sub(d.by))
		return
	}
	u := w.usual[b.UID]
	if u == nil || d.by.Sub(now) <= modelTogether || !w.mustWait(b, c, g) || c.pod.DeletionTimestamp != nil && !m.allReplaced(c.pod, b, g) {
		return
	}
	if others := w.countOthers(b, c, g, now); others < u.n {
		w.breaksLocked("%s of %s was deregistered for binding %s %s before its deadline, and of %d healthy targets %d were left",
			c.target, c.uid, b.Name, d.by.Sub(now), u.n, others)
	}
}

// modelTogether is how long before their deadlines targets may go that are still needed: with another one whose deadline is 3 s sooner.
// The API server cuts a second from the time of the deletion, and a call is sent a second early.
const modelTogether = 5 * time.Second

// mustWait reports whether the pod serves, and nothing but its leaving speaks against its target.
func (w *modelWatch) mustWait(b *watched, c claim, g *modelGroup) bool {
	t := g.targets[c.target]
	if c.pod == nil || w.twins[c.uid] || closedByOthers(c.pod) || relabelled(c.pod) {
		return false
	}
	return c.pod.Annotations["targetgate.dev/keep-until-replaced"] != "false" && !w.calm.cache.IsZero() &&
		t.health.State == elbv2.StateHealthy && t.shown == elbv2.StateHealthy && t.omittedSince.IsZero() &&
		time.Since(w.excuses[b.removableFact(c)]) > settledAfter && time.Since(g.touched) > testDrift
}

// countOthers is how many others are healthy and stay, or may be so for all that the registrar knows: those that leave stay until their
// deadlines, those on a node that is about to end do not count.
func (w *modelWatch) countOthers(b *watched, not claim, g *modelGroup, now time.Time) (n int) {
	for target, c := range b.claims {
		t := g.targets[target]
		healthy := t != nil && (t.health.State == elbv2.StateHealthy || t.shown == elbv2.StateHealthy && t.health.State != elbv2.StateDraining)
		stays := c.kind == claimWanted || c.kind == claimUnclear || w.held(b.fact(c)) < settledAfter
		switch {
		case c.kind == claimLeaving:
			stays = w.leaving[c.uid].by.After(now)
		case c.nodeEnds && w.held(nodeLeaves(c.pod.Spec.NodeName)) >= settledAfter:
			stays = false
		}
		if c.uid != not.uid && healthy && stays {
			n++
		}
	}
	return n
}

// usualNumber is how many healthy targets a binding has while nothing changes.
type usualNumber struct {
	n     int       // 0 when it is not known
	sure  heldCount // of targets that are all wanted and healthy, and were read so
	maybe heldCount // of those that are, while nothing that the registrar knows for sure is about to change
}

// The registrar waits for 30 s without a change; what is between these it may take for that or not.
const (
	modelSettledMaybe  = 15 * time.Second
	modelSettledSurely = 45 * time.Second
)

// heldCount is the least count for as long as something has held.
type heldCount struct {
	least, last int
	since       time.Time // zero while it does not hold
}

// hold notes whether it holds, and the count now. With exact, another count begins anew.
func (h *heldCount) hold(yes bool, n int, exact bool, now time.Time) {
	if !yes || h.since.IsZero() || exact && n != h.last {
		*h = heldCount{least: n, last: n}
		setSince(&h.since, yes, now)
		return
	}
	h.least, h.last = min(h.least, n), n
}

func (h *heldCount) heldFor(d time.Duration, now time.Time) bool {
	return !h.since.IsZero() && now.Sub(h.since) >= d
}

// setSince notes since when something is so, zero when it is not.
func setSince(since *time.Time, yes bool, now time.Time) {
	if !yes {
		*since = time.Time{}
	} else if since.IsZero() {
		*since = now
	}
}

// noteUsual counts. The caller holds AWS's lock and the watch's.
func (w *modelWatch) noteUsual(b *watched, g *modelGroup, now time.Time) {
	u := w.usual[b.UID]
	if u == nil {
		u = &usualNumber{}
		w.usual[b.UID] = u
	}
	n, all, changing := b.countServing(g)
	known := !w.calm.cache.IsZero() && g.protocol == elbv2types.ProtocolEnumHttp && !g.unattached && b.Spec.IsIP()
	u.sure.hold(all && known && n > 0, n, true, now)
	u.maybe.hold(!changing, n, false, now)
	switch {
	case !known && g.protocol != elbv2types.ProtocolEnumHttp:
		u.n = 0
	case u.sure.heldFor(modelSettledSurely, now):
		u.n, u.maybe.least = n, n
	case u.maybe.heldFor(modelSettledMaybe, now):
		u.n = min(u.n, u.maybe.least)
	}
}

// countServing is how many targets are wanted and healthy and have been read so; whether there are no others; and whether a target is on
// its way in or out for sure.
func (b *watched) countServing(g *modelGroup) (n int, all, changing bool) {
	all = true
	for target, c := range b.claims {
		t := g.targets[target]
		in := t != nil && t.health.State != elbv2.StateDraining
		serves := in && t.health.State == elbv2.StateHealthy && t.shown == elbv2.StateHealthy
		switch {
		case c.kind == claimWanted && serves:
			n++
		case c.kind == claimWanted:
			all, changing = false, changing || t == nil || t.shown != elbv2.StateHealthy
		case c.kind == claimLeaving || c.kind == claimReplaced:
			all, changing = all && !in, changing || in && c.kind == claimLeaving
		default:
			all = false
		}
	}
	return n, all, changing
}

// forgetUsual is that of another targetgate, which begins to count.
func (m *model) forgetUsual() {
	m.watch.mu.Lock()
	defer m.watch.mu.Unlock()
	clear(m.watch.usual)
}
