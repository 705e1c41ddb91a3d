// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// How many writes are made side by side, for all bindings together: as many as open gates as a busy API server may be asked
// for, and few remarks, so that of those that stand in a long line most are overtaken by their gates and never written.
const (
	maxOpenings = 128
	maxRemarks  = 2
	maxStatuses = 16
	maxStrays   = 8 // to pods of bindings that do not exist
)

// patchTimeout bounds one write to a pod or of a binding's status.
const patchTimeout = 5 * time.Second

// report has the pods told what the load balancer says of them, counts them, and says what else users should be told. Gates
// of a binding that registers nodes are opened: no pod's health is checked.
func (r *Registrar) report(ctx context.Context, s session, binding *v1beta1.TargetGroupBinding, gated []*corev1.Pod,
	res endpoints.Resolution, p plan, entries map[elbv2.Target]entry,
) (*podCount, map[string]notice) {
	if !binding.Spec.IsIP() {
		r.openGates(s, readiness.NotManaged("spec.targetType is instance: nodes are registered, not pods"))
		return nil, map[string]notice{}
	}
	j := r.newConditionPlanner(s.group, binding, res, p, entries)
	verdicts := j.updates(gated)
	for _, v := range verdicts {
		r.hand(s, j.gate, v)
	}
	s.group.setDetached(j.detachedNow)
	s.group.forgetWrites(j.now)
	count := countPods(gated, res.Endpoints, j.gate)
	count.unlisted = j.unlisted
	told := j.lateNotices(verdicts)
	if count.ungated == 0 {
		return &count, told
	}
	if covered := r.asksForGates(ctx, binding.Namespace); covered != nil {
		missed := missedPods(res.Endpoints, j.gate, covered)
		count.missed = len(missed)
		maps.Copy(told, ungatedNotices(missed, j.gate))
	}
	return &count, told
}

// hand has a condition update written, beside the pass: with hundreds of pods under way the API server takes its time, and no pod
// waits for another one's condition. What opens a gate has a line of its own, ahead of remarks about what a pod waits for;
// a remark that still stands in its line when the gate opens is never written. A write that fails concerns that pod alone
// and pauses before the next; its end wakes the binding.
func (r *Registrar) hand(s session, gate corev1.PodConditionType, v conditionUpdate) {
	if !r.Writer.Needed(v.pod, gate, v.health) {
		return
	}
	turn, ok := s.group.queueWrite(v, r.Clock.Now())
	if !ok {
		return
	}
	line := r.remarks
	if v.opens() {
		line = r.openings
	}
	line.put(func() {
		if s.group.beginWrite(v.pod.UID, turn) {
			r.writeOrPause(s, gate, v)
		}
	})
}

func (r *Registrar) writeOrPause(s session, gate corev1.PodConditionType, v conditionUpdate) {
	err := r.write(s, gate, v)
	countIfFailed(kubernetesFailure, err)
	if err == nil {
		if s.group.endWrite(v, r.Clock.Now(), nil) {
			r.wake(s.key)
		}
		return
	}
	ctrl.LoggerFrom(r.lanes).Error(err, "Writing the condition of a pod, will try again", "pod", klog.KObj(v.pod))
	go func() {
		r.pause(jitter(backoff(apiRetry, s.group.failedWrites(v.pod.UID, err), maxCallBackoff)))
		s.group.endWrite(v, r.Clock.Now(), err)
		r.wake(s.key)
	}()
}

// opens reports whether the update opens the gate.
func (v conditionUpdate) opens() bool { return v.health.Status == corev1.ConditionTrue }

// pendingWrite is what was last written to a pod, or is to be.
type pendingWrite struct {
	turn    int  // its own, of all that the group has handed over
	queued  bool // it stands in the line
	writing bool
	missed  bool // an update came during the write
	health  readiness.Health
	at      time.Time // when it was written, zero before that and after a failure

	refusals  int       // in a row; the last one
	refusedAt time.Time // was then
}

// fresh reports whether it was written so lately that the cache of pods may not show it.
func (w pendingWrite) fresh(now time.Time) bool {
	return !w.at.IsZero() && now.Sub(w.at) < cacheLag
}

