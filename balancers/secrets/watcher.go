// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
)

// Watcher reads Secrets for groups, and looks out for their changes. It is safe for concurrent use.
type Watcher struct {
	Client kubernetes.Interface
	// Label is key=value of the Secrets that may be read, "" for all.
	Label string

	mu      sync.Mutex // guards what follows
	ctx     context.Context
	changed func(stack.Group)
	watched map[types.NamespacedName]*watched
}

// watched is one Secret with the groups that need it.
type watched struct {
	informer cache.SharedIndexInformer
	stop     context.CancelFunc
	groups   map[stack.Group]bool
}

// Start calls changed with each group that needs a Secret that has changed, come or gone, until the context ends.
func (w *Watcher) Start(ctx context.Context, changed func(stack.Group)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ctx, w.changed, w.watched = ctx, changed, map[types.NamespacedName]*watched{}
}

// mostWatched is how many Secrets of a namespace are watched. Each costs memory, and may cost a request in each pass.
const mostWatched = 200

// Of has the Secrets that a group needs now, in place of those that it needed before.
func (w *Watcher) Of(ctx context.Context, group stack.Group, keys []types.NamespacedName) map[types.NamespacedName]lookup.Secret {
	informers := w.need(group, keys)
	out := make(map[types.NamespacedName]lookup.Secret, len(keys))
	for _, key := range keys {
		if informers[key] == nil {
			out[key] = lookup.Secret{Reason: fmt.Sprintf("is not read, as Ingresses of its namespace need %d others: share Secrets, or move "+
				"Ingresses to another namespace", mostWatched)}
			continue
		}
		out[key] = w.get(ctx, key, informers[key])
	}
	return out
}

// need notes what the group needs, and returns the informers of that, as far as the namespace may have more.
func (w *Watcher) need(group stack.Group, keys []types.NamespacedName) map[types.NamespacedName]cache.SharedIndexInformer {
	w.mu.Lock()
	defer w.mu.Unlock()
	count := w.release(group, keys)
	informers := make(map[types.NamespacedName]cache.SharedIndexInformer, len(keys))
	for _, key := range keys {
		if w.watched[key] == nil {
			if count[key.Namespace] >= mostWatched {
				continue
			}
			count[key.Namespace]++
			w.watched[key] = w.watch(key)
		}
		w.watched[key].groups[group] = true
		informers[key] = w.watched[key].informer
	}
	return informers
}

// release notes that of all Secrets the group needs no others, and counts by namespace those that are still watched. The caller holds the
// lock.
func (w *Watcher) release(group stack.Group, needed []types.NamespacedName) map[string]int {
	isNeeded, count := map[types.NamespacedName]bool{}, map[string]int{}
	for _, key := range needed {
		isNeeded[key] = true
	}
	for key, watched := range w.watched {
		if !isNeeded[key] {
			delete(watched.groups, group)
		}
		if len(watched.groups) > 0 {
			count[key.Namespace]++
			continue
		}
		watched.stop()
		delete(w.watched, key)
	}
	return count
}

// watch begins to look out for a Secret. The caller holds the lock.
func (w *Watcher) watch(key types.NamespacedName) *watched {
	ctx, stop := context.WithCancel(w.ctx)
	api := w.Client.CoreV1().Secrets(key.Namespace)
	only := func(options *metav1.ListOptions) {
		options.FieldSelector, options.LabelSelector = fields.OneTermEqualSelector("metadata.name", key.Name).String(), w.Label
	}
	informer := cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			only(&options)
			return api.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			only(&options)
			return api.Watch(ctx, options)
		},
	}, w.Client), &corev1.Secret{}, 0, nil)
	log := ctrl.LoggerFrom(ctx).WithValues("secret", key)
	_ = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		log.V(1).Info("Failed to watch a Secret of an Ingress", "error", err.Error()) // the pass tells the user
	})
	tell := func() { w.tell(key) }
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { tell() }, UpdateFunc: func(any, any) { tell() }, DeleteFunc: func(any) { tell() },
	}) // it fails on an informer that has stopped
	go informer.RunWithContext(ctx)
	return &watched{informer: informer, stop: stop, groups: map[stack.Group]bool{}}
}

// tell tells all groups that need a Secret.
func (w *Watcher) tell(key types.NamespacedName) {
	w.mu.Lock()
	var groups []stack.Group
	if watched := w.watched[key]; watched != nil {
		for group := range watched.groups {
			groups = append(groups, group)
		}
	}
	w.mu.Unlock()
	for _, group := range groups {
		w.changed(group)
	}
}

// get reads one that is watched, from the API server while the watch has nothing to say.
func (w *Watcher) get(ctx context.Context, key types.NamespacedName, informer cache.SharedIndexInformer) lookup.Secret {
	if informer.HasSynced() {
		if object, ok, _ := informer.GetStore().GetByKey(key.String()); ok {
			return read(w.Label, object.(*corev1.Secret), nil)
		}
	}
	secret, err := w.Client.CoreV1().Secrets(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	return read(w.Label, secret, err)
}
