// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/webhook/webhooktest"
)

var webLabels = map[string]string{"app": "web"}

// oldService is one that no binding is expected for any more.
func oldService(name string, selector map[string]string) *corev1.Service {
	return createdAt(webhooktest.NewService(name, selector), time.Now().Add(-time.Hour))
}

// youngService has just been created.
func youngService(name string, selector map[string]string) *corev1.Service {
	return createdAt(webhooktest.NewService(name, selector), time.Now())
}

// countingReader counts how often it is read, and calls reading in the middle of it.
type countingReader struct {
	client.WithWatch
	lists   int
	reading func() error
}

func (r *countingReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	r.lists++
	err := r.WithWatch.List(ctx, list, opts...)
	if r.reading != nil {
		err = errors.Join(err, r.reading())
	}
	return err
}

func newCountingReader(t *testing.T, objects ...client.Object) *countingReader {
	t.Helper()
	return &countingReader{WithWatch: interceptor.NewClient(webhooktest.NewReader(t, objects...).(client.WithWatch), interceptor.Funcs{})}
}

// gatesOf is how many bindings cover a pod of Service web.
func gatesOf(t *testing.T, x *bindingIndex) int {
	t.Helper()
	c, err := x.cover(t.Context(), "shop", webLabels)
	if err != nil {
		t.Fatal(err)
	}
	return len(c.bindings)
}

func TestIndexReadsAgainOnlyWhenSomethingMatters(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(v1beta1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	reader := newCountingReader(t, oldService("web", webLabels), webhooktest.NewBinding("web"))
	x := newBindingIndex(reader, clock.RealClock{})
	informers := &informertest.FakeInformers{Scheme: scheme}
	if err := x.watch(t.Context(), informers); err != nil {
		t.Fatal(err)
	}
	bindings, _ := informers.FakeInformerFor(t.Context(), &v1beta1.TargetGroupBinding{})
	services, _ := informers.FakeInformerFor(t.Context(), &corev1.Service{})
	changed := func(change func(*v1beta1.TargetGroupBinding)) *v1beta1.TargetGroupBinding {
		return webhooktest.NewBinding("web", change)
	}
	tests := map[string]struct {
		event     func()
		wantLists int
	}{
		"nothing": {func() {}, 0},
		"status": {func() {
			bindings.Update(webhooktest.NewBinding("web"), changed(func(b *v1beta1.TargetGroupBinding) {
				b.Status.Targets, b.Status.Conditions = &v1beta1.TargetCounts{Registered: 3}, []metav1.Condition{{Type: "Ready"}}
				b.Status.TargetGroup = &v1beta1.TargetGroupSettings{Protocol: "TCP"} // the spec says HTTP
			}))
		}, 0},
		"resync":               {func() { bindings.Update(webhooktest.NewBinding("web"), webhooktest.NewBinding("web")) }, 0},
		"protocol":             {func() { bindings.Update(webhooktest.NewBinding("web"), changed(ofProtocol("TCP", ""))) }, 2},
		"Service of a binding": {func() { bindings.Update(webhooktest.NewBinding("web"), changed(ofService("other"))) }, 2},
		"a binding begins to go": {func() {
			bindings.Update(webhooktest.NewBinding("web"), changed(func(b *v1beta1.TargetGroupBinding) { b.DeletionTimestamp = ptr.To(metav1.Now()) }))
		}, 2},
		"a binding is gone":        {func() { bindings.Delete(webhooktest.NewBinding("web")) }, 2},
		"a binding comes":          {func() { bindings.Add(webhooktest.NewBinding("new")) }, 2},
		"binding of elsewhere":     {func() { bindings.Add(changed(func(b *v1beta1.TargetGroupBinding) { b.Namespace = "other" })) }, 0},
		"a Service comes":          {func() { services.Add(webhooktest.NewService("new", webLabels)) }, 2},
		"a Service goes":           {func() { services.Delete(webhooktest.NewService("web", webLabels)) }, 2},
		"a Service goes unnoticed": {func() { x.changed(toolscache.DeletedFinalStateUnknown{Key: "shop/web"}) }, 2},
		"selector": {func() {
			services.Update(webhooktest.NewService("web", webLabels), webhooktest.NewService("web", map[string]string{"app": "api"}))
		}, 2},
		"port of a Service": {func() {
			after := webhooktest.NewService("web", webLabels)
			after.Spec.Ports = []corev1.ServicePort{{Port: 80}}
			services.Update(webhooktest.NewService("web", webLabels), after)
		}, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			gatesOf(t, x)
			before := reader.lists
			tc.event()
			for range 3 {
				if got := gatesOf(t, x); got != 1 {
					t.Errorf("%d gates, want 1", got)
				}
			}
			if got := reader.lists - before; got != tc.wantLists {
				t.Errorf("read %d times, want %d", got, tc.wantLists)
			}
		})
	}
}

