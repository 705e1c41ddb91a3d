// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"cmp"
	"context"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clientevents "k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/contest"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/writes"
)

// Writer writes conditions of pods beside the passes: with hundreds of pods under way the API server takes its time, and no pod waits
// for another one's condition. Updates that open a gate have a queue of their own, ahead of progress messages; a message that is still
// queued when the gate opens is never written.
type Writer struct {
	pods     *readiness.Writer
	recorder clientevents.EventRecorder
	clock    clock.PassiveClock
	requeue  func(binding types.NamespacedName, pause time.Duration)
	// ready takes how long after its registration a pod's gate was opened.
	ready func(binding types.NamespacedName, took time.Duration)

	gates, progress *writes.Queue[gateWrite]
}

// gateWrite names a condition of one pod.
type gateWrite struct {
	gates *Gates
	pod   types.UID
}

// NewWriter returns a writer that writes nothing before Start.
func NewWriter(pods *readiness.Writer, recorder clientevents.EventRecorder, clk clock.PassiveClock,
	ready func(types.NamespacedName, time.Duration),
) *Writer {
	namespaceOf := func(w gateWrite) string { return w.gates.binding.Namespace }
	return &Writer{
		pods: pods, recorder: recorder, clock: clk, ready: ready,
		gates: writes.NewQueue(writes.Gates, namespaceOf), progress: writes.NewQueue(writes.Progress, namespaceOf),
	}
}

// Start has updates written until ctx ends. Requeue starts another pass over a binding after a pause.
func (w *Writer) Start(ctx context.Context, requeue func(types.NamespacedName, time.Duration)) {
	w.requeue = requeue
	w.gates.Start(ctx, w.write)
	w.progress.Start(ctx, w.write)
}

// Gates is what is being written, or was lately, to the pods of one binding. Safe for concurrent use.
type Gates struct {
	binding types.NamespacedName
	gate    corev1.PodConditionType

	mu     sync.Mutex
	writes map[types.UID]*podWrite
}

// podWrite is what was last written to a pod, or is to be. A queue knows of a key whether it is queued or being written; that is noted here
// all the same, as a pod may be in two queues, and each of them knows nothing of the other.
type podWrite struct {
	update  Update    // the newest
	queued  bool      // it is to be written
	writing bool      // it, or an earlier one, is being written
	at      time.Time // when it was written, zero before that, after a failure, and when the cache shows it

	sent    readiness.Health // what was last sent
	version string           // of the pod as that was written, until the cache shows it; empty when there is none
	seen    string           // the version of the pod that the cache showed last

	refusals int       // in a row, that may last
	retryAt  time.Time // no write before this, after one that failed, or that somebody else has undone

	contest contest.Contest
	putBack *readiness.Health // what the condition said that somebody else has changed, nil for nothing
}

// NewGates returns those of a binding to whose pods nothing was written yet.
func NewGates(binding types.NamespacedName) *Gates {
	return &Gates{binding: binding, gate: readiness.GateFor(binding.Name), writes: map[types.UID]*podWrite{}}
}

// Gate is the type of the condition.
func (g *Gates) Gate() corev1.PodConditionType { return g.gate }

// Write has the updates written that differ from what the pods say. A write that fails concerns that pod alone: after a pause a pass
// decides anew. Write says when the next of these pauses ends, 0 when there is none.
func (w *Writer) Write(g *Gates, updates []Update) (wait time.Duration) {
	now := w.clock.Now()
	for _, u := range updates {
		if !u.PutBack && !w.pods.Needed(u.Pod, g.gate, u.Health) {
			g.settle(u.Pod.UID)
			continue
		}
		if !g.enqueue(u, now) {
			continue
		}
		queue := w.progress
		if u.Opens() {
			queue = w.gates
		}
		queue.Add(gateWrite{g, u.Pod.UID})
	}
	g.prune(now)
	return g.nextRetry(now)
}

// nextRetry is when the next pause after a failed write ends, 0 when there is none.
func (g *Gates) nextRetry(now time.Time) (wait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.writes {
		if left := p.retryAt.Sub(now); left > 0 {
			wait = retry.Soonest(wait, left)
		}
	}
	return wait
}

// enqueue makes the update the one to write, and reports whether it has to be queued: not when the same was written just now, in the
// place of the same condition, nor while a failed write pauses.
func (g *Gates) enqueue(u Update, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	p, known := g.writes[u.Pod.UID]
	if !known {
		p = &podWrite{}
		g.writes[u.Pod.UID] = p
	}
	same := p.update.Health == u.Health && p.update.Replaces.Equal(u.Replaces)
	if (p.fresh(now) || p.writing) && same || now.Before(p.retryAt) {
		return false
	}
	overtakes := u.Opens() && !p.update.Opens()
	wasQueued := p.queued
	p.update, p.queued = u, true
	return !wasQueued || overtakes
}

