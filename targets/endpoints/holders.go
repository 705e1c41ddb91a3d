// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Holders says which bindings care for a pod or node although no slice lists it, or no selector selects it: its address or ID is
// in their groups. A pass says for its binding what it has to be woken for, before it looks at the pods: of what changes later the
// watch tells. Safe for concurrent use; nil holds nothing.
type Holders struct {
	mu       sync.Mutex
	bindings map[types.NamespacedName][]string        // names, by namespace and target ID
	held     map[types.NamespacedName]map[string]bool // IDs, by binding
}

func newHolders() *Holders {
	return &Holders{bindings: map[types.NamespacedName][]string{}, held: map[types.NamespacedName]map[string]bool{}}
}

// Hold replaces what the binding held before. Mostly nothing changes, and both are empty.
func (h *Holders) Hold(key types.NamespacedName, ids map[string]bool) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.held[key]
	if maps.Equal(before, ids) {
		return
	}
	for id := range before {
		if !ids[id] {
			h.release(key, id)
		}
	}
	for id := range ids {
		if !before[id] {
			at := types.NamespacedName{Namespace: key.Namespace, Name: id}
			h.bindings[at] = append(h.bindings[at], key.Name)
		}
	}
	if h.held[key] = ids; len(ids) == 0 {
		delete(h.held, key)
	}
}

func (h *Holders) release(key types.NamespacedName, id string) {
	at := types.NamespacedName{Namespace: key.Namespace, Name: id}
	left := slices.DeleteFunc(h.bindings[at], func(name string) bool { return name == key.Name })
	if h.bindings[at] = left; len(left) == 0 {
		delete(h.bindings, at)
	}
}

// Of are the names of the bindings in the namespace that hold one of the IDs.
func (h *Holders) Of(namespace string, ids []string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for _, id := range ids {
		out = append(out, h.bindings[types.NamespacedName{Namespace: namespace, Name: id}]...)
	}
	return out
}

// Holds reports whether the binding does.
func (h *Holders) Holds(key types.NamespacedName, id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.held[key][id]
}
