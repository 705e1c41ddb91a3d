// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Rule 5 begins here: what wakes a binding.
func TestPodChanged(t *testing.T) {
	tests := map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"deletion":                 {func(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(metav1.Now()) }, true},
		"end":                      {func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, true},
		"containers no more ready": {func(p *corev1.Pod) { p.Status.Conditions = nil }, true},
		"labels":                   {func(p *corev1.Pod) { p.Labels = nil }, true},
		"another of that name":     {func(p *corev1.Pod) { p.UID = "second" }, true},
		"address":                  {func(p *corev1.Pod) { p.Status.PodIPs = nil }, true},
		"gate": {func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: testGate, Status: corev1.ConditionTrue})
		}, true},
		"network interface of its own": {func(p *corev1.Pod) {
			p.Annotations = map[string]string{endpoints.PodENIAnnotation: "[]"}
		}, true},
		"leaves at once, as its owner says now": {func(p *corev1.Pod) {
			p.Annotations = map[string]string{v1beta1.KeepUntilReplacedAnnotation: "false"}
		}, true},
		"may stay, as it might before": {func(p *corev1.Pod) {
			p.Annotations = map[string]string{v1beta1.KeepUntilReplacedAnnotation: "true"}
		}, false},
		"annotation":   {func(p *corev1.Pod) { p.Annotations = map[string]string{"a": "b"} }, false},
		"other status": {func(p *corev1.Pod) { p.Status.StartTime = ptr.To(metav1.Now()) }, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before, after := newPod("web-0", "10.0.0.1"), newPod("web-0", "10.0.0.1")
			tc.change(after)
			if got := podChanged(kept(t, before), kept(t, after)); got != tc.want {
				t.Errorf("let through: %v, want %v", got, tc.want)
			}
		})
	}
}

// Rule 5: what leaves already may have to go sooner.
func TestPodThatLeavesChanged(t *testing.T) {
	deleted := func(end time.Duration, phase corev1.PodPhase) *corev1.Pod {
		pod := newPod("web-0", "10.0.0.1")
		pod.DeletionTimestamp, pod.Status.Phase = ptr.To(metav1.NewTime(time.Unix(1000, 0).Add(end))), phase
		return pod
	}
	before := deleted(time.Minute, corev1.PodRunning)
	for name, tc := range map[string]struct {
		after *corev1.Pod
		want  bool
	}{
		"nothing":               {deleted(time.Minute, corev1.PodRunning), false},
		"a second deletion":     {deleted(time.Second, corev1.PodRunning), true},
		"it has ended":          {deleted(time.Minute, corev1.PodFailed), true},
		"a longer grace period": {deleted(time.Hour, corev1.PodRunning), false},
	} {
		if got := podChanged(before, tc.after); got != tc.want {
			t.Errorf("%s: let through: %v, want %v", name, got, tc.want)
		}
	}
}

// kept is the pod as the cache has it.
func kept(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	stripped, err := endpoints.StripPod(pod)
	if err != nil {
		t.Fatal(err)
	}
	return stripped.(*corev1.Pod)
}

func TestLabelChanged(t *testing.T) {
	plain, asks := &corev1.Namespace{}, &corev1.Namespace{}
	asks.Labels = map[string]string{readiness.InjectLabel: readiness.InjectEnabled}
	other := asks.DeepCopy()
	other.Labels["team"] = "shop"
	for name, tc := range map[string]struct {
		before, after *corev1.Namespace
		want          bool
	}{"gates are asked for": {plain, asks, true}, "and no longer": {asks, plain, true}, "another label, which a selector may ask for": {asks, other, true},
		"none": {asks, asks.DeepCopy(), false}} {
		t.Run(name, func(t *testing.T) {
			if got := labelChanged().Update(event.UpdateEvent{ObjectOld: tc.before, ObjectNew: tc.after}); got != tc.want {
				t.Errorf("let through: %v, want %v", got, tc.want)
			}
		})
	}
}

