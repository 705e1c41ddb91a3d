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
	// longestWait limits the wait for a binding or Service that is not in the cache yet: a small part of the time that API
	// servers wait for us.
	longestWait = 200 * time.Millisecond
	// longestRead limits the wait for unsynced caches: API servers have given up by then.
	longestRead = 3 * time.Second
	// young is the age up to which a Service may still get its binding: tools create an app's Services first, then Deployments,
	// and custom resources last.
	young = 10 * time.Second
)

// index answers from memory which bindings cover a pod. It compiles a namespace at the first request, and forgets it at a
// relevant change there. So changes in other namespaces and in the status of bindings cost nothing.
type index struct {
	reader client.Reader
	clock  clock.Clock

	mu    sync.Mutex
	known map[string]*knowledge // by namespace
}

// knowledge is the compiled state of a namespace until something changes there. It enters the index before the caches are
// read, and an event comes after its change is in the cache. So outdated knowledge is never kept.
type knowledge struct {
	compile  func() (*matcher, error) // compiles once
	outdated chan struct{}            // closed at a change

	mu       sync.Mutex
	patience time.Time // the deadline of pods that wait for a change; zero until one waits
}

func newIndex(reader client.Reader, clock clock.Clock) *index {
	return &index{reader: reader, clock: clock, known: map[string]*knowledge{}}
}

// watch makes the index forget a namespace at a relevant event. It works once the informers run.
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

// changed forgets the namespace of the object.
func (x *index) changed(object any) {
	name, err := toolscache.DeletionHandlingObjectToName(object)
	if err != nil {
		return // not an object
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

// cover returns the coverage of a pod. If that may be about to change, it waits a little: see knowledge.await.
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

// await returns true as soon as something changes in the namespace. All waiting pods share one deadline, longestWait after the
// first of them came; a pod also waits no longer than its own end. After the deadline no pod waits, so a namespace without
// changes costs one wait.
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

// of returns the knowledge of the namespace, new if there is none.
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

// drop forgets k, unless that has happened already. Errors are not kept, nor are empty namespaces, because a caller could
// invent any number of them.
func (x *index) drop(namespace string, k *knowledge) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.known[namespace] == k {
		x.forget(namespace)
	}
}

// read compiles the namespace from the caches. It continues if the first caller gives up, because others may wait for it.
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
