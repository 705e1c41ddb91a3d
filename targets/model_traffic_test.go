// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// The ways in which Kubernetes says that pods get no traffic, for any number of the pods of a Service, and what the rules make of each: the
// target goes, or users are told that it stays.

const (
	modelGateOfOthers corev1.PodConditionType = "example.com/may-serve"
	modelGateOfLB     corev1.PodConditionType = "application-networking.k8s.aws/pod-readiness-gate"
)

func (s podShape) gatesOfOthers() (out []corev1.PodReadinessGate) {
	if s.judged {
		out = append(out, corev1.PodReadinessGate{ConditionType: modelGateOfOthers})
	}
	if s.lattice {
		out = append(out, corev1.PodReadinessGate{ConditionType: modelGateOfLB})
	}
	return out
}

// someGetNone has k of the n pods of an app get no traffic in one of the ways, at once; or has those that got none get traffic again.
func someGetNone(m *model, s step) {
	var pods []*corev1.Pod
	for _, pod := range listOf[*corev1.Pod](m.store) {
		if pod.Name[:2] == serviceName(s.a) && live(pod) {
			pods = append(pods, pod)
		}
	}
	if len(pods) == 0 {
		return
	}
	k := 1 + s.c%len(pods)
	if s.c%3 == 0 {
		k = len(pods)
	}
	for i, pod := range pods[:k] {
		switch own := m.pods[pod.UID]; s.b % 9 {
		case 0:
			own.ready = false
		case 1, 2:
			own.mayServe = false
		case 3:
			own.struck = true
		case 4:
			edit(m.store, pod, func(o *corev1.Pod) { o.Labels["app"] = "debugged" })
		case 5:
			m.deletePod(pod, own.ownGrace()) // a scale-in
		case 6:
			m.deletePod(pod, own.ownGrace())
			m.replace(pod, i)
		case 7: // a leader, and all others stand by
			own.ready = i == s.c%k
		default:
			own.ready, own.mayServe, own.struck = true, true, false
			edit(m.store, pod, func(o *corev1.Pod) { o.Labels["app"] = o.Name[:2] })
		}
	}
}

// closedByOthers reports whether a gate of somebody else holds the pod back.
func closedByOthers(pod *corev1.Pod) bool {
	for _, gate := range pod.Spec.ReadinessGates {
		if gate.ConditionType == modelGateOfOthers && !isTrue(pod, modelGateOfOthers) {
			return true
		}
	}
	return false
}

func allGatesOpen(pod *corev1.Pod) bool {
	for _, gate := range pod.Spec.ReadinessGates {
		if !isTrue(pod, gate.ConditionType) {
			return false
		}
	}
	return true
}

// relabelled reports whether somebody has changed the pod's labels so that no selector of its Service's ever matches.
func relabelled(pod *corev1.Pod) bool { return pod.Labels["app"] != pod.Name[:2] }

// takenOut reports whether somebody has taken the pod out by its labels, or by a gate.
func takenOut(pod *corev1.Pod) bool { return pod != nil && (relabelled(pod) || closedByOthers(pod)) }

const (
	// modelHeld is by when a target goes that somebody holds back, or that nobody replaces.
	modelHeld = 15 * time.Second
	// modelTold is by when users are told of a target that stays.
	modelTold = 25 * time.Second
)

// checkTraffic holds what becomes of a target whose pod gets no traffic against the rules. AWS's lock and the watch's are held.
func (w *modelWatch) checkTraffic(b *watched, c claim, g *modelGroup, calm calm) {
	t := g.targets[c.target]
	if t == nil || t.health.State == elbv2.StateDraining || !b.ours(c.target) || c.pod == nil {
		return
	}
	held := w.held(b.fact(c))
	gone := w.held(b.aloneFact(c)) > modelHeld && !w.twins[c.uid]
	switch {
	case c.kind == claimHeld && held > modelHeld:
		w.breaksLocked("%s of %s, which somebody holds back, is in the group of %s after %s", c.target, c.uid, b.Name, held)
	case c.kind == claimReplaced && w.held(b.relabelledFact(c)) > modelHeld:
		w.breaksLocked("%s of %s, whose labels were changed, is in the group of %s after %s", c.target, c.uid, b.Name, w.held(b.relabelledFact(c)))
	case c.kind == claimLeaving && gone:
		w.breaksLocked("%s of %s, which nobody replaces, is in the group of %s %s later", c.target, c.uid, b.Name, w.held(b.aloneFact(c)))
	case !calm.rest || held < modelTold || time.Since(t.registeredAt) < modelTold || w.twins[c.uid]:
	case c.kind == claimUnready || c.kind == claimReplaced || c.kind == claimLeaving:
		untold := fact(b.UID, string(c.uid), "untold")
		if !b.tells(c.pod.Name) || !w.told.has(c.uid) {
			w.holds(untold)
		}
		if w.held(untold) > 3*time.Second { // it may just have been decided that it goes
			w.breaksLocked("%s of %s, which is %s, stays in the group of %s for %s, and that is not said: event %t, conditions %s",
				c.target, c.uid, c.kind, b.Name, held, w.told.has(c.uid), b.conditions())
		}
	}
}

