// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// modelCache is what one targetgate sees of the store: each kind in order, and as late as the model has it. Objects are
// stripped as the program strips them.
type modelCache struct {
	cache.Cache // nil: what is not below is not used

	mu       sync.Mutex
	objects  map[string]map[types.NamespacedName]client.Object
	handlers map[string][]toolscache.ResourceEventHandler
	pending  []delivery
	lastAt   map[string]time.Time
	signal   chan struct{}
}

type delivery struct {
	modelChange
	at time.Time
}

// newModelCache is a cache that has just listed everything. The caller holds the store's lock.
func newModelCache(store *modelStore) *modelCache {
	c := &modelCache{
		objects: map[string]map[types.NamespacedName]client.Object{}, handlers: map[string][]toolscache.ResourceEventHandler{},
		lastAt: map[string]time.Time{}, signal: make(chan struct{}, 1),
	}
	for kind, objects := range store.objects {
		c.objects[kind] = map[types.NamespacedName]client.Object{}
		for key, o := range objects {
			c.objects[kind][key] = stripped(o)
		}
	}
	return c
}

func stripped(o client.Object) client.Object {
	for _, strip := range []func(any) (any, error){endpoints.StripPod, endpoints.StripSlice, endpoints.StripNode} {
		out, _ := strip(o)
		o = out.(client.Object)
	}
	return o
}

// push queues a change that is seen after lag, behind those of its kind that are queued already.
func (c *modelCache) push(change modelChange, lag time.Duration) {
	c.mu.Lock()
	at := time.Now().Add(lag)
	if last := c.lastAt[change.kind]; last.After(at) {
		at = last
	}
	c.lastAt[change.kind] = at
	c.pending = append(c.pending, delivery{change, at})
	c.mu.Unlock()
	select {
	case c.signal <- struct{}{}:
	default:
	}
}

// run delivers. At first the handlers come, each of which is told what there is.
func (c *modelCache) run(ctx context.Context) {
	time.Sleep(50 * time.Millisecond)
	for ctx.Err() == nil {
		next, wait := c.next()
		if wait == 0 {
			c.deliver(next)
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-c.signal:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// next takes the first change that is due, or says how long there is none.
func (c *modelCache) next() (first delivery, wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) == 0 {
		return first, time.Hour
	}
	at := 0
	for i := range c.pending {
		if c.pending[i].at.Before(c.pending[at].at) {
			at = i
		}
	}
	first = c.pending[at]
	if wait = time.Until(first.at); wait > 0 {
		return first, wait
	}
	c.pending = slices.Delete(c.pending, at, at+1)
	return first, 0
}

func (c *modelCache) deliver(d delivery) {
	var after client.Object
	c.mu.Lock()
	if c.objects[d.kind] == nil {
		c.objects[d.kind] = map[types.NamespacedName]client.Object{}
	}
	objects := c.objects[d.kind]
	var before client.Object
	if d.after != nil {
		after = stripped(d.after)
		key := client.ObjectKeyFromObject(after)
		before, objects[key] = objects[key], after
	} else {
		key := client.ObjectKeyFromObject(d.before)
		before = objects[key]
		delete(objects, key)
	}
	handlers := c.handlers[d.kind]
	c.mu.Unlock()
	for _, h := range handlers {
		switch {
		case after == nil && before == nil:
		case after == nil:
			h.OnDelete(before)
		case before == nil:
			h.OnAdd(after, false)
		default:
			h.OnUpdate(before, after)
		}
	}
}

// Get implements client.Reader.
func (c *modelCache) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.objects[kindOf(o)][key]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: kindOf(o)}, key.Name)
	}
	switch into := o.(type) {
	case *v1beta1.TargetGroupBinding:
		found.(*v1beta1.TargetGroupBinding).DeepCopyInto(into)
	case *corev1.Service:
		*into = *found.(*corev1.Service)
	case *corev1.Node:
		*into = *found.(*corev1.Node)
	case *corev1.Namespace:
		*into = *found.(*corev1.Namespace)
	case *corev1.Pod:
		*into = *found.(*corev1.Pod)
	}
	return nil
}

