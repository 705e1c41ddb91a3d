// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/targetgate/targetgate/e2e/testbed"
)

// watcher keeps a roster of all pods up to date.
type watcher struct {
	*roster
	informers informers.SharedInformerFactory
	cancel    context.CancelFunc
}

// watchPods watches until close.
func watchPods(ctx context.Context, config *rest.Config) (*watcher, error) {
	config = rest.CopyConfig(config)
	config.ContentType = runtime.ContentTypeProtobuf // cheap: the machine is shared with what is measured
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client to watch pods: %w", err)
	}
	w := &watcher{
		roster:    newRoster(),
		informers: informers.NewSharedInformerFactoryWithOptions(clientset, 0, informers.WithTransform(strip)),
	}
	if _, err = w.informers.Core().V1().Pods().Informer().AddEventHandler(w.handler()); err != nil {
		return nil, fmt.Errorf("watching pods: %w", err)
	}
	ctx, w.cancel = context.WithCancel(ctx)
	w.informers.Start(ctx.Done())
	w.informers.WaitForCacheSync(ctx.Done())
	return w, nil
}

func (w *watcher) close() {
	w.cancel()
	w.informers.Shutdown()
}

func (w *watcher) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { w.see(object.(*corev1.Pod), time.Now()) },
		UpdateFunc: func(_, object any) { w.see(object.(*corev1.Pod), time.Now()) },
		DeleteFunc: func(object any) {
			if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = unknown.Obj
			}
			w.lose(object.(*corev1.Pod).UID, time.Now())
		},
	}
}

// strip keeps of a pod what a roster reads.
func strip(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	kept := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		DeletionTimestamp: pod.DeletionTimestamp, Labels: map[string]string{testbed.AppLabel: pod.Labels[testbed.AppLabel]},
	}}
	for _, c := range pod.Spec.Containers {
		kept.Spec.Containers = append(kept.Spec.Containers, corev1.Container{Env: c.Env})
	}
	kept.Spec.ReadinessGates = pod.Spec.ReadinessGates
	kept.Status.PodIP, kept.Status.Conditions = pod.Status.PodIP, pod.Status.Conditions
	return kept, nil
}
