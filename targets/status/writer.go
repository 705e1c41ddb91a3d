// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/contest"
	"github.com/targetgate/targetgate/targets/events"
	"github.com/targetgate/targetgate/targets/report"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/targets/writes"
)

// Writer writes the statuses of bindings beside the passes: an API server that is slow delays no gate. Events follow the
// write.
type Writer struct {
	client   client.Client
	clock    clock.PassiveClock
	reporter report.Reporter
	requeue  func(types.NamespacedName, time.Duration)
	queue    *writes.Queue[statusWrite]
}

// statusWrite names the status of one binding.
type statusWrite struct {
	namespace string
	status    *Status
}

// NewWriter returns a writer that writes nothing before Start.
func NewWriter(c client.Client, clk clock.PassiveClock, reporter report.Reporter) *Writer {
	queue := writes.NewQueue(writes.Statuses, func(w statusWrite) string { return w.namespace })
	return &Writer{client: c, clock: clk, reporter: reporter, queue: queue}
}

// Start has statuses written until ctx ends: requeue starts another pass over a binding after a pause.
func (w *Writer) Start(ctx context.Context, requeue func(types.NamespacedName, time.Duration)) {
	w.requeue = requeue
	w.queue.Start(ctx, w.send)
}

// Status is what one binding's status says and is to say. Safe for concurrent use.
type Status struct {
	mu      sync.Mutex
	written *v1beta1.TargetGroupBindingStatus // as we wrote it last, or found it right at first, nil before
	sending *v1beta1.TargetGroupBindingStatus // what is being written, nil when nothing is
	next    *pendingWrite                     // what is queued, nil when nothing is

	differsSince time.Time // since when what passes see differs from that, zero when it does not
	retryAt      time.Time // no write before this, where the status may differ from written: a write failed, or Drop; zero otherwise
	announced    int64     // the newest generation that an event has called reconciled

	networkingTold string // the reason of the last event about missing inbound rules, empty when none is missing

	version   string    // of the binding with the status as we wrote it last, empty before
	writtenAt time.Time // when that was
	seen      string    // the version of the binding that a pass saw while a status was on its way
	lost      string    // the version of the binding with a status that somebody else has changed
	contest   contest.Contest
}

// pendingWrite is a status of a binding that is to be written.
type pendingWrite struct {
	binding *v1beta1.TargetGroupBinding
	old     []metav1.Condition // the conditions that it replaces
	status  *v1beta1.TargetGroupBindingStatus
}

// Write has what a pass has seen written if it differs from what we wrote last, or somebody else has changed that, and says when to come
// back for what may pass.
func (w *Writer) Write(s *Status, binding *v1beta1.TargetGroupBinding, in Input) time.Duration {
	now := w.clock.Now()
	if s.see(binding, now) {
		w.reporter.Event(binding, overwritten)
	}
	old := s.latest(&binding.Status)
	wanted := old.DeepCopy()
	fillStatus(wanted, binding, in, metav1.NewTime(now).Rfc3339Copy()) // as the API server answers it
	report.SetGauges(client.ObjectKeyFromObject(binding), wanted, in.Pods)
	wait, due := s.plan(binding, old, wanted, now)
	if due {
		w.queue.Add(statusWrite{binding.Namespace, s})
	}
	return wait
}

// latest is the status as it is or will be when all writes are made; that in the cache before the first.
func (s *Status) latest(cached *v1beta1.TargetGroupBindingStatus) *v1beta1.TargetGroupBindingStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.next != nil:
		return s.next.status
	case s.sending != nil:
		return s.sending
	case s.written != nil:
		return s.written
	default:
		return cached
	}
}

