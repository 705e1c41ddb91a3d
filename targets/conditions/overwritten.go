// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/contest"
	"github.com/targetgate/targetgate/targets/events"
)

// Changed reports whether somebody else has changed the condition of a pod, so that a pass is due: it is neither what we write, or have
// written last, nor older than that. What it said is remembered.
func (w *Writer) Changed(g *Gates, before, after *corev1.Pod) bool {
	was, is := readiness.HealthOf(readiness.Condition(before, g.gate)), readiness.HealthOf(readiness.Condition(after, g.gate))
	if was == is {
		return false
	}
	tell, changed := g.changed(after, was, is, w.clock.Now())
	w.tell(g, tell)
	return changed
}

// changed is Changed. The pod is to be told of if it is not nil.
func (g *Gates) changed(pod *corev1.Pod, was, is readiness.Health, now time.Time) (tell *corev1.Pod, changed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.writes[pod.UID]
	switch {
	case p.isOurs(pod, is):
		return nil, false
	case was == readiness.Health{} || p.isWatched():
		return nil, true
	case p == nil:
		p = &podWrite{}
		g.writes[pod.UID] = p
	}
	return p.lose(pod, was, now), true
}

// isOurs reports whether the pod says what we have written, or what was there before.
func (p *podWrite) isOurs(pod *corev1.Pod, says readiness.Health) bool {
	return p != nil && (says == p.update.Health || says == p.sent || contest.IsBehind(pod.ResourceVersion, p.version))
}

// isWatched reports whether the next pass sees by itself that somebody else has changed the condition.
func (p *podWrite) isWatched() bool {
	return p != nil && (p.version != "" || p.writing || p.queued || p.putBack != nil)
}

// lose notes that somebody else has changed what the pod's condition said. The pod is to be told of if it is not nil.
func (p *podWrite) lose(pod *corev1.Pod, said readiness.Health, now time.Time) (tell *corev1.Pod) {
	contest.Count(contest.Gate)
	pause, isNew := p.contest.Lost(now)
	p.retryAt, p.at, p.version, p.putBack = now.Add(pause), time.Time{}, "", &said
	if isNew {
		return pod
	}
	return nil
}

// See takes in, before a pass, what the cache shows of the pods that carry the gate: that a write has arrived there, or that somebody else
// has written since.
func (w *Writer) See(g *Gates, gated []*corev1.Pod) {
	w.tell(g, g.see(gated, w.clock.Now())...)
}

func (g *Gates) see(gated []*corev1.Pod, now time.Time) (tell []*corev1.Pod) {
	g.mu.Lock()
	defer g.mu.Unlock()
	left := len(g.writes)
	for _, pod := range gated {
		if left == 0 {
			return tell
		}
		p, known := g.writes[pod.UID]
		if !known {
			continue
		}
		left--
		if lost := p.see(pod, g.gate, now); lost != nil {
			tell = append(tell, lost)
		}
	}
	if left > 0 { // of pods that are gone
		g.dropLost(gated)
	}
	return tell
}

func (p *podWrite) see(pod *corev1.Pod, gate corev1.PodConditionType, now time.Time) (tell *corev1.Pod) {
	p.seen = pod.ResourceVersion
	if p.writing || p.queued {
		return nil
	}
	if p.putBack != nil && readiness.Says(pod, gate, *p.putBack) {
		p.putBack = nil
	}
	if p.version == "" || contest.IsBehind(pod.ResourceVersion, p.version) {
		return nil
	}
	if !readiness.Says(pod, gate, p.update.Health) {
		return p.lose(pod, p.update.Health, now)
	}
	p.at, p.version = time.Time{}, ""
	return nil
}

// dropLost forgets what was lost of pods that are gone. The caller holds the lock.
func (g *Gates) dropLost(gated []*corev1.Pod) {
	there := make(map[types.UID]bool, len(gated))
	for _, pod := range gated {
		there[pod.UID] = true
	}
	for uid, p := range g.writes {
		if !there[uid] {
			p.putBack, p.contest = nil, contest.Contest{}
		}
	}
}

// settle takes in that a condition says what it is to say.
func (g *Gates) settle(pod types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p, known := g.writes[pod]; known {
		p.putBack = nil
	}
}

// Lost are the gates whose conditions somebody else has changed, with what these said.
func (g *Gates) Lost() map[types.UID]readiness.Health {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out map[types.UID]readiness.Health
	for uid, p := range g.writes {
		if p.putBack != nil {
			if out == nil {
				out = map[types.UID]readiness.Health{}
			}
			out[uid] = *p.putBack
		}
	}
	return out
}

// tell tells of pods whose conditions somebody else has changed.
func (w *Writer) tell(g *Gates, pods ...*corev1.Pod) {
	for _, pod := range pods {
		if pod != nil {
			events.Warning(contest.Reason, "PutBack", "Somebody else than targetgate has changed or removed the condition %s of the pod. It is "+
				"put back; while that goes on, after 30 s at most each time. Find who writes the pod's status (its managedFields say so)",
				g.gate).Record(w.recorder, pod)
		}
	}
}
