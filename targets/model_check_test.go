// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// How long the registrar has for what the rules ask of it while nothing is disturbed.
const (
	modelDeparture   = 10 * time.Second
	modelArrival     = 20 * time.Second
	modelOpening     = 15 * time.Second
	modelUnready     = 25 * time.Second
	modelUnreadyKept = 50 * time.Second // since too few were healthy last: a reading and the pause behind it
	modelLie         = 15 * time.Second // a status may say for so long what is not so
)

// calm says whether nothing that a promise leaves out has been disturbed lately.
type calm struct{ departures, rest, cache bool }

func (m *model) calm(now time.Time) calm {
	since := func(t time.Time) time.Duration { return now.Sub(t) }
	departures := since(m.unsettled.aws) > 25*time.Second && since(m.unsettled.cache) > 15*time.Second && since(m.upSince) > 15*time.Second
	rest := departures && since(m.unsettled.aws) > 45*time.Second && since(m.unsettled.writes) > 45*time.Second
	rest = rest && since(m.upSince) > 25*time.Second
	return calm{departures, rest, since(m.unsettled.cache) > 15*time.Second && since(m.upSince) > 15*time.Second}
}

// check looks for promises that were not kept in time.
func (m *model) check(now time.Time) {
	m.look(now)
	w, calm := &m.watch, m.calm(now)
	m.aws.mu.Lock()
	w.mu.Lock()
	setSince(&w.calm.departures, calm.departures, now)
	setSince(&w.calm.cache, calm.cache, now)
	for i := range w.bindings {
		b := &w.bindings[i]
		g := m.aws.groups[b.Spec.TargetGroupARN]
		if g.gone || g.foreign || g.denied || !b.acting {
			delete(w.usual, b.UID)
			continue
		}
		w.noteUsual(b, g, now)
		w.holds(fact(b.UID, "usable"))
		w.noteTraffic(m, b, g)
		if enough(b.claims, g) {
			w.holds(fact(b.UID, "enough"))
		} else if b.someUnready() {
			w.excuses[fact(b.UID, "unready kept")] = now // that others are healthy again is only found by the next reading
		}
		if calm.departures && w.held(fact(b.UID, "usable")) > 45*time.Second {
			m.checkGroup(b, g, calm)
		}
	}
	for key := range w.since {
		if !w.seen[key] {
			delete(w.since, key)
		}
	}
	w.mu.Unlock()
	m.aws.mu.Unlock()
}

func (m *model) checkGroup(b *watched, g *modelGroup, calm calm) {
	w := &m.watch
	for target, c := range b.claims {
		t := g.targets[target]
		in := t != nil && t.health.State != elbv2.StateDraining
		if in && !g.unattached && t.health.State == elbv2.StateHealthy {
			w.holds(fact(b.UID, string(c.uid), "healthy"))
		}
		held := w.held(b.fact(c))
		w.checkTraffic(b, c, g, calm)
		switch {
		case in && c.kind == claimLeaving && w.missed(b, c, t, w.now) && b.ours(target):
			w.breaksLocked("%s of %s, which had to leave by %s, is in the group of %s", target, c.uid, w.leaving[c.uid].by.Format(clockTime), b.Name)
		case in && c.kind == claimLeaving && w.held(b.dueFact(c)) > modelDeparture && b.ours(target):
			w.breaksLocked("%s of %s, which leaves, is in the group of %s %s after it was due", target, c.uid, b.Name, w.held(b.dueFact(c)))
		case in && c.kind == claimUnready && held > modelUnready && w.held(fact(b.UID, "enough")) > modelUnready && b.ours(target) &&
			time.Since(w.excuses[fact(b.UID, "unready kept")]) > modelUnreadyKept:
			w.breaksLocked("%s of %s, which is not ready, is in the group of %s after %s", target, c.uid, b.Name, held)
		case !calm.rest:
		case !in && time.Since(g.touched) < testDrift+time.Minute: // is found out by the next look for drift
		case !in && c.kind == claimWanted && held > modelArrival:
			w.breaksLocked("%s of %s is not in the group of %s after %s", target, c.uid, b.Name, held)
		case in && c.kind == claimWanted && held > modelOpening && w.held(fact(b.UID, string(c.uid), "healthy")) > modelOpening &&
			time.Since(t.registeredAt) > modelOpening+30*time.Second && closedGate(b, c) && !m.isLost(c.uid, readiness.GateFor(b.Name)):
			w.breaksLocked("the gate of %s for %s is closed, healthy for %s", c.uid, b.Name, w.held(fact(b.UID, string(c.uid), "healthy")))
		}
		if calm.rest && !in && c.kind == claimWanted && held > modelLie && time.Since(g.touched) > testDrift+time.Minute &&
			apimeta.IsStatusConditionTrue(b.Status.Conditions, v1beta1.ConditionReady) {
			w.holds(fact(b.UID, "lie"))
		}
	}
	if held := w.held(fact(b.UID, "lie")); held > modelLie {
		w.breaksLocked("the status of %s has said Ready for %s while a target is not registered", b.Name, held)
	}
}

func (b *watched) someUnready() bool {
	for _, c := range b.claims {
		if c.kind == claimUnready {
			return true
		}
	}
	return false
}

func closedGate(b *watched, c claim) bool {
	return c.pod != nil && readiness.Has(c.pod, readiness.GateFor(b.Name)) && !isTrue(c.pod, readiness.GateFor(b.Name))
}

