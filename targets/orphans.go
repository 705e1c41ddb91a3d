// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/endpoints"
)

// cacheLag is longer than one cache is ever behind another.
const cacheLag = 15 * time.Second

// orphanHoldOff is how long a pod must be seen without the binding of its gate before the gate is opened for that: the cache of
// bindings may be behind the cache of pods, also when a binding is created again under the name of one that went.
const orphanHoldOff = cacheLag

// orphans are pods at the gates of bindings that do not exist, or that are being deleted and are no older than the pods. Whoever may
// create pods may make as many as they like, of names that mean nothing: what a pod costs does not depend on its gates, and no
// binding waits for that.
type orphans struct {
	mu      sync.Mutex
	waiting map[types.NamespacedName]map[types.UID]time.Time // by binding and pod, when the gate is to be opened
	handed  map[types.UID]*handedOrphan                      // what is to be written, by pod
}

// handedOrphan are the gates of one pod that are to be opened. There is one write at a time.
type handedOrphan struct {
	pod      *corev1.Pod
	bindings map[types.NamespacedName]bool
	failures int // in a row
}

func newOrphans() *orphans {
	return &orphans{waiting: map[types.NamespacedName]map[types.UID]time.Time{}, handed: map[types.UID]*handedOrphan{}}
}

// orphaned opens the gates of a binding that does not exist, beside the pass.
func (r *Registrar) orphaned(key types.NamespacedName) ctrl.Result {
	deleteGauges(key)
	r.mu.Lock()
	delete(r.groups, key)
	r.mu.Unlock()
	r.resolver.Holders.Hold(key, nil)
	r.resolver.Selectors.Drop(key)
	due, wait := r.orphans.due(key, r.gatedPods(key), r.Clock.Now())
	for _, pod := range due {
		if r.orphans.hand(key, pod) {
			r.openLater(pod.UID, debounceInterval) // with its other gates, which are due at the same time
		}
	}
	return ctrl.Result{RequeueAfter: wait}
}

// due are the pods whose gate is to be opened now. It says how long it is until the next one's is, 0 when none waits. Who is
// due waits again until the cache must show what was written.
func (o *orphans) due(key types.NamespacedName, pods []*corev1.Pod, now time.Time) (due []*corev1.Pod, wait time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.waiting[key]
	delete(o.waiting, key)
	for _, pod := range pods {
		if endpoints.IsTerminating(pod) || readiness.IsOpen(pod, readiness.GateFor(key.Name)) {
			continue
		}
		at, known := before[pod.UID]
		if !known {
			at = now.Add(orphanHoldOff)
		}
		if !now.Before(at) {
			at = now.Add(cacheLag)
			due = append(due, pod)
		}
		if o.waiting[key] == nil {
			o.waiting[key] = map[types.UID]time.Time{}
		}
		o.waiting[key][pod.UID] = at
		wait = soonest(wait, at.Sub(now))
	}
	return due, wait
}

// forget is for a binding that exists.
func (o *orphans) forget(key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.waiting, key)
}

// hand adds the gate to those of the pod that are to be opened, and reports whether the pod has to be put into the line.
func (o *orphans) hand(key types.NamespacedName, pod *corev1.Pod) (first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	there, known := o.handed[pod.UID]
	if !known {
		there = &handedOrphan{pod: pod, bindings: map[types.NamespacedName]bool{}}
		o.handed[pod.UID] = there
	}
	there.bindings[key] = true
	return !known
}

// take are the bindings whose gates are to be opened now that it is the pod's turn, in the order of their names. One that was
// created meanwhile is left out.
func (o *orphans) take(uid types.UID) (pod *corev1.Pod, names []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	there := o.handed[uid]
	for key := range there.bindings {
		if _, orphaned := o.waiting[key][uid]; orphaned {
			names = append(names, key.Name)
		}
	}
	slices.Sort(names)
	clear(there.bindings)
	return there.pod, names
}

// done takes the end of a write, and says whether there is another, and after which pause: it doubles from failure to failure.
func (o *orphans) done(pod *corev1.Pod, names []string, err error) (more bool, pause time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	there := o.handed[pod.UID]
	if err != nil {
		for _, name := range names {
			there.bindings[types.NamespacedName{Namespace: pod.Namespace, Name: name}] = true
		}
		pause = jitter(backoff(apiRetry, there.failures, maxCallBackoff))
		there.failures++
		return true, pause
	}
	there.failures = 0
	if len(there.bindings) == 0 {
		delete(o.handed, pod.UID)
	}
	return len(there.bindings) > 0, 0
}

// openOrphan opens all gates of the pod that are due, in one write.
func (r *Registrar) openOrphan(uid types.UID) {
	pod, names := r.orphans.take(uid)
	gates := make([]corev1.PodConditionType, len(names))
	for i, name := range names {
		gates[i] = readiness.GateFor(name)
	}
	ctx, cancel := context.WithTimeout(r.lanes, patchTimeout)
	defer cancel()
	wrote, err := r.Writer.SetAll(ctx, pod, gates, readiness.BindingDeleted())
	switch {
	case err != nil:
		countIfFailed(kubernetesFailure, err)
		ctrl.LoggerFrom(r.lanes).Error(err, "Opening the gates of a pod, will try again", "pod", klog.KObj(pod))
	case wrote:
		r.Recorder.Eventf(pod, nil, corev1.EventTypeNormal, "ReadinessGateOpened", "OpenReadinessGate", "%s", orphanNote(names, gates))
	}
	if more, pause := r.orphans.done(pod, names, err); more && r.lanes.Err() == nil {
		r.openLater(uid, pause)
	}
}

func (r *Registrar) openLater(uid types.UID, pause time.Duration) {
	time.AfterFunc(pause, func() { r.strays.put(func() { r.openOrphan(uid) }) })
}

func orphanNote(names []string, gates []corev1.PodConditionType) string {
	if len(gates) == 1 {
		return fmt.Sprintf("Readiness gate %s is open: %s", gates[0], readiness.BindingDeleted().Message)
	}
	return fmt.Sprintf("%d readiness gates are open, as their TargetGroupBindings do not exist: %s", len(gates), strings.Join(names, ", "))
}
