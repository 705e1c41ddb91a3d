// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// Roster is told of pods, one call at a time.
type Roster interface {
	// See takes in a pod as the API server shows it at that time.
	See(pod *corev1.Pod, at time.Time)
	// Lose takes in that a pod has gone.
	Lose(uid types.UID, at time.Time)
}

// WatchPods tells the roster of all pods until stop is called, and returns when it knows those that are there. What strip
// takes from a pod is not kept in memory; nil takes nothing.
func WatchPods(ctx context.Context, config *rest.Config, roster Roster, strip cache.TransformFunc) (stop func(), err error) {
	config = rest.CopyConfig(config)
	config.ContentType = runtime.ContentTypeProtobuf // cheap: the machine is shared with what is measured
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client to watch pods: %w", err)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(clientset, 0, informers.WithTransform(strip))
	if _, err = factory.Core().V1().Pods().Informer().AddEventHandler(handler(roster)); err != nil {
		return nil, fmt.Errorf("watching pods: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return func() {
		cancel()
		factory.Shutdown()
	}, nil
}

func handler(roster Roster) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { roster.See(object.(*corev1.Pod), time.Now()) },
		UpdateFunc: func(_, object any) { roster.See(object.(*corev1.Pod), time.Now()) },
		DeleteFunc: func(object any) {
			if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = unknown.Obj
			}
			roster.Lose(object.(*corev1.Pod).UID, time.Now())
		},
	}
}
