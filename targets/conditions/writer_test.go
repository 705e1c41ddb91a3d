// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clientevents "k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/fixture"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/writes"
)

var (
	web     = types.NamespacedName{Namespace: "shop", Name: "web"}
	opening = readiness.BindingDeleted()
	message = readiness.RegistrationFailed("no")
)

// writerBed is a Writer before an API server in memory.
type writerBed struct {
	*Writer
	orphans *Orphans
	cluster client.Client
	answer  func(*corev1.Pod) error // to a write; nil writes
	after   func()                  // a write and before its answer

	mu       sync.Mutex
	requeued []time.Duration
}

func inWriterBed(t *testing.T, test func(b *writerBed), pods ...client.Object) {
	synctest.Test(t, func(*testing.T) {
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		b := &writerBed{answer: func(*corev1.Pod) error { return nil }, after: func() {}}
		b.cluster = fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(pods...).WithStatusSubresource(&corev1.Pod{}).Build()
		api := interceptor.NewClient(b.cluster.(client.WithWatch), interceptor.Funcs{SubResourcePatch: func(
			ctx context.Context, c client.Client, name string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption,
		) error {
			pod := &corev1.Pod{}
			pod.Name = o.GetName()
			if err := b.answer(pod); err != nil {
				return err
			}
			err := c.SubResource(name).Patch(ctx, o, p, opts...)
			b.after()
			return err
		}})
		b.Writer = NewWriter(&readiness.Writer{Client: api.Status(), Clock: clock.RealClock{}}, clientevents.NewFakeRecorder(100), clock.RealClock{},
			func(types.NamespacedName, time.Duration) {})
		b.Start(ctx, func(_ types.NamespacedName, pause time.Duration) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.requeued = append(b.requeued, pause)
		})
		b.orphans = NewOrphans(b.pods, clientevents.NewFakeRecorder(100))
		b.orphans.Start(ctx)
		test(b)
	})
}

func (b *writerBed) isOpen(t *testing.T, pod *corev1.Pod) bool {
	t.Helper()
	synctest.Wait()
	var now corev1.Pod
	if err := b.cluster.Get(context.Background(), client.ObjectKeyFromObject(pod), &now); err != nil {
		t.Fatal(err)
	}
	return readiness.IsOpen(&now, fixture.Gate)
}

// A progress message that is still queued when the gate opens must not be written after it.
func TestMessageThatIsOvertakenIsNeverWritten(t *testing.T) {
	pod, others := fixture.Pod("web-0", "10.0.0.1"), []client.Object{}
	for i := range writes.Progress {
		others = append(others, fixture.Pod("slow-"+string(rune('a'+i)), "10.0.1.1"))
	}
	inWriterBed(t, func(b *writerBed) {
		tries, slow := 0, make(chan struct{})
		b.answer = func(p *corev1.Pod) error {
			if p.Name != pod.Name {
				<-slow
			} else {
				tries++
			}
			return nil
		}
		g := NewGates(web)
		for _, other := range others {
			b.Write(g, []Update{{Pod: other.(*corev1.Pod), Health: message}})
		}
		b.Write(g, []Update{{Pod: pod, Health: message}})
		synctest.Wait()
		b.Write(g, []Update{{Pod: pod, Health: opening}})
		if !b.isOpen(t, pod) {
			t.Fatal("the gate waits behind messages")
		}
		close(slow)
		if !b.isOpen(t, pod) || tries != 1 {
			t.Errorf("the gate is closed, or %d writes were made to the pod; want the opening alone", tries)
		}
		time.Sleep(CacheLag)
		if b.Write(g, nil); len(g.writes) != 0 {
			t.Errorf("%d writes are remembered", len(g.writes))
		}
	}, append(others, pod)...)
}

// What comes while a write is under way is written after it, and the newest of it.
func TestNewestUpdateIsWrittenAfterTheOneUnderWay(t *testing.T) {
	for name, between := range map[string][]readiness.Health{"at once": nil, "after another": {readiness.RegistrationFailed("another")}} {
		t.Run(name, func(t *testing.T) {
			pod := fixture.Pod("web-0", "10.0.0.1")
			inWriterBed(t, func(b *writerBed) {
				tries, slow := 0, make(chan struct{})
				b.answer = func(*corev1.Pod) error {
					tries++
					<-slow
					return nil
				}
				g := NewGates(web)
				for _, health := range append(append([]readiness.Health{message}, between...), opening) {
					b.Write(g, []Update{{Pod: pod, Health: health}})
					synctest.Wait()
				}
				if tries != 1 {
					t.Errorf("%d writes to one pod at once", tries)
				}
				close(slow)
				if !b.isOpen(t, pod) || tries != 2 {
					t.Errorf("the gate is closed, or %d writes were made; want the message, then the opening", tries)
				}
			}, pod)
		})
	}
}

// An update that was decided from a pod at its closed gate must not close the gate that has been opened meanwhile.
func TestMessageThatComesDuringTheOpeningIsDecidedAnew(t *testing.T) {
	pod := fixture.Pod("web-0", "10.0.0.1")
	inWriterBed(t, func(b *writerBed) {
		slow := make(chan struct{})
		b.answer = func(*corev1.Pod) error {
			<-slow
			return nil
		}
		g := NewGates(web)
		b.Write(g, []Update{{Pod: pod, Health: opening}})
		synctest.Wait()
		b.Write(g, []Update{{Pod: pod, Health: message}})
		close(slow)
		if !b.isOpen(t, pod) || len(b.requeued) != 1 || b.requeued[0] != 0 {
			t.Errorf("the gate is closed, or the binding was requeued after %v; want it open, and requeued at once", b.requeued)
		}
	}, pod)
}