// wrongs are what is not as it has to be at the end, when everything has come to rest.
func (m *model) wrongs() []string {
	w := &m.watch
	m.aws.mu.Lock()
	defer m.aws.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	out := wrongList{}
	if m.someNodeEnds() {
		out.add("a node is about to end")
	}
	for i := range w.bindings {
		b := &w.bindings[i]
		g := m.aws.groups[b.Spec.TargetGroupARN]
		switch {
		case b.DeletionTimestamp != nil && !g.denied:
			out.add("binding %s is being deleted for ever", b.Name)
		case b.acting && !g.gone && !g.foreign && !g.denied:
			out.addGroup(b, g)
		}
	}
	for _, pod := range listOf[*corev1.Pod](m.store) {
		out.addGates(w, m, pod)
	}
	return out
}

type wrongList []string

func (l *wrongList) add(format string, args ...any) { *l = append(*l, fmt.Sprintf(format, args...)) }

func (l *wrongList) addGroup(b *watched, g *modelGroup) {
	fine, some := !g.unattached, false
	for target, c := range b.claims {
		t := g.targets[target]
		in := t != nil && t.health.State != elbv2.StateDraining
		switch {
		case c.kind == claimWanted && !in:
			l.add("%s of %s is not in the group of %s", target, c.uid, b.Name)
		case in && !b.ours(target) && c.kind != claimWanted:
		case in && c.kind == claimReplaced && c.pod == nil && c.nodeEnds && !b.nodesServe(g): // stays until as many others serve
		case in && (c.kind == claimLeaving || c.kind == claimReplaced):
			l.add("%s of %s, which is %s, is in the group of %s", target, c.uid, c.kind, b.Name)
		case in && c.kind == claimHeld:
			l.add("%s of %s, which is held back, is in the group of %s", target, c.uid, b.Name)
		case in && c.kind == claimUnready && enough(b.claims, g):
			l.add("%s of %s, which is unready, is in the group of %s", target, c.uid, b.Name)
		}
		some = some || c.kind == claimWanted
		fine = fine && (c.kind == claimWanted && t != nil && t.health.State == elbv2.StateHealthy || c.kind == claimReplaced || c.kind == claimHeld)
	}
	for target, t := range g.targets {
		_, claimed := b.claims[target]
		switch {
		case g.outsiders[target] || t.health.State == elbv2.StateDraining:
		case !claimed && (g.unclear[target] || g.unattached): // nobody can tell whose it is
		case !claimed && b.ours(target):
			l.add("%s, which is nobody's, is in the group of %s", target, b.Name)
		case claimed && b.record != nil && !b.record[target.String()] && b.claims[target].kind == claimWanted:
			l.add("%s is in the shared group of %s and not written down", target, b.Name)
		}
	}
	l.addStatus(b, fine && some)
}

// nodesServe reports whether as many wanted nodes are healthy as healthy ones wait for others because they are about to end.
func (b *watched) nodesServe(g *modelGroup) bool {
	serve, wait := 0, 0
	for target, c := range b.claims {
		switch t := g.targets[target]; {
		case t == nil || t.health.State != elbv2.StateHealthy:
		case c.kind == claimWanted:
			serve++
		case c.kind == claimReplaced && c.nodeEnds:
			wait++
		}
	}
	return serve > 0 && serve >= wait
}

// addStatus holds the status against the truth, where that is simple.
func (l *wrongList) addStatus(b *watched, fine bool) {
	ready := apimeta.FindStatusCondition(b.Status.Conditions, v1beta1.ConditionReady)
	degraded := apimeta.FindStatusCondition(b.Status.Conditions, v1beta1.ConditionDegraded)
	switch {
	case ready == nil || degraded == nil:
		l.add("binding %s has no conditions", b.Name)
	case fine && (ready.Status != metav1.ConditionTrue || degraded.Status != metav1.ConditionFalse):
		l.add("binding %s: nothing is wrong, and its status says %s: %s; %s: %s", b.Name, ready.Reason, ready.Message, degraded.Reason, degraded.Message)
	}
}

func (l *wrongList) addGates(w *modelWatch, m *model, pod *corev1.Pod) {
	if !live(pod) {
		return
	}
	for _, gate := range pod.Spec.ReadinessGates {
		name, ours := strings.CutPrefix(string(gate.ConditionType), "target-health.elbv2.k8s.aws/")
		if !ours || isTrue(pod, gate.ConditionType) {
			continue
		}
		must := ""
		for i := range w.bindings {
			if b := &w.bindings[i]; b.Name == name && b.acting {
				must = m.mustOpen(b, pod)
			}
		}
		for _, reason := range []string{"TargetGroupBindingDeleted", "TargetGroupBindingNotManaged", "BackendNotFound", "ServiceDoesNotSelectPod"} {
			if at, ever := w.excuses[fact(pod.UID, name, reason)]; ever && at.Equal(w.now) {
				must = reason
			}
		}
		if must != "" {
			l.add("the gate %s of %s is closed: %s", name, pod.UID, must)
		} else if c := conditionOf(pod, gate.ConditionType); isTrue(pod, corev1.ContainersReady) && m.nodeReady(pod) && (c == nil || c.Reason == "") {
			l.add("the gate %s of %s is closed and nothing says why", name, pod.UID)
		}
	}
}

func (m *model) nodeReady(pod *corev1.Pod) bool {
	return nodeReadyIn(stored[*corev1.Node](m.store, "", pod.Spec.NodeName)) == corev1.ConditionTrue
}

// mustOpen says why the gate of a pod must be open by what the load balancer says. The caller holds AWS's lock.
func (m *model) mustOpen(b *watched, pod *corev1.Pod) string {
	g := m.aws.groups[b.Spec.TargetGroupARN]
	for target, c := range b.claims {
		t := g.targets[target]
		switch {
		case c.uid != pod.UID || c.kind != claimWanted || t == nil || g.denied || g.gone || g.foreign:
		case g.unattached:
			return "no load balancer is attached"
		case t.health.State == elbv2.StateHealthy:
			return "it is healthy"
		}
	}
	return ""
}