// queueWrite takes a place in the line. It returns false when the pod has one already, unless the gate opens now, and when
// the pod was told the same just now.
func (g *group) queueWrite(v conditionUpdate, now time.Time) (turn int, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	last := g.said[v.pod.UID]
	if last.writing {
		last.missed = last.health != v.health
		g.said[v.pod.UID] = last
		return 0, false
	}
	overtakes := v.opens() && last.health.Status != corev1.ConditionTrue
	if last.queued && !overtakes || last.fresh(now) && last.health == v.health {
		return 0, false
	}
	g.turns++
	g.said[v.pod.UID] = pendingWrite{turn: g.turns, queued: true, health: v.health, refusals: last.refusals, refusedAt: last.refusedAt}
	return g.turns, true
}

// beginWrite reports whether the update of that turn is still the one to write.
func (g *group) beginWrite(uid types.UID, turn int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	w := g.said[uid]
	if w.turn != turn || !w.queued {
		return false
	}
	w.queued, w.writing = false, true
	g.said[uid] = w
	return true
}

// endWrite takes the end of a write, and reports whether there is something else to say already.
func (g *group) endWrite(v conditionUpdate, now time.Time, err error) (missed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	last := g.said[v.pod.UID]
	var done pendingWrite
	switch {
	case err == nil:
		done.health, done.at = v.health, now
	case isLasting(err):
		done.refusals, done.refusedAt = last.refusals+1, now
	}
	g.said[v.pod.UID] = done
	return last.missed
}

// failedWrites is how often the pod has refused writes before err in a row, 0 when err is none that lasts: an API server that does
// not answer will, and then no gate waits for long.
func (g *group) failedWrites(uid types.UID, err error) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !isLasting(err) {
		return 0
	}
	return g.said[uid].refusals
}

// isLasting reports whether the API server has answered, and may always answer so: that the pod is as large as an object can be,
// for one.
func isLasting(err error) bool {
	var status apierrors.APIStatus
	return isFinal(err) || errors.As(err, &status) && status.Status().Code == http.StatusInternalServerError
}

// openedNow are the pods whose gates are being opened, or were so lately that the cache may not show it.
func (g *group) openedNow(now time.Time) map[types.UID]bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := map[types.UID]bool{}
	for uid, last := range g.said {
		if last.health.Status == corev1.ConditionTrue && (last.queued || last.writing || last.fresh(now)) {
			out[uid] = true
		}
	}
	return out
}

// openedWithin is what is left of d since the last gate was opened, d while one is being opened, 0 when there is none.
func (g *group) openedWithin(d time.Duration, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	var left time.Duration
	for _, last := range g.said {
		switch {
		case last.health.Status != corev1.ConditionTrue:
		case last.queued || last.writing:
			return d
		default:
			left = max(left, d-now.Sub(last.at))
		}
	}
	return left
}

// forgetWrites forgets those that have failed, but for those of pods that refuse them, and those that the cache shows by now.
func (g *group) forgetWrites(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.DeleteFunc(g.said, func(_ types.UID, last pendingWrite) bool {
		return !last.queued && !last.writing && !last.fresh(now) && now.Sub(last.refusedAt) > 2*maxCallBackoff
	})
}

// pause waits, but not longer than the lanes live.
func (r *Registrar) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-r.lanes.Done():
	case <-timer.C:
	}
}

func (r *Registrar) write(s session, gate corev1.PodConditionType, v conditionUpdate) error {
	ctx, cancel := context.WithTimeout(r.lanes, patchTimeout)
	defer cancel()
	wrote, err := r.Writer.Set(ctx, v.pod, gate, v.health)
	if err != nil {
		return err
	}
	if wrote {
		if v.opens() {
			r.log(s).V(1).Info("Opened readiness gate", "pod", klog.KObj(v.pod), "reason", cmp.Or(v.health.Reason, "its target is healthy"))
		}
		r.tellPod(v, gate)
		r.measure(s, v, gate)
	}
	return nil
}

// gatedPods are the pods that carry the gate of the binding; read only.
func (r *Registrar) gatedPods(key types.NamespacedName) []*corev1.Pod {
	return r.resolver.PodByGate.At(key.Namespace, key.Name)
}