// plan reports whether the status is to be written now instead of the old one, and when to come back otherwise (0: no need to).
func (s *Status) plan(binding *v1beta1.TargetGroupBinding, old, wanted *v1beta1.TargetGroupBindingStatus, now time.Time) (
	wait time.Duration, due bool,
) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sure := s.retryAt.IsZero()
	if sure && equality.Semantic.DeepEqual(old, wanted) {
		s.differsSince = time.Time{}
		s.adopt(wanted)
		return 0, false
	}
	if s.differsSince.IsZero() {
		s.differsSince = now
	}
	if wait := targetgroup.Brief - now.Sub(s.differsSince); wait > 0 && sure && mayPass(*old, *wanted) {
		return wait, false
	}
	if now.Before(s.retryAt) {
		return s.retryAt.Sub(now), false
	}
	replaces := old.Conditions
	if s.next != nil {
		replaces = s.next.old
	}
	s.next, s.differsSince = &pendingWrite{binding, replaces, wanted}, time.Time{}
	return 0, true
}

// Drop has what is queued not written, and reports whether a write is under way. Someone else may write the status then: the next one
// is written whatever we wrote last.
func (s *Status) Drop(now time.Time) (underWay bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = nil
	if s.retryAt.IsZero() {
		s.retryAt = now
	}
	return s.sending != nil
}

// mayPass reports whether the statuses say the same but for their counts, and for calls under way where there were none.
func mayPass(before, after v1beta1.TargetGroupBindingStatus) bool {
	before.Targets, before.Pods = after.Targets, after.Pods
	after.Conditions = slices.Clone(after.Conditions)
	was := apimeta.FindStatusCondition(before.Conditions, v1beta1.ConditionReady)
	is := apimeta.FindStatusCondition(after.Conditions, v1beta1.ConditionReady)
	if was != nil && was.Status == metav1.ConditionTrue && is.Reason == v1beta1.ReasonReconciling {
		*is = *was
	}
	return equality.Semantic.DeepEqual(before, after)
}

// send makes one write, in a place of the queue.
func (w *Writer) send(ctx context.Context, queued statusWrite) {
	s := queued.status
	write := s.take()
	if write == nil {
		return
	}
	key := client.ObjectKeyFromObject(write.binding)
	version, err := w.patch(ctx, key, write.binding.UID, write.status)
	retry.CountFailure(retry.Kubernetes, err)
	told, again, pause := s.done(write, version, w.clock.Now(), err)
	for _, e := range told {
		w.reporter.Event(write.binding, e)
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to write the status of a binding, will retry", "binding", klog.KObj(write.binding))
	}
	if again {
		w.requeue(key, pause)
	}
}

// take is what is to be written, nil when nothing is left.
func (s *Status) take() *pendingWrite {
	s.mu.Lock()
	defer s.mu.Unlock()
	write := s.next
	if write != nil {
		s.sending, s.next = write.status, nil
	}
	return write
}

// done takes the end of the write, with the version of the binding since then. It returns the events to record, that of a failure only
// after a success, and whether a pass is due, after which pause: after a failure, when what is queued is dropped, and when a pass has seen
// already that somebody else has written since.
func (s *Status) done(write *pendingWrite, version string, now time.Time, err error) (
	told []events.Event, again bool, pause time.Duration,
) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sending = nil
	if err != nil {
		if s.retryAt.IsZero() {
			told = []events.Event{events.Warning("FailedUpdateStatus", "UpdateStatus", "%v", err)}
		}
		pause = retry.Jitter(writes.RetryPause)
		s.next, s.retryAt = nil, now.Add(pause)
		return told, true, pause
	}
	s.written, s.retryAt, s.version, s.writtenAt = write.status, time.Time{}, version, now
	return s.eventsOf(write.old, write.status.Conditions), contest.IsBehind(version, s.seen), 0
}

// patch replaces the whole status, whatever is known of the one that is there, and that of no other binding than the
// one with the UID. A binding that is gone is no error. It returns the version of the binding since then.
func (w *Writer) patch(ctx context.Context, key types.NamespacedName, uid types.UID, status *v1beta1.TargetGroupBindingStatus) (
	version string, err error,
) {
	ctx, cancel := context.WithTimeout(ctx, writes.Timeout)
	defer cancel()
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": uid},
		{"op": "add", "path": "/status", "value": status},
	})
	if err != nil {
		return "", fmt.Errorf("encoding status: %w", err)
	}
	answer := &v1beta1.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	err = w.client.Status().Patch(ctx, answer, client.RawPatch(types.JSONPatchType, patch))
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("writing status: %w", err)
	}
	return answer.ResourceVersion, nil
}
