// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tenants says whose turn a pass over a group takes, for the controller's queue. Tenants.mu is taken alone, or under the lock of
// client-go's queue.
package tenants

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Tenants says whose turn a pass over a group takes: that of its namespace, or of all the namespaces together that have members in it. So
// nobody can put the group of others into the line of their own groups. The zero value knows of no members. It is safe for concurrent use.
type Tenants struct {
	mu sync.Mutex                   // guards the map
	of map[reconcile.Request]tenant // of groups without a namespace
}

// tenant is some namespaces, in order, and their names in one.
type tenant struct {
	namespaces []string
	name       string
}

// Of is the tenant of a group. One of which no member is known is a tenant of its own.
func (t *Tenants) Of(group reconcile.Request) string {
	if group.Namespace != "" {
		return group.Namespace
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return cmp.Or(t.of[group].name, "group "+group.Name)
}

// Found takes in that an Ingress of the namespace may be in the group.
func (t *Tenants) Found(group reconcile.Request, namespace string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.of[group].namespaces
	if at, found := slices.BinarySearch(known, namespace); group.Namespace == "" && !found {
		t.set(group, slices.Insert(known, at, namespace))
	}
}

// Loaded takes in the namespaces of a group as a pass has found them. Without any, those before stay.
func (t *Tenants) Loaded(group reconcile.Request, namespaces []string) {
	if group.Namespace != "" || len(namespaces) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.set(group, slices.Compact(slices.Sorted(slices.Values(namespaces))))
}

// set is called with the lock held.
func (t *Tenants) set(group reconcile.Request, namespaces []string) {
	if t.of == nil {
		t.of = map[reconcile.Request]tenant{}
	}
	t.of[group] = tenant{namespaces, strings.Join(namespaces, ",")}
}

// Forget is for a group that has no members any more.
func (t *Tenants) Forget(group reconcile.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.of, group)
}