// What was read while something changed is not kept: the event may have come before the end of the reading.
func TestIndexDropsWhatWasReadDuringAChange(t *testing.T) {
	reader := newCountingReader(t, oldService("web", webLabels), webhooktest.NewBinding("web"))
	x := newBindingIndex(reader, clock.RealClock{})
	reader.reading = func() error {
		x.changed(webhooktest.NewBinding("web"))
		return nil
	}
	gatesOf(t, x)
	if len(x.namespaces) != 0 {
		t.Error("kept what an event has made wrong")
	}
	reader.reading = nil
	gatesOf(t, x)
	if got := gatesOf(t, x); got != 1 || reader.lists != 4 {
		t.Errorf("%d gates after reading %d times, want 1 after 4", got, reader.lists)
	}
}

func TestIndexKeepsNoErrorsAndNoNamespacesOfNothing(t *testing.T) {
	reader := newCountingReader(t, oldService("web", webLabels), webhooktest.NewBinding("web"))
	x := newBindingIndex(reader, clock.RealClock{})
	reader.reading = func() error { return errors.New("no cache") }
	if _, err := x.cover(t.Context(), "shop", webLabels); err == nil {
		t.Error("no error from a broken cache")
	}
	reader.reading = nil
	if got := gatesOf(t, x); got != 1 {
		t.Errorf("%d gates after the cache was mended, want 1", got)
	}
	for i := range 100 {
		if _, err := x.cover(t.Context(), fmt.Sprint("made-up-", i), webLabels); err != nil {
			t.Fatal(err)
		}
	}
	if len(x.namespaces) != 1 {
		t.Errorf("%d namespaces are kept, want 1", len(x.namespaces))
	}
}

// Whoever asks after an event sees the change, however many others ask meanwhile.
func TestIndexNeverGivesOutdatedAnswers(t *testing.T) {
	reader := webhooktest.NewReader(t, oldService("web", webLabels))
	x := newBindingIndex(reader, clock.RealClock{})
	ctx, stop := context.WithCancel(t.Context())
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			for ctx.Err() == nil {
				_, _ = x.cover(ctx, "shop", webLabels)
			}
		})
	}
	for i := range 50 {
		binding := webhooktest.NewBinding(fmt.Sprint("web-", i))
		if err := reader.Create(ctx, binding); err != nil {
			t.Fatal(err)
		}
		x.changed(binding)
		if got := gatesOf(t, x); got != i+1 {
			t.Errorf("%d gates, want %d", got, i+1)
		}
	}
	stop()
	others.Wait()
}

// step is something that happens a while after the test's start.
type step struct {
	at     time.Duration
	create client.Object
}