// List implements client.Reader.
func (c *modelCache) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var asked client.ListOptions
	asked.ApplyOptions(opts)
	c.mu.Lock()
	defer c.mu.Unlock()
	kind := kindOf(list)
	objects := c.objects[kind[:len(kind)-len("List")]]
	var items []runtime.Object
	for _, o := range slices.SortedFunc(maps.Values(objects), byObjectName) {
		if (asked.Namespace == "" || asked.Namespace == o.GetNamespace()) && matches(o, &asked) {
			items = append(items, o)
		}
	}
	return apimeta.SetList(list, items)
}

// IndexField implements client.FieldIndexer: List looks through all.
func (c *modelCache) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	return nil
}

// WaitForCacheSync implements cache.Informers.
func (c *modelCache) WaitForCacheSync(context.Context) bool { return true }

// GetInformer implements cache.Informers.
func (c *modelCache) GetInformer(_ context.Context, o client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	return modelInformer{cache: c, kind: kindOf(o)}, nil
}

type modelInformer struct {
	cache.Informer
	cache *modelCache
	kind  string
}

// AddEventHandlerWithOptions has the handler see what there is, and what comes.
func (i modelInformer) AddEventHandlerWithOptions(
	h toolscache.ResourceEventHandler, _ toolscache.HandlerOptions,
) (toolscache.ResourceEventHandlerRegistration, error) {
	i.cache.mu.Lock()
	i.cache.handlers[i.kind] = append(i.cache.handlers[i.kind], h)
	there := slices.Collect(maps.Values(i.cache.objects[i.kind]))
	i.cache.mu.Unlock()
	for _, o := range there {
		h.OnAdd(o, true)
	}
	return modelRegistration{}, nil
}

type modelRegistration struct {
	toolscache.ResourceEventHandlerRegistration
}

func (modelRegistration) HasSynced() bool { return true }

// modelManager is as much of a manager as SetupWithManager asks for, so that watches, predicates, queue and workers are the
// program's own.
type modelManager struct {
	manager.Manager // nil: what is not below is not used
	scheme          *runtime.Scheme
	cache           *modelCache
	client          client.Client
	added           []manager.Runnable
}

func (m *modelManager) GetScheme() *runtime.Scheme           { return m.scheme }
func (m *modelManager) GetCache() cache.Cache                { return m.cache }
func (m *modelManager) GetClient() client.Client             { return m.client }
func (m *modelManager) GetFieldIndexer() client.FieldIndexer { return m.cache }
func (m *modelManager) GetLogger() logr.Logger               { return logr.Discard() }
func (m *modelManager) GetControllerOptions() config.Controller {
	return config.Controller{SkipNameValidation: ptr.To(true), Logger: logr.Discard()}
}

func (m *modelManager) Add(r manager.Runnable) error {
	m.added = append(m.added, r)
	return nil
}

// start runs what was added until ctx ends; the answer waits for its end.
func (m *modelManager) start(ctx context.Context) (wait func()) {
	var running sync.WaitGroup
	ctx = ctrl.LoggerInto(ctx, logr.Discard())
	running.Go(func() { m.cache.run(ctx) })
	for _, r := range m.added {
		running.Go(func() { _ = r.Start(ctx) })
	}
	return running.Wait
}

// matches applies the one index that is asked for, if any.
func matches(o client.Object, asked *client.ListOptions) bool {
	if asked.FieldSelector == nil {
		return true
	}
	for _, indexes := range []map[string]func(*v1beta1.TargetGroupBinding) string{bindingIndexes, ownership.Indexes} {
		for field, value := range indexes {
			if wanted, ok := asked.FieldSelector.RequiresExactMatch(field); ok {
				return value(o.(*v1beta1.TargetGroupBinding)) == wanted
			}
		}
	}
	return false
}