func TestBindingsOfNamespace(t *testing.T) {
	elsewhere := newBinding()
	elsewhere.Namespace = "elsewhere"
	inBed(t, func(b *bed) {
		got := b.watcher().bindingsOfNamespace(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
		if diff := cmp.Diff([]reconcile.Request{{NamespacedName: webKey}}, got); diff != "" {
			t.Errorf("bindings (-want +got):\n%s", diff)
		}
	}, elsewhere)
}

func TestBindingsOfPod(t *testing.T) {
	tests := map[string]struct {
		change func(*corev1.Pod)
		want   []reconcile.Request
	}{
		"gated and selected":          {func(*corev1.Pod) {}, []reconcile.Request{{NamespacedName: webKey}}},
		"gated, no longer selected":   {func(p *corev1.Pod) { p.Labels = nil }, []reconcile.Request{{NamespacedName: webKey}}},
		"selected without a gate":     {func(p *corev1.Pod) { p.Spec.ReadinessGates = nil }, []reconcile.Request{{NamespacedName: webKey}}},
		"registered, neither of both": {func(p *corev1.Pod) { p.Spec.ReadinessGates, p.Labels = nil, nil }, []reconcile.Request{{NamespacedName: webKey}}},
		"a stranger": {func(p *corev1.Pod) {
			p.Spec.ReadinessGates, p.Labels, p.Status.PodIPs = nil, nil, []corev1.PodIP{{IP: "10.0.0.9"}}
		}, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			inBed(t, func(b *bed) {
				b.aws.SetHealth(testARN, one, healthy)
				b.settle()
				pod := newPod("web-0", "10.0.0.1")
				tc.change(pod)
				if diff := cmp.Diff(tc.want, unique(b.watcher().bindingsOfPod(t.Context(), pod)), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("bindings (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Anybody may list a pod in slices of as many Services as they like. One goroutine handles the events of all namespaces' pods.
func TestBindingsOfAPodInSlicesOfManyServices(t *testing.T) {
	const most = 17 // lists
	for _, others := range []int{0, fewServices - 1, fewServices, 10 * most} {
		t.Run(fmt.Sprint(others), func(t *testing.T) {
			pod, second := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")
			pod.Spec.ReadinessGates, pod.Spec.NodeName, second.Spec.NodeName = nil, "node-1", "node-1"
			objects := []client.Object{pod, second, newSlice("web-1", pod)}
			for n := range others {
				slice := newSlice(fmt.Sprint("other-", n), pod, second)
				slice.Labels = map[string]string{discoveryv1.LabelServiceName: slice.Name}
				objects = append(objects, slice)
			}
			inBed(t, func(b *bed) {
				b.watch()
				lists := 0
				b.intercept(interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
					lists++
					return c.List(ctx, list, opts...)
				}})
				want := []reconcile.Request{{NamespacedName: webKey}}
				if diff := cmp.Diff(want, b.watcher().bindingsOfPod(t.Context(), pod)); diff != "" || lists > most {
					t.Errorf("%d lists, want %d at most; bindings of the pod (-want +got):\n%s", lists, most, diff)
				}
				lists = 0
				got := b.watcher().bindingsOfNode(t.Context(), newNode("node-1", "i-01", corev1.ConditionTrue))
				if diff := cmp.Diff(want, got); diff != "" || lists > most+1 {
					t.Errorf("%d lists, want %d at most; bindings of its node (-want +got):\n%s", lists, most, diff)
				}
			}, objects...)
		})
	}
}

// At the start all bindings come by themselves. What there is beside them wakes none, as each of many objects may concern each of many
// bindings, and controller-runtime waits 2 minutes for all. Later they do.
func TestObjectsOfTheFirstListWakeNoBinding(t *testing.T) {
	const instances = "instances"
	kind := v1beta1.TargetTypeInstance
	ofNodes := newBinding()
	ofNodes.Name, ofNodes.UID, ofNodes.Spec.TargetType, ofNodes.Spec.ServiceRef.Name = instances, instances, &kind, instances
	ofNodes.Spec.TargetGroupARN += instances
	gated, plain := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")
	gated.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: readiness.GateFor("gone")}}
	plain.Spec.ReadinessGates = nil
	slice := newSlice("web-1", gated, plain)
	handlers := map[string]struct {
		events      func(*watcher) handler.EventHandler
		object      client.Object
		first, late []string
	}{
		"Node":          {(*watcher).nodeEvents, newNode("node-1", "i-01", corev1.ConditionTrue), nil, []string{instances}},
		"EndpointSlice": {(*watcher).sliceEvents, slice, nil, []string{"web"}},
		"Service":       {func(w *watcher) handler.EventHandler { return requeue(w.bindingsOfService) }, newService(), nil, []string{"web"}},
		"pod":           {(*watcher).podEvents, plain, nil, []string{"web"}},
		"gated pod":     {(*watcher).podEvents, gated, []string{"gone"}, []string{"gone", "web"}}, // nothing else tells of a binding that is gone
	}
	for name, tc := range handlers {
		t.Run(name, func(t *testing.T) {
			inBed(t, func(b *bed) {
				b.watch()
				for _, isFirst := range []bool{true, false} {
					queue := b.watcher().newQueue("listed", nil).(*debouncedQueue)
					tc.events(b.watcher()).Create(t.Context(), event.CreateEvent{Object: tc.object, IsInInitialList: isFirst}, queue)
					want, got := tc.late, []string(nil)
					if isFirst {
						want = tc.first
					}
					for queue.Len() > 0 {
						request, _, _ := queue.GetWithPriority()
						got = append(got, request.Name)
					}
					queue.ShutDown()
					slices.Sort(got)
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("woken by an object of the first list (%v) (-want +got):\n%s", isFirst, diff)
					}
				}
			}, ofNodes, gated, plain, slice)
		})
	}
	if duplicatesChanged().Create(event.CreateEvent{Object: newBinding(), IsInInitialList: true}) {
		t.Error("a binding of the first list wakes the others of its group")
	}
	if !duplicatesChanged().Create(event.CreateEvent{Object: newBinding()}) {
		t.Error("a new binding does not wake the others of its group")
	}
}

// unique drops repetitions: the queue does, too.
func unique(requests []reconcile.Request) []reconcile.Request {
	var out []reconcile.Request
	seen := map[reconcile.Request]bool{}
	for _, request := range requests {
		if !seen[request] {
			out = append(out, request)
		}
		seen[request] = true
	}
	return out
}
