// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"maps"
	"slices"
	"time"
)

// Histories hold the versions of the resources of a kind, by id, for readers that see them late. Nobody may be shown what was there before
// the time oldest that a change names. A value is not changed once it was put.
type Histories[T any] map[string]history[T]

// history is the versions of one resource, oldest first.
type history[T any] []version[T]

type version[T any] struct {
	since time.Time
	value T
	gone  bool
}

// Put makes value the version of a resource from now on.
func (h Histories[T]) Put(id string, value T, now, oldest time.Time) {
	h.add(id, version[T]{since: now, value: value}, oldest)
}

// End notes that a resource is gone from now on.
func (h Histories[T]) End(id string, now, oldest time.Time) {
	h.add(id, version[T]{since: now, gone: true}, oldest)
}

func (h Histories[T]) add(id string, v version[T], oldest time.Time) {
	versions := append(h[id], v)
	for len(versions) > 1 && !versions[1].since.After(oldest) {
		versions = versions[1:]
	}
	h[id] = versions
}

// Latest is what a resource is now; false is nothing.
func (h Histories[T]) Latest(id string) (value T, ok bool) {
	versions := h[id]
	if len(versions) == 0 {
		return value, false
	}
	last := versions[len(versions)-1]
	return last.value, !last.gone
}

// Seen is what a resource was at that time; false is nothing.
func (h Histories[T]) Seen(id string, at time.Time) (value T, ok bool) {
	for _, v := range slices.Backward(h[id]) {
		if !v.since.After(at) {
			return v.value, !v.gone
		}
	}
	return value, false
}

// All are the present resources, by id.
func (h Histories[T]) All() []T { return h.each(h.Latest) }

// At are the resources of that time, by id.
func (h Histories[T]) At(at time.Time) []T {
	return h.each(func(id string) (T, bool) { return h.Seen(id, at) })
}

func (h Histories[T]) each(of func(id string) (T, bool)) []T {
	var found []T
	for _, id := range slices.Sorted(maps.Keys(h)) {
		if value, ok := of(id); ok {
			found = append(found, value)
		}
	}
	return found
}
