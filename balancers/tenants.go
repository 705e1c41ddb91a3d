// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/balancers/ingress/membership"
)

// A pass gives way when a group of another tenant waits for a worker: when it is as old as turn and has changed something, or is as old as
// longTurn and has not, as AWS refuses what it asks for. The rest is left to the next pass. AWS lets some 3 rules be made a second.
const (
	turn     = 2 * time.Second
	longTurn = 10 * time.Second
)

// tenants says whose turn a pass over a group takes: that of its namespace, or of all the namespaces together that have members in it. So
// nobody can put the group of others into the line of their own groups.
type tenants struct {
	mu sync.Mutex                  // guards the map
	of map[membership.Group]tenant // of explicit groups; the others have a namespace
}

// tenant is some namespaces, in order, and their names in one.
type tenant struct {
	namespaces []string
	name       string
}

// tenantOf is the tenant of a group. One of which no member is known is a tenant of its own.
func (t *tenants) tenantOf(req ctrl.Request) string {
	group := membership.Group(req.NamespacedName)
	if !group.IsExplicit() {
		return group.Namespace
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return cmp.Or(t.of[group].name, "group "+group.Name)
}

// found takes in that an Ingress of the namespace may be in the group.
func (t *tenants) found(req ctrl.Request, namespace string) {
	group := membership.Group(req.NamespacedName)
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.of[group].namespaces
	if at, found := slices.BinarySearch(known, namespace); group.IsExplicit() && !found {
		t.set(group, slices.Insert(known, at, namespace))
	}
}

// loaded takes in the namespaces of a group as a pass has found them. Without any, those before stay.
func (t *tenants) loaded(group membership.Group, namespaces []string) {
	if !group.IsExplicit() || len(namespaces) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.set(group, slices.Compact(slices.Sorted(slices.Values(namespaces))))
}

// set is called with the lock held.
func (t *tenants) set(group membership.Group, namespaces []string) {
	if t.of == nil {
		t.of = map[membership.Group]tenant{}
	}
	t.of[group] = tenant{namespaces, strings.Join(namespaces, ",")}
}

func (t *tenants) forget(group membership.Group) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.of, group)
}

// namespaces are those of all members, also of those that leave.
func (p *pass) namespaces() (out []string) {
	for _, m := range p.members.Active {
		out = append(out, m.Ingress.Namespace)
	}
	for _, i := range slices.Concat(p.members.Inactive, p.leaving) {
		out = append(out, i.Namespace)
	}
	return out
}

// interrupted reports whether the pass is to give way to another tenant.
func (p *pass) interrupted(changed bool) bool {
	age := p.Clock.Since(p.since)
	return p.othersWait != nil && (age >= longTurn || changed && age >= turn) && p.othersWait(requestOf(p.group))
}
