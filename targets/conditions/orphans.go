// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clientevents "k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/events"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/writes"
)

// orphanHoldOff is how long a pod must be seen without the binding of its gate before the gate is opened for that: the cache of
// bindings may be behind the cache of pods, also when a binding is created again under the name of one that went.
const orphanHoldOff = CacheLag

// Orphans are pods at the gates of bindings that do not exist, or that are being deleted and are no older than the pods. Whoever may
// create pods may make as many as they like, of names that mean nothing: what a pod costs does not depend on its gates, and no
// binding waits for that. Safe for concurrent use.
type Orphans struct {
	pods     *readiness.Writer
	recorder clientevents.EventRecorder
	queue    *writes.Queue[orphanWrite]

	mu      sync.Mutex
	waiting map[types.NamespacedName]map[types.UID]time.Time // by binding and pod, when the gate is to be opened
	opening map[types.UID]*orphan                            // what is to be written, by pod
}

// orphanWrite names one pod.
type orphanWrite struct {
	namespace string
	pod       types.UID
}

// orphan are the gates of one pod that are to be opened.
type orphan struct {
	pod      *corev1.Pod
	bindings map[types.NamespacedName]bool
	failures int // in a row
}

// NewOrphans knows no pod, and writes nothing before Start.
func NewOrphans(pods *readiness.Writer, recorder clientevents.EventRecorder) *Orphans {
	return &Orphans{
		pods: pods, recorder: recorder, queue: writes.NewQueue(writes.Orphans, func(w orphanWrite) string { return w.namespace }),
		waiting: map[types.NamespacedName]map[types.UID]time.Time{}, opening: map[types.UID]*orphan{},
	}
}

// Start has gates opened until ctx ends.
func (o *Orphans) Start(ctx context.Context) { o.queue.Start(ctx, o.open) }

// Due are the pods whose gate is to be opened now. It says how long it is until the next one's is, 0 when none waits. Who is
// due waits again until the cache must show what was written.
func (o *Orphans) Due(binding types.NamespacedName, pods []*corev1.Pod, now time.Time) (due []*corev1.Pod, wait time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.waiting[binding]
	delete(o.waiting, binding)
	for _, pod := range pods {
		if endpoints.IsTerminating(pod) || readiness.IsOpen(pod, readiness.GateFor(binding.Name)) {
			continue
		}
		at, known := before[pod.UID]
		if !known {
			at = now.Add(orphanHoldOff)
		}
		if !now.Before(at) {
			at = now.Add(CacheLag)
			due = append(due, pod)
		}
		if o.waiting[binding] == nil {
			o.waiting[binding] = map[types.UID]time.Time{}
		}
		o.waiting[binding][pod.UID] = at
		wait = retry.Soonest(wait, at.Sub(now))
	}
	return due, wait
}

// Forget is for a binding that exists.
func (o *Orphans) Forget(binding types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.waiting, binding)
}

// Open has the gate of a binding that does not exist opened in the pods after a pause, in one write with their other gates.
func (o *Orphans) Open(binding types.NamespacedName, pods []*corev1.Pod, pause time.Duration) {
	for _, pod := range pods {
		if o.add(binding, pod) {
			o.queue.AddAfter(orphanWrite{pod.Namespace, pod.UID}, pause)
		}
	}
}

// add adds the gate to those of the pod that are to be opened, and reports whether it is the first: then the pod has to be queued.
func (o *Orphans) add(binding types.NamespacedName, pod *corev1.Pod) (first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	one, known := o.opening[pod.UID]
	if !known {
		one = &orphan{pod: pod, bindings: map[types.NamespacedName]bool{}}
		o.opening[pod.UID] = one
	}
	one.bindings[binding] = true
	return !known
}

// take are the bindings whose gates are to be opened now that it is the pod's turn, in the order of their names. One that was
// created meanwhile is left out.
func (o *Orphans) take(uid types.UID) (pod *corev1.Pod, names []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	one := o.opening[uid]
	for binding := range one.bindings {
		if _, orphaned := o.waiting[binding][uid]; orphaned {
			names = append(names, binding.Name)
		}
	}
	slices.Sort(names)
	clear(one.bindings)
	return one.pod, names
}

// done takes the end of a write, and says whether there is another, and after which pause: it doubles from failure to failure.
func (o *Orphans) done(pod *corev1.Pod, names []string, err error) (more bool, pause time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	one := o.opening[pod.UID]
	if err != nil {
		for _, name := range names {
			one.bindings[types.NamespacedName{Namespace: pod.Namespace, Name: name}] = true
		}
		pause = retry.Jitter(retry.Backoff(writes.RetryPause, one.failures, retry.MaxBackoff))
		one.failures++
		return true, pause
	}
	one.failures = 0
	if len(one.bindings) == 0 {
		delete(o.opening, pod.UID)
	}
	return len(one.bindings) > 0, 0
}

// open opens all gates of the pod that are due, in one write.
func (o *Orphans) open(ctx context.Context, key orphanWrite) {
	pod, names := o.take(key.pod)
	gates := make([]corev1.PodConditionType, len(names))
	for i, name := range names {
		gates[i] = readiness.GateFor(name)
	}
	timeout, cancel := context.WithTimeout(ctx, writes.Timeout)
	defer cancel()
	version, err := o.pods.SetAll(timeout, pod, gates, readiness.BindingDeleted())
	retry.CountFailure(retry.Kubernetes, err)
	switch {
	case err != nil:
		ctrl.LoggerFrom(ctx).Error(err, "Failed to open the gates of a pod, will retry", "pod", klog.KObj(pod))
	case version != "":
		ctrl.LoggerFrom(ctx).V(1).Info("Opened readiness gates", "bindings", names, "pod", klog.KObj(pod),
			"reason", readiness.ReasonBindingDeleted)
		events.Normal("ReadinessGateOpened", "OpenReadinessGate", "%s", orphanNote(names, gates)).Record(o.recorder, pod)
	}
	if more, pause := o.done(pod, names, err); more {
		o.queue.AddAfter(key, pause)
	}
}

func orphanNote(names []string, gates []corev1.PodConditionType) string {
	if len(gates) == 1 {
		return fmt.Sprintf("Readiness gate %s is open: %s", gates[0], readiness.BindingDeleted().Message)
	}
	return fmt.Sprintf("%d readiness gates are open, as their TargetGroupBindings do not exist: %s", len(gates), strings.Join(names, ", "))
}