// After a failure a pass decides anew. It must come back for each pod that pauses, and not before its pause is over.
func TestFailedWritePausesAndIsAskedForAgain(t *testing.T) {
	tests := map[string]struct {
		err   error
		pause time.Duration // after the fifth failure in a row, at most
	}{
		"the API server does not answer": {errors.New("no answer"), writes.RetryPause},
		"the pod is too large":           {apierrors.NewRequestEntityTooLargeError("limit"), retry.MaxBackoff},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := fixture.Pod("web-0", "10.0.0.1")
			inWriterBed(t, func(b *writerBed) {
				b.answer = func(*corev1.Pod) error { return tc.err }
				g, updates := NewGates(web), []Update{{Pod: pod, Health: opening}}
				for range 5 {
					b.Write(g, updates)
					synctest.Wait()
					wait := b.Write(g, updates)
					if pause := b.requeued[len(b.requeued)-1]; wait != pause || wait > tc.pause || wait < writes.RetryPause/2 {
						t.Fatalf("requeued after %s, next pass in %s; want both the same and at most %s", pause, wait, tc.pause)
					}
					if !g.Opened(time.Now())[pod.UID] {
						t.Error("during the pause the gate does not count as being opened")
					}
					time.Sleep(wait)
				}
				if last := b.requeued[4]; tc.pause > writes.RetryPause && last <= 4*writes.RetryPause {
					t.Errorf("the fifth pause is %s, want it grown", last)
				}
				if len(b.requeued) != 5 {
					t.Errorf("%d writes, want 5", len(b.requeued))
				}
				b.answer = func(*corev1.Pod) error { return nil }
				b.Write(g, updates)
				if !b.isOpen(t, pod) {
					t.Error("the gate is closed when writes succeed again")
				}
			}, pod)
		})
	}
}

// Rule 8: an admission webhook for one namespace that does not answer delays no other namespace.
func TestWritesThatHangDelayNoOtherNamespace(t *testing.T) {
	writing := func(health readiness.Health) func(*writerBed, types.NamespacedName, []*corev1.Pod) {
		return func(b *writerBed, binding types.NamespacedName, pods []*corev1.Pod) {
			g := NewGates(binding)
			for _, pod := range pods {
				b.Write(g, []Update{{Pod: pod, Health: health}})
			}
		}
	}
	tests := map[string]func(*writerBed, types.NamespacedName, []*corev1.Pod){
		"gates":    writing(opening),
		"messages": writing(message),
		"orphans": func(b *writerBed, binding types.NamespacedName, pods []*corev1.Pod) {
			b.orphans.Due(binding, pods, time.Now())
			b.orphans.Open(binding, pods, 0)
		},
	}
	for name, write := range tests {
		t.Run(name, func(t *testing.T) {
			pod, hanging := fixture.Pod("web-0", "10.0.0.1"), []*corev1.Pod{}
			for i := range 300 {
				hanging = append(hanging, fixture.Pod(fmt.Sprintf("slow-%d", i), "10.0.1.1"))
				hanging[i].Namespace = "slow"
			}
			inWriterBed(t, func(b *writerBed) {
				begun, took, over := time.Now(), time.Duration(0), make(chan struct{})
				defer close(over)
				b.answer = func(p *corev1.Pod) error {
					if p.Name == pod.Name {
						took = time.Since(begun)
						return nil
					}
					select {
					case <-time.After(writes.Timeout):
					case <-over:
					}
					return context.DeadlineExceeded
				}
				write(b, types.NamespacedName{Namespace: "slow", Name: "web"}, hanging)
				synctest.Wait()
				write(b, web, []*corev1.Pod{pod})
				time.Sleep(2 * writes.Timeout)
				synctest.Wait()
				if took == 0 || took > writes.Timeout {
					t.Errorf("written after %s, want it when the first of the others has ended, after %s", took, writes.Timeout)
				}
			}, pod)
		})
	}
}

// What a pod without a binding costs must end with the pod, or when its gates are open.
func TestOrphansAreForgotten(t *testing.T) {
	pod, gone := fixture.Pod("web-0", "10.0.0.1"), fixture.Pod("web-1", "10.0.0.2")
	inWriterBed(t, func(b *writerBed) {
		o, pods := b.orphans, []*corev1.Pod{pod, gone}
		if due, wait := o.Due(web, pods, time.Now()); len(due) > 0 || wait != orphanHoldOff {
			t.Errorf("%d gates are due at once, the next in %s", len(due), wait)
		}
		time.Sleep(orphanHoldOff)
		due, _ := o.Due(web, pods, time.Now())
		o.Open(web, due, time.Millisecond)
		time.Sleep(time.Millisecond)
		if !b.isOpen(t, pod) {
			t.Error("the gate is closed")
		}
		o.Due(web, nil, time.Now())
		if len(o.waiting) > 0 || len(o.opening) > 0 {
			t.Errorf("remembered: %v, %v", o.waiting, o.opening)
		}
	}, pod)
}
