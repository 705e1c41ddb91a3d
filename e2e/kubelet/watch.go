// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// handler feeds the watch into the pods. It sees every pod of the cluster, so that the journal knows of those not bound yet.
func (k *Kubelet) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { k.seen(object.(*corev1.Pod)) },
		UpdateFunc: func(before, after any) {
			if old := before.(*corev1.Pod); old.UID != after.(*corev1.Pod).UID {
				k.vanished(old)
			}
			k.seen(after.(*corev1.Pod))
		},
		DeleteFunc: func(object any) {
			if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = unknown.Obj
			}
			if p, ok := object.(*corev1.Pod); ok {
				k.vanished(p)
			}
		},
	}
}

// seen takes a pod's state from the watch.
func (k *Kubelet) seen(object *corev1.Pod) {
	k.journal.noteCreated(object, k.clock.Now())
	n, ours := k.node(object.Spec.NodeName)
	if !ours {
		return
	}
	if p := k.find(object); p != nil && p.node == n {
		p.see(object)
		return
	}
	if !n.silent.Load() {
		k.begin(object, n)
	}
}

func (k *Kubelet) find(object *corev1.Pod) *pod {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.pods[object.UID]
}

// begin takes charge of a pod.
func (k *Kubelet) begin(object *corev1.Pod, n *node) {
	p := &pod{
		kubelet: k, node: n, uid: object.UID, latest: object,
		wake: make(chan struct{}, 1), stopped: make(chan struct{}), ended: make(chan struct{}),
	}
	p.ctx, p.cancel = context.WithCancel(n.ctx)
	k.mu.Lock()
	older, known := k.pods[object.UID]
	known = known && older.node == n // not of a removed node of that name
	if !known {
		k.pods[object.UID] = p
	}
	k.mu.Unlock()
	if known {
		p.cancel()
		return
	}
	p.note(Bound, "")
	if object.DeletionTimestamp != nil {
		p.note(DeletionSeen, "")
	}
	p.poke()
	k.work.Go(p.run)
}

// vanished cuts a pod that has left the API server, unless its node is there and cannot know.
func (k *Kubelet) vanished(object *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p, found := k.pods[object.UID]
	if !found || p.node.silent.Load() && p.node.ctx.Err() == nil {
		return
	}
	delete(k.pods, object.UID)
	p.note(Gone, "")
	p.cancel()
}

// catchUp brings a node that was cut off up to date: pods that vanished meanwhile, new ones, and changes.
func (k *Kubelet) catchUp(n *node) {
	live := map[string]*corev1.Pod{}
	for _, object := range k.store.List() {
		if p := object.(*corev1.Pod); p.Spec.NodeName == n.Name {
			live[string(p.UID)] = p
		}
	}
	for _, p := range k.on(n) {
		if live[string(p.uid)] == nil {
			k.vanished(p.object())
		}
		p.poke()
	}
	for _, object := range live {
		k.seen(object)
	}
	k.proxy.Poke()
}

func (k *Kubelet) on(n *node) []*pod {
	k.mu.Lock()
	defer k.mu.Unlock()
	var pods []*pod
	for _, p := range k.pods {
		if p.node == n {
			pods = append(pods, p)
		}
	}
	return pods
}

// remember makes a container's app known.
func (k *Kubelet) remember(object *corev1.Pod, c *container) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.apps[appKey{object.Namespace, object.Name, c.spec.Name}] = c.app
	if c.spec.Name == object.Spec.Containers[0].Name {
		k.apps[appKey{object.Namespace, object.Name, ""}] = c.app
	}
}