func (b *watched) conditions() (out string) {
	for _, c := range b.Status.Conditions {
		out += fmt.Sprintf("%s=%s %s: %s. ", c.Type, c.Status, c.Reason, c.Message)
	}
	return out
}

// tells reports whether the binding's status says that the pod's target stays.
func (b *watched) tells(pod string) bool {
	kept := apimeta.FindStatusCondition(b.Status.Conditions, v1beta1.ConditionTargetsKept)
	return kept != nil && kept.Status == metav1.ConditionTrue && strings.Contains(kept.Message, pod)
}

// relabelledFact is that the pod's labels were changed while the registrar looked, which had it in the group.
func (b *watched) relabelledFact(c claim) string { return fact(b.UID, string(c.uid), "relabelled") }

// aloneFact is that the pod is being deleted, and no pod is there that may replace it.
func (b *watched) aloneFact(c claim) string { return fact(b.UID, string(c.uid), "alone") }

// noteTraffic notes facts of a claim, and who serves with whom. AWS's lock and the watch's are held.
func (w *modelWatch) noteTraffic(m *model, b *watched, g *modelGroup) {
	var serving []claim
	service := stored[*corev1.Service](m.store, "shop", b.Spec.ServiceRef.Name)
	bySelector := hasPort(service, b.TargetGroupBinding) && len(service.Spec.Selector) > 0
	for target, c := range b.claims {
		t := g.targets[target]
		if c.pod == nil || t == nil {
			continue
		}
		if c.kind == claimWanted && t.health.State == elbv2.StateHealthy && t.shown == elbv2.StateHealthy {
			serving = append(serving, c)
			if w.held(b.fact(c)) > settledAfter {
				w.holdsOn[fact(b.UID, string(c.uid))] = true
			}
		}
		if bySelector && c.kind == claimReplaced && relabelled(c.pod) && w.holdsOn[fact(b.UID, string(c.uid))] {
			w.holds(b.relabelledFact(c))
		}
		if c.kind == claimLeaving && c.pod.DeletionTimestamp != nil && m.newcomers(c.pod, b, g, true) == 0 {
			w.holds(b.aloneFact(c))
		}
	}
	for _, one := range serving {
		for _, other := range serving {
			w.together[fact(b.UID, string(one.uid), string(other.uid))] = w.now
		}
	}
}

// newcomers are the pods of the same app that live and do not serve: all that may replace the pod, or with maybe false those that surely do.
func (m *model) newcomers(pod *corev1.Pod, b *watched, g *modelGroup, maybe bool) (n int) {
	deletedAt := m.pods[pod.UID].deletedAt
	for _, other := range listOf[*corev1.Pod](m.store) {
		if !live(other) || other.Name[:2] != pod.Name[:2] {
			continue
		}
		serves := false
		for target, c := range b.claims {
			t := g.targets[target]
			serves = serves || c.uid == other.UID && c.kind == claimWanted && t != nil && t.health.State == elbv2.StateHealthy && t.shown == elbv2.StateHealthy
		}
		after := m.pods[other.UID].born.Sub(deletedAt)
		inTime := after > time.Second && after < 4*time.Second // one that comes later may find the target gone
		if !serves && (maybe || inTime) {
			n++
		}
	}
	return n
}

// allReplaced reports whether as many newcomers are surely there as pods of the app are being deleted.
func (m *model) allReplaced(pod *corev1.Pod, b *watched, g *modelGroup) bool {
	leavers, least := 0, 1<<30
	for target, c := range b.claims {
		if t := g.targets[target]; c.kind == claimLeaving && c.pod != nil && t != nil && c.pod.Name[:2] == pod.Name[:2] {
			leavers++
			if c.pod.DeletionTimestamp != nil {
				least = min(least, m.newcomers(c.pod, b, g, false))
			}
		}
	}
	return least >= leavers
}

// servedTogether is how many of those that are in the group surely served together with the pod in the last minute before it stopped.
func (w *modelWatch) servedTogether(b *watched, c claim, g *modelGroup) (n int) {
	stopped := w.together[fact(b.UID, string(c.uid), string(c.uid))]
	if stopped.IsZero() {
		return 0
	}
	for target, other := range b.claims {
		t := g.targets[target]
		counts := other.kind == claimWanted || other.kind == claimUnready || other.kind == claimUnclear
		last := w.together[fact(b.UID, string(c.uid), string(other.uid))]
		if counts && t != nil && t.health.State != elbv2.StateDraining && !last.IsZero() && stopped.Sub(last) < 30*time.Second {
			n++
		}
	}
	return n
}

// tellings are which pods have an event that says that their targets stay.
type tellings struct {
	mu   sync.Mutex
	pods map[types.UID]bool
}

func (l *tellings) has(uid types.UID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pods[uid]
}

// Eventf implements events.EventRecorder.
func (l *tellings) Eventf(on, _ runtime.Object, _, reason, _, note string, _ ...any) {
	if pod, ok := on.(*corev1.Pod); ok && reason == "TargetKept" && note != "" {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.pods[pod.UID] = true
	}
}
