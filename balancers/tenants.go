// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"cmp"
	"sync"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/balancers/ingress/membership"
)

// turn is how long a pass does steps while a group of another tenant waits for a worker: then the rest is left to the next pass. A group of
// 100 rules takes a minute at the rate at which AWS lets them be made.
const turn = 2 * time.Second

// tenants are the namespaces in whose turns passes over groups come. A group that has members in several comes in the turns of one of them.
type tenants struct {
	mu sync.Mutex                  // guards the map
	of map[membership.Group]string // of explicit groups; the others have a namespace
}

// tenantOf is whose turn a pass over the group comes in. An explicit group of which no member is known is a tenant of its own.
func (t *tenants) tenantOf(req ctrl.Request) string {
	group := membership.Group(req.NamespacedName)
	if !group.IsExplicit() {
		return group.Namespace
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return cmp.Or(t.of[group], "group "+group.Name)
}

// found takes in that an Ingress of the namespace is in the group, which may have others.
func (t *tenants) found(req ctrl.Request, namespace string) {
	group := membership.Group(req.NamespacedName)
	t.mu.Lock()
	defer t.mu.Unlock()
	if group.IsExplicit() && t.of[group] == "" {
		t.set(group, namespace)
	}
}

// loaded takes in the members that a pass has found.
func (t *tenants) loaded(group membership.Group, members membership.Members) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case !group.IsExplicit():
	case len(members.Active) > 0:
		t.set(group, members.Active[0].Ingress.Namespace)
	case len(members.Inactive) == 0:
		delete(t.of, group)
	}
}

// set is called with the lock held.
func (t *tenants) set(group membership.Group, namespace string) {
	if t.of == nil {
		t.of = map[membership.Group]string{}
	}
	t.of[group] = namespace
}
