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
func (a *Answerer) FollowPods(next handler.EventHandler) handler.EventHandler {
	return podFollower{next, a}
}

// FollowNodes returns a handler that has the Answerer look after each change of a node, and passes the change on.
func (a *Answerer) FollowNodes(next handler.EventHandler) handler.EventHandler {
	return nodeFollower{next, a}
}

type podFollower struct {
	handler.EventHandler
	answerer *Answerer
}

// Create implements handler.EventHandler.
func (f podFollower) Create(ctx context.Context, e event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	f.answerer.see(e.Object.(*corev1.Pod))
	f.EventHandler.Create(ctx, e, queue)
}

// Update implements handler.EventHandler.
func (f podFollower) Update(ctx context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	before, after := e.ObjectOld.(*corev1.Pod), e.ObjectNew.(*corev1.Pod)
	if before.UID != after.UID {
		f.answerer.forget(before)
	}
	f.answerer.see(after)
	f.EventHandler.Update(ctx, e, queue)
}

// Delete implements handler.EventHandler.
func (f podFollower) Delete(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	f.answerer.forget(e.Object.(*corev1.Pod))
	f.EventHandler.Delete(ctx, e, queue)
}

type nodeFollower struct {
	handler.EventHandler
	answerer *Answerer
}

// Create implements handler.EventHandler.
func (f nodeFollower) Create(ctx context.Context, e event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	f.answerer.lookSoon()
	f.EventHandler.Create(ctx, e, queue)
}

// Update implements handler.EventHandler.
func (f nodeFollower) Update(ctx context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	f.answerer.lookSoon()
	f.EventHandler.Update(ctx, e, queue)
}

// Delete implements handler.EventHandler.
func (f nodeFollower) Delete(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	f.answerer.lookSoon()
	f.EventHandler.Delete(ctx, e, queue)
}

// see notes a guard as it is now. A pod that runs on no node yet, or has ended, guards none.
func (a *Answerer) see(pod *corev1.Pod) {
	if !Is(pod, a.Namespace) {
		return
	}
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		a.forget(pod)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if g, known := a.guards[pod.UID]; known {
		g.pod = pod
	} else {
		a.guards[pod.UID] = &guard{pod: pod}
	}
	a.lookSoon()
}

// forget is for a pod that is gone.
func (a *Answerer) forget(pod *corev1.Pod) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.guards[pod.UID]; known {
		delete(a.guards, pod.UID)
		a.lookSoon()
	}
}

// lookSoon never blocks.
func (a *Answerer) lookSoon() {
	select {
	case a.changed <- struct{}{}:
	default: // it will look
	}
}
