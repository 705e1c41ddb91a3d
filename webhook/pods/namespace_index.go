// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

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
	// longestWait limits the wait for a binding or Service that is not in the cache yet: a small part of the time that API
	// servers wait for us.
	longestWait = 200 * time.Millisecond
	// longestRead limits the wait for unsynced caches: API servers have given up by then.
	longestRead = 3 * time.Second
	// recentService is the age up to which a Service may still get its binding: tools create an app's Services first, then Deployments,
	// and custom resources last.
	recentService = 10 * time.Second
)

// bindingIndex answers from memory which bindings cover a pod. It compiles a namespace at the first request, and forgets it at a
// relevant change there. So changes in other namespaces and in the status of bindings cost nothing. The indexes of client-go
// find objects by one exact value, but a selector asks for several labels.
type bindingIndex struct {
	reader client.Reader
	clock  clock.Clock

	mu         sync.Mutex
	namespaces map[string]*namespaceIndex // by namespace
}

// namespaceIndex is the compiled state of a namespace until something changes there. It enters the index before the caches are
// read, and an event comes after its change is in the cache. So no outdated index is kept.
type namespaceIndex struct {
	compile  func() (*matcher, error) // compiles once
	outdated chan struct{}            // closed at a change

	mu        sync.Mutex
	waitUntil time.Time // the deadline of pods that wait for a change; zero until one waits
}

func newBindingIndex(reader client.Reader, clock clock.Clock) *bindingIndex {
	return &bindingIndex{reader: reader, clock: clock, namespaces: map[string]*namespaceIndex{}}
}

// watch makes the index forget a namespace at a relevant event. It works once the informers run.
func (x *bindingIndex) watch(ctx context.Context, informers cache.Informers) error {
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

// changed forgets the namespace of the object.
func (x *bindingIndex) changed(object any) {
	name, err := toolscache.DeletionHandlingObjectToName(object)
	if err != nil {
		return // not an object
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.forget(name.Namespace)
}

func (x *bindingIndex) forget(namespace string) {
	if n, known := x.namespaces[namespace]; known {
		delete(x.namespaces, namespace)
		close(n.outdated)
	}
}

// cover returns the coverage of a pod. If that may be about to change, it waits a little: see namespaceIndex.await.
func (x *bindingIndex) cover(ctx context.Context, namespace string, podLabels map[string]string) (coverage, error) {
	end := x.clock.Now().Add(longestWait)
	for {
		n := x.of(ctx, namespace)
		m, err := n.compile()
		if err != nil {
			return coverage{}, err
		}
		c := m.cover(podLabels)
		expected := m.incomplete || x.clock.Since(c.unbound) < recentService
		if !expected || !n.await(ctx, x.clock, end) {
			return c, nil
		}
	}
}

// await returns true as soon as something changes in the namespace. All waiting pods share one deadline, longestWait after the
// first of them came; a pod also waits no longer than its own end. After the deadline no pod waits, so a namespace without
// changes costs one wait.
func (n *namespaceIndex) await(ctx context.Context, clock clock.Clock, end time.Time) bool {
	n.mu.Lock()
	if n.waitUntil.IsZero() {
		n.waitUntil = clock.Now().Add(longestWait)
	}
	left := min(n.waitUntil.Sub(clock.Now()), end.Sub(clock.Now()))
	n.mu.Unlock()
	if left <= 0 {
		return false
	}
	timer := clock.NewTimer(left)
	defer timer.Stop()
	select {
	case <-n.outdated:
		waits.WithLabelValues("changed").Inc()
		return true
	case <-timer.C():
	case <-ctx.Done():
	}
	waits.WithLabelValues("in vain").Inc()
	return false
}

// of returns the index of the namespace, new if there is none.
func (x *bindingIndex) of(ctx context.Context, namespace string) *namespaceIndex {
	x.mu.Lock()
	defer x.mu.Unlock()
	n, known := x.namespaces[namespace]
	if !known {
		n = &namespaceIndex{outdated: make(chan struct{})}
		n.compile = sync.OnceValues(func() (*matcher, error) {
			m, err := x.read(ctx, namespace)
			if err != nil || m.empty() {
				x.drop(namespace, n)
			}
			return m, err
		})
		x.namespaces[namespace] = n
	}
	return n
}

// drop forgets n, unless that has happened already. Errors are not kept, nor are empty namespaces, because a caller could
// invent any number of them.
func (x *bindingIndex) drop(namespace string, n *namespaceIndex) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.namespaces[namespace] == n {
		x.forget(namespace)
	}
}

// read compiles the namespace from the caches. It continues if the first caller gives up, because others may wait for it.
func (x *bindingIndex) read(ctx context.Context, namespace string) (*matcher, error) {
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
