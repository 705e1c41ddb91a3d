// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/targetgate/targetgate/targets/fixture"
	"github.com/targetgate/targetgate/targets/writes"
)

// eventBed is a queue of events before an API server in memory, in a bubble.
type eventBed struct {
	*Queue
	t       *testing.T
	cluster client.Client
	answer  func(ctx context.Context, try int) error // to an attempt at writing; nil writes
	hangs   string                                   // a namespace whose events are never answered
	tries   atomic.Int32
}

func inEventBed(t *testing.T, test func(b *eventBed)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		b := &eventBed{t: t, answer: func(context.Context, int) error { return nil }}
		b.cluster = fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build()
		b.Queue = NewQueue(interceptor.NewClient(b.cluster.(client.WithWatch), interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if o.GetNamespace() == b.hangs {
					<-ctx.Done()
					return ctx.Err()
				}
				if err := b.answer(ctx, int(b.tries.Add(1))); err != nil {
					return err
				}
				return c.Create(ctx, o, opts...)
			},
		}), clock.RealClock{})
		done := make(chan error)
		go func() { done <- b.Start(ctx) }()
		test(b)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func (b *eventBed) notes() []string {
	b.t.Helper()
	synctest.Wait()
	var list eventsv1.EventList
	if err := b.cluster.List(b.t.Context(), &list); err != nil {
		b.t.Fatal(err)
	}
	var out []string
	for _, e := range list.Items {
		out = append(out, e.Note)
	}
	return out
}

func TestQueueWritesEvents(t *testing.T) {
	inEventBed(t, func(b *eventBed) {
		pod := fixture.Pod("web-0", "10.0.0.1")
		b.Eventf(pod, nil, corev1.EventTypeNormal, "ReadinessGateOpened", "OpenReadinessGate", "Target %s is healthy", "10.0.0.1:8080")
		b.notes()
		var list eventsv1.EventList
		if err := b.cluster.List(t.Context(), &list); err != nil {
			t.Fatal(err)
		}
		want := []eventsv1.Event{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}, EventTime: metav1.NewMicroTime(time.Now().Truncate(time.Microsecond)),
			Type: corev1.EventTypeNormal, Reason: "ReadinessGateOpened", Action: "OpenReadinessGate", Note: "Target 10.0.0.1:8080 is healthy",
			Regarding:           corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "shop", Name: "web-0", UID: pod.UID},
			ReportingController: "targetgate",
		}}
		ignored := []cmp.Option{cmpopts.IgnoreFields(metav1.ObjectMeta{}, "Name", "ResourceVersion"),
			cmpopts.IgnoreFields(eventsv1.Event{}, "TypeMeta", "ReportingInstance")}
		if diff := cmp.Diff(want, list.Items, ignored...); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

func TestQueueTriesAgainWhereThatMayHelp(t *testing.T) {
	invalid := apierrors.NewInvalid(eventsv1.SchemeGroupVersion.WithKind("Event").GroupKind(), "web-0", nil)
	terminating := apierrors.NewForbidden(eventsv1.Resource("events"), "web-0", errors.New("namespace is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	tests := map[string]struct {
		err     error
		fails   int // tries
		written bool
		tries   func(int) bool
	}{
		"the API server restarts":     {errors.New("connection refused"), 5, true, func(n int) bool { return n == 6 }},
		"it has too much to do":       {apierrors.NewTooManyRequests("later", 1), 1, true, func(n int) bool { return n == 2 }},
		"its store does not answer":   {apierrors.NewInternalError(errors.New("etcd")), 1, true, func(n int) bool { return n == 2 }},
		"the token is being replaced": {apierrors.NewUnauthorized("expired"), 1, true, func(n int) bool { return n == 2 }},
		"it never comes back":         {errors.New("connection refused"), 1000, false, func(n int) bool { return n > 50 && n < 100 }},
		"it has the event":            {apierrors.NewAlreadyExists(eventsv1.Resource("events"), "web-0"), 1000, false, func(n int) bool { return n == 1 }},
		"it refuses the event":        {invalid, 1000, false, func(n int) bool { return n == 1 }},
		"the namespace goes":          {terminating, 1000, false, func(n int) bool { return n == 1 }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			inEventBed(t, func(b *eventBed) {
				b.answer = func(_ context.Context, try int) error {
					if try <= tc.fails {
						return tc.err
					}
					return nil
				}
				b.Eventf(fixture.Pod("web-0", "10.0.0.1"), nil, corev1.EventTypeNormal, "Told", "Tell", "once")
				time.Sleep(2 * eventLife)
				if written := len(b.notes()) > 0; written != tc.written || !tc.tries(int(b.tries.Load())) {
					t.Errorf("written: %v, after %d tries; want written: %v", written, b.tries.Load(), tc.written)
				}
			})
		})
	}
}