// A pod that came before the binding or the Service that it depends on waits for it, but not long.
func TestIndexWaitsForWhatIsOnItsWay(t *testing.T) {
	const ms = time.Millisecond
	tests := map[string]struct {
		objects   func() []client.Object
		steps     func() []step
		pods      []time.Duration // when they come
		wantWaits []time.Duration
		wantGates []int
	}{
		"nothing to wait for": {
			objects: func() []client.Object {
				return []client.Object{youngService("web", webLabels), webhooktest.NewBinding("web")}
			},
			pods: []time.Duration{0}, wantWaits: []time.Duration{0}, wantGates: []int{1},
		},
		"the binding comes after the Service": {
			objects: func() []client.Object { return []client.Object{youngService("web", webLabels)} },
			steps:   func() []step { return []step{{100 * ms, webhooktest.NewBinding("web")}} },
			pods:    []time.Duration{0, 50 * ms}, wantWaits: []time.Duration{100 * ms, 50 * ms}, wantGates: []int{1, 1},
		},
		"the Service comes after the binding": {
			objects: func() []client.Object { return []client.Object{webhooktest.NewBinding("web")} },
			steps:   func() []step { return []step{{30 * ms, youngService("web", webLabels)}} },
			pods:    []time.Duration{0, 10 * ms}, wantWaits: []time.Duration{30 * ms, 20 * ms}, wantGates: []int{1, 1},
		},
		"the second of two bindings": {
			objects: func() []client.Object {
				return []client.Object{oldService("old", webLabels), webhooktest.NewBinding("old", ofService("old")), youngService("web", webLabels)}
			},
			steps: func() []step { return []step{{100 * ms, webhooktest.NewBinding("web")}} },
			pods:  []time.Duration{0}, wantWaits: []time.Duration{100 * ms}, wantGates: []int{2},
		},
		"in vain: one deadline for all, and no wait any more afterwards": {
			objects: func() []client.Object { return []client.Object{youngService("web", webLabels)} },
			pods:    []time.Duration{0, 150 * ms, 199 * ms, 201 * ms, time.Second}, wantWaits: []time.Duration{200 * ms, 50 * ms, 1 * ms, 0, 0},
			wantGates: []int{0, 0, 0, 0, 0},
		},
		"in vain for a Service that never comes": {
			objects: func() []client.Object { return []client.Object{webhooktest.NewBinding("web")} },
			pods:    []time.Duration{0, time.Hour}, wantWaits: []time.Duration{200 * ms, 0}, wantGates: []int{0, 0},
		},
		"a change gives hope again, but not to the one who waits already": {
			objects: func() []client.Object { return []client.Object{webhooktest.NewBinding("web")} },
			steps:   func() []step { return []step{{150 * ms, oldService("other", map[string]string{"app": "api"})}} },
			pods:    []time.Duration{0, 160 * ms, time.Second}, wantWaits: []time.Duration{200 * ms, 190 * ms, 0}, wantGates: []int{0, 0, 0},
		},
		"a settled namespace whose Service has no binding": {
			objects: func() []client.Object { return []client.Object{oldService("web", webLabels)} },
			pods:    []time.Duration{0}, wantWaits: []time.Duration{0}, wantGates: []int{0},
		},
		"a young Service that does not select the pod": {
			objects: func() []client.Object { return []client.Object{youngService("web", map[string]string{"app": "api"})} },
			pods:    []time.Duration{0}, wantWaits: []time.Duration{0}, wantGates: []int{0},
		},
		"a young Service with a binding of nodes": {
			objects: func() []client.Object {
				return []client.Object{youngService("web", webLabels), webhooktest.NewBinding("web", func(b *v1beta1.TargetGroupBinding) {
					b.Spec.TargetType = ptr.To(v1beta1.TargetTypeInstance)
				})}
			},
			pods: []time.Duration{0}, wantWaits: []time.Duration{0}, wantGates: []int{0},
		},
		"a Service of tomorrow, by a clock that goes wrong": {
			objects: func() []client.Object {
				return []client.Object{createdAt(webhooktest.NewService("web", webLabels), time.Now().Add(24*time.Hour))}
			},
			pods: []time.Duration{0, time.Second}, wantWaits: []time.Duration{200 * ms, 0}, wantGates: []int{0, 0},
		},
		"a namespace of nothing": {
			objects: func() []client.Object { return nil },
			pods:    []time.Duration{0}, wantWaits: []time.Duration{0}, wantGates: []int{0},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reader := webhooktest.NewReader(t, tc.objects()...)
				x := newBindingIndex(reader, clock.RealClock{})
				if tc.steps != nil {
					for _, s := range tc.steps() {
						time.AfterFunc(s.at, func() {
							_ = reader.Create(context.Background(), s.create)
							x.changed(s.create)
						})
					}
				}
				waits, gates := make([]time.Duration, len(tc.pods)), make([]int, len(tc.pods))
				for i, at := range tc.pods {
					time.AfterFunc(at, func() {
						begin := time.Now()
						c, _ := x.cover(context.Background(), "shop", webLabels)
						waits[i], gates[i] = time.Since(begin), len(c.bindings)
					})
				}
				time.Sleep(2 * time.Hour)
				synctest.Wait()
				if fmt.Sprint(waits) != fmt.Sprint(tc.wantWaits) || fmt.Sprint(gates) != fmt.Sprint(tc.wantGates) {
					t.Errorf("waited %v, got %v gates; want %v, %v", waits, gates, tc.wantWaits, tc.wantGates)
				}
			})
		})
	}
}

func TestIndexDoesNotWaitForACallerThatHasGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newBindingIndex(webhooktest.NewReader(t, webhooktest.NewBinding("web")), clock.RealClock{})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		begin := time.Now()
		if _, err := x.cover(ctx, "shop", webLabels); err != nil || time.Since(begin) != 20*time.Millisecond {
			t.Errorf("returned %v after %s, want no error after 20ms", err, time.Since(begin))
		}
	})
}
