// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/targetgate/targetgate/e2e/testbed"
)

// sighting is what the API server showed of a pod over its life.
type sighting struct {
	UID             types.UID
	Namespace, Name string
	IP              string
	Version         string
	Sleep           time.Duration // of its preStop, unscaled
	// GateOpen is when its gates were first seen to be all True; zero when it has none or they never were. The
	// condition itself tells no more than the second.
	GateOpen time.Time
}

// watcher notes sightings of all pods.
type watcher struct {
	informers informers.SharedInformerFactory
	cancel    context.CancelFunc

	mu   sync.Mutex
	seen map[types.UID]*sighting
}

// watchPods watches until close.
func watchPods(ctx context.Context, config *rest.Config) (*watcher, error) {
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client to watch pods: %w", err)
	}
	w := &watcher{informers: informers.NewSharedInformerFactory(clientset, 0), seen: map[types.UID]*sighting{}}
	_, err = w.informers.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { w.see(object) },
		UpdateFunc: func(_, object any) { w.see(object) },
	})
	if err != nil {
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

func (w *watcher) see(object any) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.seen[pod.UID]
	if s == nil {
		s = &sighting{UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name, Version: testbed.VersionOf(pod), Sleep: sleepOf(pod)}
		w.seen[pod.UID] = s
	}
	if pod.Status.PodIP != "" {
		s.IP = pod.Status.PodIP
	}
	if s.GateOpen.IsZero() && testbed.GatesOpen(pod) {
		s.GateOpen = time.Now()
	}
}

// sleepOf is how long the pod's containers sleep before they are told to stop.
func sleepOf(pod *corev1.Pod) time.Duration {
	lifecycle := pod.Spec.Containers[0].Lifecycle
	if lifecycle == nil || lifecycle.PreStop == nil || lifecycle.PreStop.Sleep == nil {
		return 0
	}
	return time.Duration(lifecycle.PreStop.Sleep.Seconds) * time.Second
}

func (w *watcher) sightings() []sighting {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []sighting
	for _, s := range w.seen {
		all = append(all, *s)
	}
	return all
}
