// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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
)

const (
	// maxQueuedEvents is as many as a deployment of that many pods may bring at once. Of more the newest are dropped.
	maxQueuedEvents = 10_000
	// maxEventWrites is how many events are written side by side: they are the last to hold up an API server that has
	// gates to open.
	maxEventWrites = 8
	// eventLife is for how long an event is tried again that the API server has not taken.
	eventLife = 2 * time.Minute
)

// EventQueue is a recorder that writes a few events at a time and keeps none that is written. client-go's recorder starts a
// call for each event at once and keeps each for six minutes: thousands of pods that become Ready together made it a sixth of
// all memory, and its calls stood in the way of those that open gates. Safe for concurrent use.
type EventQueue struct {
	client   client.Client
	clock    clock.PassiveClock
	instance string
	queue    chan *queuedEvent

	mu       sync.Mutex
	dropping bool
}

var _ events.EventRecorder = &EventQueue{}

type queuedEvent struct {
	name                       string // the same whenever it is tried
	on                         corev1.ObjectReference
	kind, reason, action, note string
	at                         time.Time
}

// NewEventQueue returns a queue from which nothing is written before Start.
func NewEventQueue(c client.Client, clk clock.PassiveClock) *EventQueue {
	host, _ := os.Hostname() // only tells replicas apart
	return &EventQueue{client: c, clock: clk, instance: "targetgate-" + host, queue: make(chan *queuedEvent, maxQueuedEvents)}
}

// Eventf implements events.EventRecorder. It waits for nothing. No event here is related to a second object. The API server
// refuses notes of over 1 kB: they are cut.
func (q *EventQueue) Eventf(regarding, _ runtime.Object, kind, reason, action, note string, args ...any) {
	on, err := reference.GetReference(q.client.Scheme(), regarding)
	if err != nil {
		ctrl.Log.Error(err, "Event about something without a reference", "reason", reason)
		return
	}
	now := q.clock.Now()
	e := &queuedEvent{
		recordutil.GenerateEventName(on.Name, now.UnixNano()), *on, kind, reason, action, cut(fmt.Sprintf(note, args...)), now,
	}
	ctrl.Log.V(1).Info("Event", "type", kind, "reason", reason, "note", e.note, "kind", on.Kind, "namespace", on.Namespace, "name", on.Name)
	q.put(e)
}

func (q *EventQueue) put(e *queuedEvent) {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case q.queue <- e:
		q.dropping = false
	default:
		if !q.dropping {
			ctrl.Log.Info("The API server takes no more events, dropping some", "queued", len(q.queue), "reason", e.reason)
		}
		q.dropping = true
	}
}

// Start writes events until ctx ends. What is still queued then is lost: another replica leads already, or is about to.
func (q *EventQueue) Start(ctx context.Context) error {
	var writers sync.WaitGroup
	for range maxEventWrites {
		writers.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case e := <-q.queue:
					q.write(ctx, e)
				}
			}
		})
	}
	writers.Wait()
	if n := len(q.queue); n > 0 {
		ctrl.Log.Info("Leaving with events that were not written", "queued", n)
	}
	return nil
}

// write makes one attempt. After one that failed its writer pauses, as an API server that refuses one event mostly refuses
// all, and the event goes to the end of the queue if it may be taken later.
func (q *EventQueue) write(ctx context.Context, e *queuedEvent) {
	err := q.create(ctx, e)
	if err == nil || apierrors.IsAlreadyExists(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return
	}
	final := isFinal(err)
	if !final {
		select {
		case <-ctx.Done():
			return
		case <-time.After(jitter(apiRetry)):
		}
	}
	if final || q.clock.Since(e.at) >= eventLife {
		ctrl.Log.Error(err, "Event was not recorded", "reason", e.reason, "kind", e.on.Kind, "namespace", e.on.Namespace, "name", e.on.Name)
		return
	}
	q.put(e)
}

func (q *EventQueue) create(ctx context.Context, e *queuedEvent) error {
	ctx, cancel := context.WithTimeout(ctx, patchTimeout)
	defer cancel()
	return q.client.Create(ctx, &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.on.Namespace, Name: e.name},
		EventTime:  metav1.NewMicroTime(e.at), Type: e.kind, Reason: e.reason, Action: e.action, Note: e.note, Regarding: e.on,
		ReportingController: "targetgate", ReportingInstance: q.instance,
	})
}

// isFinal reports whether the API server will never take what it has refused.
func isFinal(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code/100 == 4 && code != http.StatusTooManyRequests && code != http.StatusUnauthorized
}
