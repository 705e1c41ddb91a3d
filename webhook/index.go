// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

const (
	// longestWait for a binding or Service that has not arrived yet: a small part of what API servers wait for us.
	longestWait = 200 * time.Millisecond
	// longestRead ends the wait for caches that have not synced: API servers have given up by then.
	longestRead = 3 * time.Second
	// young is a Service for which a binding may still be on its way: tools create the Services of an app first, the
	// Deployments then, and custom resources last.
	young = 10 * time.Second
)

// index answers from memory which bindings cover a pod. What it knows of a namespace it works out when it is asked for
// the first time, and forgets when something changes there that matters, so that neither what happens in other
// namespaces nor the status of bindings costs anything.
type index struct {
	reader client.Reader
	clock  clock.Clock

	mu    sync.Mutex
	known map[string]*knowledge // by namespace
}

// knowledge is what is known of a namespace until something changes there. It is in the index before the caches are
// read, and events come after their change is in the cache: what a change made wrong is never kept.
type knowledge struct {
	compile  func() (*matcher, error) // does it once
	outdated chan struct{}            // closed when something has changed

	mu       sync.Mutex
	patience time.Time // until which pods wait for a change; zero as long as none has waited
}

func newIndex(reader client.Reader, clock clock.Clock) *index {
	return &index{reader: reader, clock: clock, known: map[string]*knowledge{}}
}

// watch has the index forget what events make wrong. It begins with the informers.
func (x *index) watch(ctx context.Context, informers cache.Informers) error {
	for object, matters := range map[client.Object]func(before, after any) bool{
		&v1beta1.TargetGroupBinding{}: bindingMatters, &corev1.Service{}: serviceMatters,
	} {
		informer, err := informers.GetInformer(ctx, object)
		if err != nil {
			return fmt.Errorf("watching %T: %w", object, err)
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    x.changed,
			DeleteFunc: x.changed,
			UpdateFunc: func(before, after any) {
				if matters(before, after) {
					x.changed(after)
				}
			},
		})
		if err != nil {
			return fmt.Errorf("watching %T: %w", object, err)
		}
	}
	return nil
}

func bindingMatters(before, after any) bool {
	return factsOf(before.(*v1beta1.TargetGroupBinding)) != factsOf(after.(*v1beta1.TargetGroupBinding))
}

func serviceMatters(before, after any) bool {
	return !maps.Equal(selectorOf(before.(*corev1.Service)), selectorOf(after.(*corev1.Service)))
}

// changed has the namespace of the object be forgotten.
func (x *index) changed(object any) {
	name, err := toolscache.DeletionHandlingObjectToName(object)
	if err != nil {
		return // no object
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.forget(name.Namespace)
}

func (x *index) forget(namespace string) {
	if k, known := x.known[namespace]; known {
		delete(x.known, namespace)
		close(k.outdated)
	}
}

// cover finds what covers a pod. When that may be about to change, it waits a little: see knowledge.await.
func (x *index) cover(ctx context.Context, namespace string, podLabels map[string]string) (coverage, error) {
	end := x.clock.Now().Add(longestWait)
	for {
		k := x.of(ctx, namespace)
		m, err := k.compile()
		if err != nil {
			return coverage{}, err
		}
		c := m.cover(podLabels)
		expected := m.incomplete || x.clock.Since(c.unbound) < young
		if !expected || !k.await(ctx, x.clock, end) {
			return c, nil
		}
	}
}

// await returns true as soon as something has changed in the namespace. All pods that wait share one deadline, at most
// longestWait after the first of them came; after that, and at the pod's own end, there is no more waiting, so that a
// namespace in which nothing happens costs one wait.
func (k *knowledge) await(ctx context.Context, clock clock.Clock, end time.Time) bool {
	k.mu.Lock()
	if k.patience.IsZero() {
		k.patience = clock.Now().Add(longestWait)
	}
	left := min(k.patience.Sub(clock.Now()), end.Sub(clock.Now()))
	k.mu.Unlock()
	if left <= 0 {
		return false
	}
	timer := clock.NewTimer(left)
	defer timer.Stop()
	select {
	case <-k.outdated:
		waits.WithLabelValues("changed").Inc()
		return true
	case <-timer.C():
	case <-ctx.Done():
	}
	waits.WithLabelValues("in vain").Inc()
	return false
}

// of is what is known of the namespace.
func (x *index) of(ctx context.Context, namespace string) *knowledge {
	x.mu.Lock()
	defer x.mu.Unlock()
	k, known := x.known[namespace]
	if !known {
		k = &knowledge{outdated: make(chan struct{})}
		k.compile = sync.OnceValues(func() (*matcher, error) {
			m, err := x.read(ctx, namespace)
			if err != nil || m.empty() {
				x.drop(namespace, k)
			}
			return m, err
		})
		x.known[namespace] = k
	}
	return k
}

// drop has k be forgotten, unless it was already: an error is not kept, nor are namespaces in which there is nothing, of
// which a caller could make up any number.
func (x *index) drop(namespace string, k *knowledge) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.known[namespace] == k {
		x.forget(namespace)
	}
}

// read compiles what the caches have. It goes on when the one who asked first has gone, as others may wait for it.
func (x *index) read(ctx context.Context, namespace string) (*matcher, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestRead)
	defer cancel()
	var bindings v1beta1.TargetGroupBindingList
	if err := x.reader.List(ctx, &bindings, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing bindings: %w", err)
	}
	var services corev1.ServiceList
	if err := x.reader.List(ctx, &services, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing Services: %w", err)
	}
	return newMatcher(bindings.Items, services.Items), nil
}
