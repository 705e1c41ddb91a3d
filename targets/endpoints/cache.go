// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"context"
	"fmt"

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

// indexSet are the indexes of one kind.
type indexSet[T client.Object] []*index[T]

func (x indexSet[T]) change(out, in T) {
	for _, one := range x {
		one.change(out, in)
	}
}

// Cache are the pods and the EndpointSlices that passes read.
type Cache struct {
	PodByName, PodByAddress, PodByGate, PodByNode, PodByWorkload *index[*corev1.Pod]
	SliceByService, SliceByPod                                   *index[*discoveryv1.EndpointSlice]
}

// NewCache returns an empty cache.
func NewCache() *Cache {
	return &Cache{
		PodByName:     newIndex(func(pod *corev1.Pod) []string { return []string{pod.Name} }),
		PodByAddress:  newIndex(PodAddresses),
		PodByGate:     newIndex(readiness.Bindings),
		PodByWorkload: newIndex(workloads),
		PodByNode:     &index[*corev1.Pod]{values: podNode, wide: true, found: map[types.NamespacedName]shelf[*corev1.Pod]{}},
		SliceByService: newIndex(func(slice *discoveryv1.EndpointSlice) []string {
			return []string{slice.Labels[discoveryv1.LabelServiceName]}
		}),
		SliceByPod: newIndex(slicePods),
	}
}

func (x *Cache) pods() indexSet[*corev1.Pod] {
	return indexSet[*corev1.Pod]{x.PodByName, x.PodByAddress, x.PodByGate, x.PodByNode, x.PodByWorkload}
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
		out.pods().change(nil, &pods.Items[i])
	}
	for i := range listed.Items {
		out.slices().change(nil, &listed.Items[i])
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
	var none T
	h.change(none, e.Object.(T))
	h.EventHandler.Create(ctx, e, queue)
}

// Update implements handler.EventHandler.
func (h cacheUpdater[T]) Update(ctx context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	h.change(e.ObjectOld.(T), e.ObjectNew.(T))
	h.EventHandler.Update(ctx, e, queue)
}

// Delete implements handler.EventHandler.
func (h cacheUpdater[T]) Delete(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	var none T
	h.change(e.Object.(T), none)
	h.EventHandler.Delete(ctx, e, queue)
}
