// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// modelMaxLag is how late caches are at most; the registrar counts on less than conditions.CacheLag.
const modelMaxLag = 10 * time.Second

// settledAfter is how long a fact must hold before the model holds the registrar to it.
const settledAfter = modelMaxLag + 2*time.Second

// modelWatch is what the model knows of the last moments. Calls of the registrar's ask it, too.
type modelWatch struct {
	mu       sync.Mutex
	broken   string // the first rule that was broken, and how
	now      time.Time
	since    map[string]time.Time // since when facts hold
	seen     map[string]bool      // facts that hold now
	bindings []watched
	excuses  map[string]time.Time // when a gate last had a reason of rule 4 to open
	placed   map[types.UID]time.Time
	twins    map[types.UID]bool // pods that once lived at one address with another
	leaving  map[types.UID]departure
	owned    map[types.UID]map[string]bool         // by binding of a shared group: see noteOwned
	usual    map[types.UID]*usualNumber            // by binding
	lost     map[string]corev1.PodCondition        // conditions of open gates that somebody else has changed, ever
	calm     struct{ departures, cache time.Time } // since when, zero when it is not
	holdsOn  map[string]bool                       // by binding and pod: the registrar had it in the group, and knows why
	together map[string]time.Time                  // by binding and two pods: when they last served together
	told     *tellings
}

// watched is a binding as of the last tick.
type watched struct {
	*v1beta1.TargetGroupBinding
	acting bool
	claims map[elbv2.Target]claim
	record map[string]bool // of a shared group
	owned  map[string]bool // of a shared group
}

func (w *modelWatch) init() {
	w.since, w.excuses, w.placed = map[string]time.Time{}, map[string]time.Time{}, map[types.UID]time.Time{}
	w.twins, w.leaving, w.usual = map[types.UID]bool{}, map[types.UID]departure{}, map[types.UID]*usualNumber{}
	w.owned, w.lost = map[types.UID]map[string]bool{}, map[string]corev1.PodCondition{}
	w.holdsOn, w.together, w.told = map[string]bool{}, map[string]time.Time{}, &tellings{pods: map[types.UID]bool{}}
	w.now = time.Now()
}

// break notes the first rule that is broken.
func (w *modelWatch) breaks(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.breaksLocked(format, args...)
}

func (w *modelWatch) breaksLocked(format string, args ...any) {
	if w.broken == "" {
		w.broken = fmt.Sprintf(format, args...)
	}
}

func (m *model) violation() string {
	m.watch.mu.Lock()
	defer m.watch.mu.Unlock()
	return m.watch.broken
}

// holds notes a fact that holds now.
func (w *modelWatch) holds(fact string) {
	w.seen[fact] = true
	if _, known := w.since[fact]; !known {
		w.since[fact] = w.now
	}
}

// held is how long a fact has held by now.
func (w *modelWatch) held(fact string) time.Duration {
	since, ok := w.since[fact]
	if !ok {
		return -1
	}
	return time.Since(since)
}

func fact[T ~string](uid T, rest ...string) string {
	return string(uid) + "/" + strings.Join(rest, "/")
}

func (b *watched) fact(c claim) string { return fact(b.UID, string(c.uid), string(c.kind)) }

// dueFact is that the pod leaves and can wait no longer.
func (b *watched) dueFact(c claim) string { return fact(b.UID, string(c.uid), "due") }

// removableFact is that the target may be deregistered for another reason than that its pod leaves and is replaced.
func (b *watched) removableFact(c claim) string { return fact(b.UID, string(c.uid), "removable") }

// unselectedFact is that the pod or node may not be asked for any more.
func (b *watched) unselectedFact(c claim) string { return fact(b.UID, string(c.uid), "unselected") }