func TestQueueOutlastsAnAPIServerThatIsAway(t *testing.T) {
	const many = 10 * writes.Events
	inEventBed(t, func(b *eventBed) {
		away := time.Now().Add(time.Minute)
		b.answer = func(ctx context.Context, try int) error {
			switch {
			case time.Now().After(away):
				return nil
			case try%2 == 0:
				return errors.New("connection refused")
			default: // or no answer at all
				<-ctx.Done()
				return ctx.Err()
			}
		}
		for i := range many {
			b.Eventf(fixture.Pod("web-0", "10.0.0.1"), nil, corev1.EventTypeNormal, "Told", "Tell", "%d", i)
			time.Sleep(time.Millisecond) // names are by the time
		}
		time.Sleep(time.Until(away))
		if n, most := int(b.tries.Load()), int(time.Minute/writes.RetryPause)*2*writes.Events; n > most {
			t.Errorf("%d tries while it was away, want %d at most", n, most)
		}
		time.Sleep(writes.Timeout + 2*writes.RetryPause)
		if n := len(b.notes()); n != many {
			t.Errorf("%d events are written, want all %d", n, many)
		}
	})
}

// told queues an event of a pod in the namespace. Names of events are by the time.
func (b *eventBed) told(namespace string) {
	pod := fixture.Pod("web-0", "10.0.0.1")
	pod.Namespace = namespace
	b.Eventf(pod, nil, corev1.EventTypeNormal, "Told", "Tell", "in %s", namespace)
	time.Sleep(time.Millisecond)
}

// An admission webhook of one namespace may let its events hang.
func TestQueueOfHangingNamespaceDelaysNoOther(t *testing.T) {
	inEventBed(t, func(b *eventBed) {
		b.hangs = "hanging"
		for range 100 {
			b.told("hanging")
		}
		for range 60 {
			b.told("shop")
		}
		time.Sleep(writes.Timeout + 2*writes.RetryPause)
		if n := len(b.notes()); n != 60 {
			t.Errorf("%d events are written, want all 60 of the other namespace", n)
		}
	})
}

func TestQueueIsBounded(t *testing.T) {
	inEventBed(t, func(b *eventBed) {
		hang := make(chan struct{})
		b.answer = func(context.Context, int) error { <-hang; return nil }
		for _, want := range []int{maxQueuedOf, 2 * maxQueuedOf, maxQueued} {
			namespace := fmt.Sprint(want)
			for i := range maxQueuedOf + writes.Events + 10 {
				b.told(namespace)
				if i%writes.Events == 0 {
					synctest.Wait()
				}
			}
			if queued, under := b.writes.Len(), int(b.tries.Load()); queued != want || under != writes.Events {
				t.Errorf("%d events are queued and %d being written, want %d and %d", queued, under, want, writes.Events)
			}
		}
		close(hang)
	})
}

// Another namespace has room meanwhile, and so has this one for a moment whenever an event is written.
func TestQueueLogsOnceAMinuteThatItDropsEvents(t *testing.T) {
	inEventBed(t, func(b *eventBed) {
		hang := make(chan struct{})
		b.answer = func(context.Context, int) error { <-hang; return nil }
		for range maxQueuedOf + writes.Events + 10 {
			b.told("full")
		}
		logged := b.Queue.told
		b.told("other")
		b.told("full")
		if !b.Queue.told.Equal(logged) || logged.IsZero() {
			t.Errorf("logged at %s, and at %s", logged, b.Queue.told)
		}
		time.Sleep(dropPause)
		if b.told("full"); b.Queue.told.Equal(logged) {
			t.Error("it is not logged again after a minute")
		}
		close(hang)
	})
}

func TestQueueCutsNotes(t *testing.T) {
	inEventBed(t, func(b *eventBed) {
		b.Eventf(fixture.Pod("web-0", "10.0.0.1"), nil, corev1.EventTypeNormal, "Told", "Tell", "%s", strings.Repeat("long ", 1000))
		if notes := b.notes(); len(notes) != 1 || len(notes[0]) > maxMessage {
			t.Errorf("notes %q, want one of at most %d bytes", notes, maxMessage)
		}
	})
}
