// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"maps"
	"slices"
	"time"
)

// history holds the versions of one resource, oldest first, for readers that see it late. A value is not changed once it
// was put.
type history[T any] struct{ versions []version[T] }

type version[T any] struct {
	since time.Time
	value T
	gone  bool
}

// put adds a version and drops those that nobody can see any more who reads what was there at oldest or later.
func (h *history[T]) put(v version[T], oldest time.Time) {
	h.versions = append(h.versions, v)
	for len(h.versions) > 1 && !h.versions[1].since.After(oldest) {
		h.versions = h.versions[1:]
	}
}

// at is what was there at that time; false is nothing.
func (h *history[T]) at(t time.Time) (value T, ok bool) {
	for _, v := range slices.Backward(h.versions) {
		if !v.since.After(t) {
			return v.value, !v.gone
		}
	}
	return value, false
}

// histories are those of all resources of a kind, by id.
type histories[T any] map[string]*history[T]

// latest is the present version; false is none.
func (h histories[T]) latest(id string) (value T, ok bool) {
	if found := h[id]; found != nil {
		last := found.versions[len(found.versions)-1]
		return last.value, !last.gone
	}
	return value, false
}

// all are the present versions, by id.
func (h histories[T]) all() []T {
	var found []T
	for _, id := range slices.Sorted(maps.Keys(h)) {
		if value, ok := h.latest(id); ok {
			found = append(found, value)
		}
	}
	return found
}

// at are the versions of that time, by id.
func (h histories[T]) at(t time.Time) []T {
	var found []T
	for _, id := range slices.Sorted(maps.Keys(h)) {
		if value, ok := h[id].at(t); ok {
			found = append(found, value)
		}
	}
	return found
}

// put adds a version of a resource.
func (h histories[T]) put(id string, v version[T], oldest time.Time) {
	if h[id] == nil {
		h[id] = &history[T]{}
	}
	h[id].put(v, oldest)
}