// fresh reports whether it was written so lately that the cache of pods may not show it.
func (p *podWrite) fresh(now time.Time) bool {
	return !p.queued && !p.at.IsZero() && now.Sub(p.at) < CacheLag
}

// underWay reports whether it is to be written, is being written, or pauses after a failure.
func (p *podWrite) underWay(now time.Time) bool {
	return p.queued || p.writing || now.Before(p.retryAt)
}

// take is the update to write, if it is still to be written and no other write to the pod is under way. First says that nothing was
// written to the pod lately.
func (g *Gates) take(pod types.UID) (u Update, first, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.writes[pod]
	if p == nil || !p.queued || p.writing {
		return Update{}, false, false
	}
	p.queued, p.writing, p.sent = false, true, p.update.Health
	return p.update, p.at.IsZero(), true
}

// done takes the end of the write, with the version of the pod since then. Of the updates that have come meanwhile the newest is written
// if it opens the gate (again). Any other, and all after a failure, is dropped, and the binding requeued after the pause: it was decided
// from a pod without this write. It is requeued, too, when the cache showed already that somebody else has written since.
// Where the API server has answered and may always answer so, the pauses grow: no gate waits for long for one that did not answer.
func (g *Gates) done(u Update, version string, now time.Time, err error) (again, requeue bool, pause time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.writes[u.Pod.UID]
	p.writing = false
	if err == nil {
		p.at, p.version, p.refusals, p.retryAt = now, version, 0, time.Time{}
		if !u.PutBack {
			p.putBack = nil
		}
		if p.queued && p.update.Opens() {
			return true, false, 0
		}
		requeue = p.queued || contest.IsBehind(version, p.seen)
		p.update, p.queued = u, false
		p.update.Pod = nil // the cache has a newer one
		return false, requeue, 0
	}
	failures := 0
	if writes.IsLasting(err) {
		failures = p.refusals
		p.refusals++
	}
	pause = retry.Jitter(retry.Backoff(writes.RetryPause, failures, retry.MaxBackoff))
	p.update, p.queued, p.at, p.version, p.retryAt = u, false, time.Time{}, "", now.Add(pause)
	return false, true, pause
}

// write makes one write, in a place of either queue.
func (w *Writer) write(ctx context.Context, key gateWrite) {
	u, first, ok := key.gates.take(key.pod)
	if !ok {
		return
	}
	version, err := w.set(ctx, key.gates, u, first)
	if err != nil {
		retry.CountFailure(retry.Kubernetes, err)
		ctrl.LoggerFrom(ctx).Error(err, "Failed to write the condition of a pod, will retry", "pod", klog.KObj(u.Pod))
	}
	switch again, requeue, pause := key.gates.done(u, version, w.clock.Now(), err); {
	case again:
		w.gates.Add(key)
	case requeue:
		w.requeue(key.gates.binding, pause)
	}
}

func (w *Writer) set(ctx context.Context, g *Gates, u Update, first bool) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, writes.Timeout)
	defer cancel()
	if u.PutBack {
		return w.pods.PutBack(ctx, u.Pod, g.gate, u.Health)
	}
	version, err = w.pods.Set(ctx, u.Pod, g.gate, u.Health)
	if err != nil || version == "" {
		return "", err
	}
	if u.Opens() {
		ctrl.LoggerFrom(ctx).V(1).Info("Opened readiness gate", "binding", klog.KRef(g.binding.Namespace, g.binding.Name),
			"pod", klog.KObj(u.Pod), "reason", cmp.Or(u.Health.Reason, "its target is healthy"))
	}
	if e, ok := eventOf(u, g.gate); ok {
		e.Record(w.recorder, u.Pod)
	}
	w.measure(g, u, first)
	return version, nil
}

// Opened are the pods whose gates are being opened, or were so lately that the cache may not show it.
func (g *Gates) Opened(now time.Time) map[types.UID]bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := map[types.UID]bool{}
	for uid, p := range g.writes {
		if p.update.Opens() && (p.underWay(now) || p.fresh(now)) || p.putBack != nil && p.putBack.Status == corev1.ConditionTrue {
			out[uid] = true
		}
	}
	return out
}

// prune forgets writes that the cache shows by now, and those that have failed, but for those of pods that refuse them, and those that
// somebody else has undone.
func (g *Gates) prune(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.DeleteFunc(g.writes, func(_ types.UID, p *podWrite) bool {
		return !p.underWay(now) && !p.fresh(now) && now.Sub(p.retryAt) > retry.MaxBackoff && p.putBack == nil && p.contest.IsOver(now)
	})
}
