// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	recordutil "k8s.io/client-go/tools/record/util"
	"k8s.io/client-go/tools/reference"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/writes"
)

const (
	// maxQueuedOf is how many events of one namespace are queued: as many as a deployment of that many pods may bring at once. Of more the
	// newest are dropped, and so are those of any namespace beyond maxQueued.
	maxQueuedOf = 10_000
	maxQueued   = 2 * maxQueuedOf
	// dropPause is how often it is logged at most that events are dropped.
	dropPause = time.Minute
	// eventLife is for how long an event is tried again that the API server has not taken.
	eventLife = 2 * time.Minute
)

// Queue is a recorder that writes a few events at a time and keeps none that is written. client-go's recorder starts a
// call for each event at once and keeps each for six minutes: when thousands of pods became Ready together it took a sixth of all
// memory, and its calls delayed those that open gates. Safe for concurrent use.
type Queue struct {
	client   client.Client
	clock    clock.PassiveClock
	instance string
	writes   *writes.Queue[*queuedEvent]

	mu   sync.Mutex
	told time.Time // when it was last logged that events are dropped
}

var _ events.EventRecorder = &Queue{}

type queuedEvent struct {
	name                       string // the same whenever it is tried
	on                         corev1.ObjectReference
	kind, reason, action, note string
	at                         time.Time
}

// NewQueue returns a queue from which nothing is written before Start.
func NewQueue(c client.Client, clk clock.PassiveClock) *Queue {
	host, _ := os.Hostname() // only tells replicas apart
	namespaceOf := func(e *queuedEvent) string { return e.on.Namespace }
	return &Queue{client: c, clock: clk, instance: "targetgate-" + host, writes: writes.NewQueue(writes.Events, namespaceOf)}
}

// Eventf implements events.EventRecorder. It waits for nothing. No event here is related to a second object. The API server
// refuses notes of over 1 kB: they are cut.
func (q *Queue) Eventf(regarding, _ runtime.Object, kind, reason, action, note string, args ...any) {
	on, err := reference.GetReference(q.client.Scheme(), regarding)
	if err != nil {
		ctrl.Log.Error(err, "Failed to refer to the object of an event", "reason", reason)
		return
	}
	now := q.clock.Now()
	e := &queuedEvent{
		recordutil.GenerateEventName(on.Name, now.UnixNano()), *on, kind, reason, action, Cut(fmt.Sprintf(note, args...)), now,
	}
	ctrl.Log.V(1).Info("Event", "type", kind, "reason", reason, "note", e.note, "kind", on.Kind, "namespace", on.Namespace, "name", on.Name)
	q.put(e)
}

func (q *Queue) put(e *queuedEvent) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if all, of := q.writes.Len(), q.writes.LenOf(e.on.Namespace); all < maxQueued && of < maxQueuedOf {
		q.writes.Add(e)
		return
	}
	if e.at.Sub(q.told) >= dropPause {
		q.told = e.at
		ctrl.Log.Info("Dropping events: the API server does not take them fast enough",
			"queued", q.writes.Len(), "reason", e.reason, "namespace", e.on.Namespace)
	}
}

// Start writes events until ctx ends. What is still queued then is lost: another replica leads already, or is about to.
func (q *Queue) Start(ctx context.Context) error {
	q.writes.Start(ctx, q.write)
	<-ctx.Done()
	return nil
}

// write makes one attempt. After one that failed it pauses in its place, as an API server that refuses one event mostly refuses
// all, and the event goes behind the others of its namespace if it may be taken later.
func (q *Queue) write(ctx context.Context, e *queuedEvent) {
	err := q.create(ctx, e)
	if err == nil || apierrors.IsAlreadyExists(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return
	}
	final := writes.IsFinal(err)
	if !final {
		select {
		case <-ctx.Done():
			return
		case <-time.After(retry.Jitter(writes.RetryPause)):
		}
	}
	if final || q.clock.Since(e.at) >= eventLife {
		ctrl.Log.Error(err, "Failed to record an event, will not retry",
			"reason", e.reason, "kind", e.on.Kind, "namespace", e.on.Namespace, "name", e.on.Name)
		return
	}
	q.put(e)
}

func (q *Queue) create(ctx context.Context, e *queuedEvent) error {
	ctx, cancel := context.WithTimeout(ctx, writes.Timeout)
	defer cancel()
	return q.client.Create(ctx, &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.on.Namespace, Name: e.name},
		EventTime:  metav1.NewMicroTime(e.at), Type: e.kind, Reason: e.reason, Action: e.action, Note: e.note, Regarding: e.on,
		ReportingController: "targetgate", ReportingInstance: q.instance,
	})
}
