// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// modelStore is the model's API server: objects by kind and name. What is in it is never changed in place.
type modelStore struct {
	mu      sync.Mutex
	version int
	objects map[string]map[types.NamespacedName]client.Object
	sorted  map[string][]client.Object                   // by kind, in the order of their names; what has changed since is not there
	refused map[string]time.Time                         // until when writes of a kind are refused
	slow    map[string]time.Duration                     // how long writes of a kind take
	follow  func(change modelChange)                     // called for each change, with the lock held
	patched func(pod *corev1.Pod, c corev1.PodCondition) // called before each write of a condition, without the lock
}

// modelChange is one change of an object: before is nil for a new one, after for one that has gone.
type modelChange struct {
	kind          string
	before, after client.Object
}

func newModelStore() *modelStore {
	return &modelStore{
		objects: map[string]map[types.NamespacedName]client.Object{}, sorted: map[string][]client.Object{},
		refused: map[string]time.Time{}, slow: map[string]time.Duration{},
	}
}

func kindOf(o any) string { return reflect.TypeOf(o).Elem().Name() }

// put creates or replaces an object, which is the store's from now on.
func (m *modelStore) put(o client.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.putLocked(o)
}

func (m *modelStore) putLocked(o client.Object) {
	kind, key := kindOf(o), client.ObjectKeyFromObject(o)
	if m.objects[kind] == nil {
		m.objects[kind] = map[types.NamespacedName]client.Object{}
	}
	before := m.objects[kind][key]
	m.version++
	o.SetResourceVersion(strconv.Itoa(m.version))
	m.objects[kind][key] = o
	delete(m.sorted, kind)
	m.follow(modelChange{kind, before, o})
}

func (m *modelStore) remove(o client.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.removeLocked(o)
}

func (m *modelStore) removeLocked(o client.Object) {
	kind, key := kindOf(o), client.ObjectKeyFromObject(o)
	if before, ok := m.objects[kind][key]; ok {
		delete(m.objects[kind], key)
		delete(m.sorted, kind)
		m.follow(modelChange{kind, before, nil})
	}
}

// edit changes a copy of an object and puts it in its place.
func edit[T client.Object](m *modelStore, o T, change func(T)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now, ok := m.objects[kindOf(o)][client.ObjectKeyFromObject(o)]; ok {
		changed := now.DeepCopyObject().(T)
		change(changed)
		m.putLocked(changed)
	}
}

// listOf are the objects of a kind in the order of their names; read only.
func listOf[T client.Object](m *modelStore) []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	var none T
	kind := kindOf(none)
	if m.sorted[kind] == nil {
		m.sorted[kind] = slices.SortedFunc(maps.Values(m.objects[kind]), byObjectName)
	}
	out := make([]T, len(m.sorted[kind]))
	for i, o := range m.sorted[kind] {
		out[i] = o.(T)
	}
	return out
}

func byObjectName(a, b client.Object) int { return strings.Compare(a.GetName(), b.GetName()) }

// stored is the object of that name, nil when there is none; read only.
func stored[T client.Object](m *modelStore, namespace, name string) (out T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o, ok := m.objects[kindOf(out)][types.NamespacedName{Namespace: namespace, Name: name}]; ok {
		out = o.(T)
	}
	return out
}
