// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// index finds the objects of one kind by a value of theirs. It holds those that a watch has brought, the cache's own mostly:
// they are read only.
// controller-runtime's indexes keep two sets for each value and make a copy of each object that they list: with thousands
// of pods that was a fifth of the memory, and of all that was allocated.
type index[T client.Object] struct {
	values func(T) []string
	wide   bool // finds objects of all namespaces together, whose name is empty then

	mu    sync.RWMutex
	found map[types.NamespacedName]shelf[T] // by namespace and value
}

func newIndex[T client.Object](values func(T) []string) *index[T] {
	return &index[T]{values: values, found: map[types.NamespacedName]shelf[T]{}}
}

// At are the objects of the namespace that have the value.
func (x *index[T]) At(namespace, value string) []T {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.found[types.NamespacedName{Namespace: namespace, Name: value}].all()
}

// First is one of them, nil when there is none.
func (x *index[T]) First(namespace, value string) T {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.found[types.NamespacedName{Namespace: namespace, Name: value}].first()
}

// eachValue calls look with each value that an object has, and with one that objects of several namespaces have several times. It must not
// use the index.
func (x *index[T]) eachValue(look func(string)) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for key := range x.found {
		look(key.Name)
	}
}

// change takes an object out and another one in, at once, so that a reader never misses one that is being updated. Either may be nil.
// The values are read before the lock is taken.
func (x *index[T]) change(out, in T) {
	leave, come := x.valuesOf(out), x.valuesOf(in)
	stays := !isNil(out) && !isNil(in) && nameOf(out) == nameOf(in) && slices.Equal(leave, come)
	x.mu.Lock()
	defer x.mu.Unlock()
	if !stays {
		for _, value := range leave {
			x.remove(out, value)
		}
	}
	for _, value := range come {
		key := x.key(in, value)
		x.found[key] = x.found[key].with(in)
	}
}

func (x *index[T]) valuesOf(o T) []string {
	if isNil(o) {
		return nil
	}
	return x.values(o)
}

// isNil reports whether there is no object.
func isNil[T client.Object](o T) bool {
	var none T
	return any(o) == any(none)
}

// remove takes an object out of those that have the value. The lock is held.
func (x *index[T]) remove(o T, value string) {
	key := x.key(o, value)
	there, ok := x.found[key]
	if !ok {
		return
	}
	if left, empty := there.without(nameOf(o)); empty {
		delete(x.found, key)
	} else {
		x.found[key] = left
	}
}

func (x *index[T]) key(o T, value string) types.NamespacedName {
	if x.wide {
		return types.NamespacedName{Name: value}
	}
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: value}
}

// shelf are the objects that have one value, each once. Mostly there is one, which takes no more than its place in the index.
type shelf[T client.Object] struct {
	one  T
	many *several[T] // instead, when there have been several
}

func (s shelf[T]) all() []T {
	switch {
	case s.many != nil:
		return slices.Clone(s.many.objects)
	case isNil(s.one):
		return nil
	default:
		return []T{s.one}
	}
}

func (s shelf[T]) first() T {
	if s.many != nil {
		return s.many.objects[0]
	}
	return s.one
}

// with is the shelf with the object, instead of one of its name.
func (s shelf[T]) with(o T) shelf[T] {
	switch {
	case s.many != nil:
		s.many.put(o)
	case isNil(s.one) || nameOf(s.one) == nameOf(o):
		s.one = o
	default:
		s = shelf[T]{many: &several[T]{objects: []T{s.one, o}}}
	}
	return s
}

// without is the shelf without the object of that name, and whether none is left.
func (s shelf[T]) without(name types.NamespacedName) (left shelf[T], empty bool) {
	if s.many != nil {
		return s, s.many.remove(name)
	}
	return s, nameOf(s.one) == name
}

// several are the objects of a shelf with several. All of a namespace's may have the same value, so no change looks through a long one.
type several[T client.Object] struct {
	objects []T
	places  map[types.NamespacedName]int // in objects; nil while they are few
}

// fewObjects are found sooner by looking at each.
const fewObjects = 16

func (s *several[T]) put(o T) {
	if at := s.place(nameOf(o)); at >= 0 {
		s.objects[at] = o
		return
	}
	s.objects = append(s.objects, o)
	switch {
	case s.places != nil:
		s.places[nameOf(o)] = len(s.objects) - 1
	case len(s.objects) > fewObjects:
		s.places = make(map[types.NamespacedName]int, len(s.objects))
		for at, there := range s.objects {
			s.places[nameOf(there)] = at
		}
	}
}

// remove takes the object of that name out, and reports whether none is left.
func (s *several[T]) remove(name types.NamespacedName) (empty bool) {
	at, last := s.place(name), len(s.objects)-1
	if at < 0 {
		return last < 0
	}
	s.objects[at] = s.objects[last]
	if s.places != nil {
		s.places[nameOf(s.objects[at])] = at
		delete(s.places, name)
	}
	s.objects = slices.Delete(s.objects, last, last+1)
	return last == 0
}

// place is where the object of that name is, -1 when it is not there.
func (s *several[T]) place(name types.NamespacedName) int {
	if s.places == nil {
		return slices.IndexFunc(s.objects, func(o T) bool { return nameOf(o) == name })
	}
	if at, there := s.places[name]; there {
		return at
	}
	return -1
}

func nameOf(o client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}
