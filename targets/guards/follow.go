// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package guards

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// FollowPods returns a handler that notes the guards that a watch of pods shows, and passes each change on.
func (k *Keeper) FollowPods(next handler.EventHandler) handler.EventHandler {
	return podFollower{next, k}
}

// FollowNodes returns a handler that has the keeper look after each change of a node, and passes the change on.
func (k *Keeper) FollowNodes(next handler.EventHandler) handler.EventHandler {
	return nodeFollower{next, k}
}

type podFollower struct {
	handler.EventHandler
	keeper *Keeper
}

// Create implements handler.EventHandler.
func (f podFollower) Create(ctx context.Context, e event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	f.keeper.see(e.Object.(*corev1.Pod))
	f.EventHandler.Create(ctx, e, queue)
}

// Update implements handler.EventHandler.
func (f podFollower) Update(ctx context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	before, after := e.ObjectOld.(*corev1.Pod), e.ObjectNew.(*corev1.Pod)
	if before.UID != after.UID {
		f.keeper.forget(before)
	}
	f.keeper.see(after)
	f.EventHandler.Update(ctx, e, queue)
}

// Delete implements handler.EventHandler.
func (f podFollower) Delete(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	f.keeper.forget(e.Object.(*corev1.Pod))
	f.EventHandler.Delete(ctx, e, queue)
}

type nodeFollower struct {
	handler.EventHandler
	keeper *Keeper
}

// Create implements handler.EventHandler.
func (f nodeFollower) Create(ctx context.Context, e event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	f.keeper.lookSoon()
	f.EventHandler.Create(ctx, e, queue)
}

// Update implements handler.EventHandler.
func (f nodeFollower) Update(ctx context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	f.keeper.lookSoon()
	f.EventHandler.Update(ctx, e, queue)
}

// Delete implements handler.EventHandler.
func (f nodeFollower) Delete(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	f.keeper.lookSoon()
	f.EventHandler.Delete(ctx, e, queue)
}

// see notes a guard as it is now. A pod that runs on no node yet, or has ended, guards none.
func (k *Keeper) see(pod *corev1.Pod) {
	if !Is(pod, k.Namespace) {
		return
	}
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		k.forget(pod)
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if g, known := k.guards[pod.UID]; known {
		g.pod = pod
	} else {
		k.guards[pod.UID] = &guard{pod: pod}
	}
	k.lookSoon()
}

// forget is for a pod that is gone.
func (k *Keeper) forget(pod *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, known := k.guards[pod.UID]; known {
		delete(k.guards, pod.UID)
		k.lookSoon()
	}
}

// lookSoon never blocks.
func (k *Keeper) lookSoon() {
	select {
	case k.changed <- struct{}{}:
	default: // it will look
	}
}