// look notes what holds now, and forgets what does not any more.
func (m *model) look(now time.Time) {
	m.noteDepartures(now)
	bindings := m.bindings("")
	excused := map[string]bool{}
	pods, nodes := listOf[*corev1.Pod](m.store), listOf[*corev1.Node](m.store)
	for _, pod := range pods {
		for _, gate := range pod.Spec.ReadinessGates {
			name, ours := strings.CutPrefix(string(gate.ConditionType), "target-health.elbv2.k8s.aws/")
			if !ours {
				continue
			}
			for reason, yes := range m.excused(pod, name) {
				excused[fact(pod.UID, name, reason)] = yes
			}
		}
	}
	w := &m.watch
	m.aws.mu.Lock()
	defer m.aws.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now, w.seen, w.bindings = now, map[string]bool{}, bindings
	for key, yes := range excused {
		if yes {
			w.excuses[key] = now
		}
	}
	for _, pod := range pods {
		w.placed[pod.UID] = m.pods[pod.UID].placed
	}
	w.noteTwins(pods)
	for _, node := range nodes {
		if len(node.Spec.Taints) > 0 {
			w.holds(nodeLeaves(node.Name))
		}
	}
	for i := range bindings {
		b := &bindings[i]
		w.noteOwned(b, m.aws.groups[b.Spec.TargetGroupARN])
		if b.acting {
			w.holds(fact(b.UID, "acting"))
		}
		for _, c := range b.claims {
			w.holds(b.fact(c))
			if c.kind == claimReplaced || c.kind == claimUnclear {
				w.holds(b.unselectedFact(c))
			}
			switch {
			case c.kind == claimLeaving && !now.Before(w.leaving[c.uid].by):
				w.holds(b.dueFact(c))
				w.excuses[b.removableFact(c)] = now
			case c.kind != claimWanted && c.kind != claimLeaving:
				w.excuses[b.removableFact(c)] = now
			}
		}
	}
}

// noteOwned notes which targets of a shared group are the binding's own: what was written down for it is until it leaves the group, whatever
// the record says since then. AWS's lock and the watch's are held.
func (w *modelWatch) noteOwned(b *watched, g *modelGroup) {
	if b.record == nil {
		return
	}
	b.owned = maps.Clone(b.record)
	for target, t := range g.targets {
		stays := t.health.State != elbv2.StateDraining && !t.forgettable
		if name := target.String(); stays && w.owned[b.UID][name] {
			b.owned[name] = true
		}
	}
	w.owned[b.UID] = b.owned
}

// noteTwins notes which pods live at one address. The caller holds the watch's lock.
func (w *modelWatch) noteTwins(pods []*corev1.Pod) {
	at := map[string]types.UID{}
	for _, pod := range pods {
		if ended(pod) || len(pod.Status.PodIPs) == 0 {
			continue
		}
		if other, taken := at[pod.Status.PodIPs[0].IP]; taken {
			w.twins[pod.UID], w.twins[other] = true, true
		}
		at[pod.Status.PodIPs[0].IP] = pod.UID
	}
}

// bindings are those of a target group as they are now, or all.
func (m *model) bindings(arn string) []watched {
	var out []watched
	for _, b := range listOf[*v1beta1.TargetGroupBinding](m.store) {
		if arn == "" || b.Spec.TargetGroupARN == arn {
			out = append(out, watched{b, m.acting(b), m.claims(b), m.record(b), nil})
		}
	}
	return out
}

// nodeLeaves is the fact that a node has a taint that says that it is about to end: the model's nodes have no others.
func nodeLeaves(name string) string { return fact(name, "leaves") }

// record are the targets that are written down for the binding, nil when its group is not shared.
func (m *model) record(b *v1beta1.TargetGroupBinding) map[string]bool {
	if !b.Spec.MultiClusterTargetGroup {
		return nil
	}
	out := map[string]bool{}
	if written := stored[*corev1.ConfigMap](m.store, "shop", "aws-lbc-targets-"+b.Name); written != nil {
		for _, target := range strings.Split(written.Data["targets"], ",") {
			out[target] = true
		}
	}
	return out
}

// ours reports whether the binding may deregister the target.
func (b *watched) ours(target elbv2.Target) bool { return b.record == nil || b.owned[target.String()] }

// deregistering holds a deregistration against the rules.
func (m *model) deregistering(arn string, g *modelGroup, target elbv2.Target) {
	w, bindings := &m.watch, m.bindings(arn)
	w.mu.Lock()
	defer w.mu.Unlock()
	deleted := slices.ContainsFunc(bindings, func(b watched) bool { return b.DeletionTimestamp != nil })
	// A group without a load balancer does not tell of those that answer, and what two readings leave out is not there.
	excused := deleted && g.unattached || g.targets[target].wasForgotten && !g.serving[target]
	if g.outsiders[target] && !excused {
		w.breaksLocked("%s of another cluster was deregistered from %s", target, arn)
	}
	for i := range bindings {
		b := &bindings[i]
		if !b.acting || w.held(fact(b.UID, "acting")) < settledAfter {
			continue
		}
		c, claimed := b.claims[target]
		if !claimed || g.targets[target].registeredAt.Before(w.placed[c.uid]) {
			continue
		}
		if c.kind == claimLeaving {
			w.checkDeparture(m, b, c, g)
			continue
		}
		if w.held(b.fact(c)) < settledAfter {
			continue
		}
		if why := w.protects(b, c, g); why != "" {
			w.breaksLocked("%s of %s was deregistered for binding %s although %s", target, c.uid, b.Name, why)
		}
	}
}

