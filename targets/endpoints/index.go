// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/targetgate/targetgate/readiness"
)

// index finds the objects of one kind by a value of theirs. It holds those that a watch has brought, the cache's own mostly:
// they are read only.
// controller-runtime's indexes keep two sets for each value and make a copy of each object that they list: with thousands
// of pods that was a fifth of the memory, and of all that was allocated.
type index[T client.Object] struct {
	values func(T) []string
	wide   bool // finds objects of all namespaces together, whose name is empty then

	mu    sync.RWMutex
	found map[types.NamespacedName]*shelf[T] // by namespace and value
}

func newIndex[T client.Object](values func(T) []string) *index[T] {
	return &index[T]{values: values, found: map[types.NamespacedName]*shelf[T]{}}
}

// At are the objects of the namespace that have the value.
func (x *index[T]) At(namespace, value string) []T {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if found, ok := x.found[types.NamespacedName{Namespace: namespace, Name: value}]; ok {
		return slices.Clone(found.objects)
	}
	return nil
}

// First is one of them, nil when there is none.
func (x *index[T]) First(namespace, value string) (o T) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if found, ok := x.found[types.NamespacedName{Namespace: namespace, Name: value}]; ok {
		return found.objects[0]
	}
	return o
}

// change takes some objects out and others in, at once, so that a reader never misses one that is being updated. The work is done
// before the lock is taken.
func (x *index[T]) change(out, in []T) {
	leave, come := x.placed(out), x.placed(in)
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, p := range leave {
		if there := x.found[p.key]; there != nil && there.remove(nameOf(p.object)) {
			delete(x.found, p.key)
		}
	}
	for _, p := range come {
		there := x.found[p.key]
		if there == nil {
			there = &shelf[T]{}
			x.found[p.key] = there
		}
		there.put(p.object)
	}
}

// placement is an object and where it belongs.
type placement[T client.Object] struct {
	key    types.NamespacedName
	object T
}

func (x *index[T]) placed(objects []T) []placement[T] {
	var out []placement[T]
	for _, o := range objects {
		for _, value := range x.values(o) {
			key := types.NamespacedName{Namespace: o.GetNamespace(), Name: value}
			if x.wide {
				key.Namespace = ""
			}
			out = append(out, placement[T]{key, o})
		}
	}
	return out
}

// shelf are the objects that have one value, each once. All of a namespace's may have the same, so no change looks through a
// long one.
type shelf[T client.Object] struct {
	objects []T
	places  map[types.NamespacedName]int // in objects; nil while they are few
}

// fewObjects are found sooner by looking at each.
const fewObjects = 16

func (s *shelf[T]) put(o T) {
	if at := s.place(nameOf(o)); at >= 0 {
		s.objects[at] = o
		return
	}
	s.objects = append(s.objects, o)
	switch {
	case s.places != nil:
		s.places[nameOf(o)] = len(s.objects) - 1
	case len(s.objects) > fewObjects:
		s.places = make(map[types.NamespacedName]int, len(s.objects))
		for at, there := range s.objects {
			s.places[nameOf(there)] = at
		}
	}
}

// remove takes the object of that name out, and reports whether none is left.
func (s *shelf[T]) remove(name types.NamespacedName) (empty bool) {
	at, last := s.place(name), len(s.objects)-1
	if at < 0 {
		return last < 0
	}
	s.objects[at] = s.objects[last]
	if s.places != nil {
		s.places[nameOf(s.objects[at])] = at
		delete(s.places, name)
	}
	s.objects = slices.Delete(s.objects, last, last+1)
	return last == 0
}

// place is where the object of that name is, -1 when it is not there.
func (s *shelf[T]) place(name types.NamespacedName) int {
	if s.places == nil {
		return slices.IndexFunc(s.objects, func(o T) bool { return nameOf(o) == name })
	}
	if at, there := s.places[name]; there {
		return at
	}
	return -1
}