// protects says why the rules keep the target in the group, empty when they do not.
func (w *modelWatch) protects(b *watched, c claim, g *modelGroup) string {
	now := time.Now()
	settled := func(c claim) bool { return w.held(b.fact(c)) >= settledAfter }
	switch c.kind {
	case claimWanted:
		return "it is ready and selected"
	case claimUnready:
		// That somebody else has deregistered targets is not known before the next reading.
		if of := w.servedTogether(b, c, g); now.Sub(g.touched) > testDrift && 2*mayServe(b.claims, g, now, settled) < of {
			return fmt.Sprintf("too few others are healthy of the %d that served together", of)
		}
	case claimReplaced:
		// A target that was registered for a twin goes with that.
		if w.held(b.unselectedFact(c)) < testPolicy.ReplacementTimeout-settledAfter && !b.replaced(c, g, settled) && !w.twins[c.uid] && !takenOut(c.pod) {
			return "what replaces it is not healthy"
		}
	}
	return ""
}

// replaced reports whether there are wanted targets, and all are healthy, or were lately. What is not settled may be a wanted one for all
// that the registrar knows. Of nodes one is enough, and it is enough for a node that is not healthy itself that there are others.
func (b *watched) replaced(old claim, g *modelGroup, settled func(claim) bool) bool {
	before := g.targets[old.target]
	some, enough := false, old.pod != nil || before.health.State != elbv2.StateHealthy || before.shown != elbv2.StateHealthy
	for target, c := range b.claims {
		t := g.targets[target]
		switch {
		case !settled(c), c.kind == claimWanted && t != nil && time.Since(t.healthyAt) < 45*time.Second:
			some, enough = true, true
		case c.kind == claimUnclear:
			some = true
		case c.kind != claimWanted:
		case c.pod == nil && t != nil:
			some = true
		default:
			return false
		}
	}
	return some && enough
}

// conditionWritten holds the write of a gate's condition against the rules.
func (m *model) conditionWritten(pod *corev1.Pod, c corev1.PodCondition) {
	w := &m.watch
	before := conditionOf(pod, c.Type)
	wasTrue := before != nil && before.Status == corev1.ConditionTrue
	if wasTrue && c.Status != corev1.ConditionTrue {
		w.breaks("the gate %s of %s was closed again: %s", c.Type, pod.UID, c.Reason)
	}
	if wasTrue || c.Status != corev1.ConditionTrue {
		return
	}
	if w.wasOpen(pod.UID, c) {
		return
	}
	name, _ := readiness.BindingOf(c.Type)
	if c.Reason == "" {
		if !m.foundHealthy(pod, name) {
			w.breaks("the gate %s of %s was opened without a healthy reading of its own", c.Type, pod.UID)
		}
		return
	}
	w.mu.Lock()
	last, ever := w.excuses[fact(pod.UID, name, c.Reason)]
	w.mu.Unlock()
	if (!ever || time.Since(last) > settledAfter) && !m.excused(pod, name)[c.Reason] {
		w.breaks("the gate %s of %s was opened for %s, which is not so", c.Type, pod.UID, c.Reason)
	}
}

// foundHealthy reports whether a reading has found the pod's target healthy by a check that this pod has answered, after its
// registration. The binding may have gone since: all groups are looked at.
func (m *model) foundHealthy(pod *corev1.Pod, _ string) bool {
	m.aws.mu.Lock()
	defer m.aws.mu.Unlock()
	for _, g := range m.aws.groups {
		for target, shown := range g.lastShown {
			if len(pod.Status.PodIPs) > 0 && target.ID == pod.Status.PodIPs[0].IP && (shown.uid == pod.UID || m.isTwin(pod, shown.uid)) {
				return true
			}
		}
	}
	return false
}

// isTwin reports whether the pod lives or has lived at that address beside the other: a check cannot tell them apart.
func (m *model) isTwin(pod *corev1.Pod, uid types.UID) bool {
	other := m.pods[uid]
	return other != nil && other.twins == m.pods[pod.UID].twins
}