func nameOf(o client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// indexSet are the indexes of one kind.
type indexSet[T client.Object] []*index[T]

func (x indexSet[T]) change(out, in []T) {
	for _, one := range x {
		one.change(out, in)
	}
}

// Cache are the pods and the EndpointSlices that passes read.
type Cache struct {
	PodByName, PodByAddress, PodByGate, PodByNode *index[*corev1.Pod]
	SliceByService, SliceByPod                    *index[*discoveryv1.EndpointSlice]
}

// NewCache returns an empty cache.
func NewCache() *Cache {
	return &Cache{
		PodByName:    newIndex(func(pod *corev1.Pod) []string { return []string{pod.Name} }),
		PodByAddress: newIndex(PodAddresses),
		PodByGate:    newIndex(readiness.Bindings),
		PodByNode:    &index[*corev1.Pod]{values: podNode, wide: true, found: map[types.NamespacedName]*shelf[*corev1.Pod]{}},
		SliceByService: newIndex(func(slice *discoveryv1.EndpointSlice) []string {
			return []string{slice.Labels[discoveryv1.LabelServiceName]}
		}),
		SliceByPod: newIndex(slicePods),
	}
}

func (x *Cache) pods() indexSet[*corev1.Pod] {
	return indexSet[*corev1.Pod]{x.PodByName, x.PodByAddress, x.PodByGate, x.PodByNode}
}

func (x *Cache) slices() indexSet[*discoveryv1.EndpointSlice] {
	return indexSet[*discoveryv1.EndpointSlice]{x.SliceByService, x.SliceByPod}
}

// ReadCache are those of a namespace, as reader has them now.
func ReadCache(ctx context.Context, reader client.Reader, namespace string) (*Cache, error) {
	var pods corev1.PodList
	var listed discoveryv1.EndpointSliceList
	for _, list := range []client.ObjectList{&pods, &listed} {
		if err := reader.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, fmt.Errorf("listing %T: %w", list, err)
		}
	}
	out := NewCache()
	for i := range pods.Items {
		out.pods().change(nil, []*corev1.Pod{&pods.Items[i]})
	}
	for i := range listed.Items {
		out.slices().change(nil, []*discoveryv1.EndpointSlice{&listed.Items[i]})
	}
	return out, nil
}

// PodAddresses are the pod's IP addresses, as its status has them.
func PodAddresses(pod *corev1.Pod) []string {
	out := make([]string, len(pod.Status.PodIPs))
	for i, ip := range pod.Status.PodIPs {
		out[i] = ip.IP
	}
	return out
}

func podNode(pod *corev1.Pod) []string {
	if pod.Spec.NodeName == "" {
		return nil
	}
	return []string{pod.Spec.NodeName}
}

func slicePods(slice *discoveryv1.EndpointSlice) []string {
	out := make([]string, 0, len(slice.Endpoints))
	for _, ep := range slice.Endpoints {
		if ep.TargetRef != nil && ep.TargetRef.Kind == "Pod" {
			out = append(out, ep.TargetRef.Name)
		}
	}
	return out
}

// UpdatePods returns a handler that keeps the cache's pods up to date by a watch of pods, and then passes each change on: a pass
// that the change wakes finds it here.
func (x *Cache) UpdatePods(next handler.EventHandler) handler.EventHandler {
	return cacheUpdater[*corev1.Pod]{next, x.pods()}
}

// UpdateSlices is UpdatePods for EndpointSlices.
func (x *Cache) UpdateSlices(next handler.EventHandler) handler.EventHandler {
	return cacheUpdater[*discoveryv1.EndpointSlice]{next, x.slices()}
}

type cacheUpdater[T client.Object] struct {
	handler.EventHandler
	indexSet[T]
}

// Create implements handler.EventHandler.
func (h cacheUpdater[T]) Create(ctx context.Context, e event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	h.change(nil, []T{e.Object.(T)})
	h.EventHandler.Create(ctx, e, queue)
}

// Update implements handler.EventHandler.
func (h cacheUpdater[T]) Update(ctx context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	h.change([]T{e.ObjectOld.(T)}, []T{e.ObjectNew.(T)})
	h.EventHandler.Update(ctx, e, queue)
}

// Delete implements handler.EventHandler.
func (h cacheUpdater[T]) Delete(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	h.change([]T{e.Object.(T)}, nil)
	h.EventHandler.Delete(ctx, e, queue)
}
