// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/beside"
	"github.com/targetgate/targetgate/targets/claims"
	"github.com/targetgate/targetgate/targets/conditions"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/report"
	"github.com/targetgate/targetgate/targets/status"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// memories is what is remembered of all bindings. Safe for concurrent use.
type memories struct {
	mode    ownership.Mode
	clock   clock.PassiveClock
	subnets *targetgroup.Subnets

	toldOfEnds bool // the watch says how bindings went; set before there are passes

	mu        sync.Mutex
	byBinding map[types.NamespacedName]*memory
	vanished  map[types.NamespacedName][]*memory // of bindings that went without our finalizer, and whose targets may be left
	left      map[string]leftover                // by ARN: see leave
}

// memory is what is remembered of one binding. Passes of a binding come one after the other; what only they touch needs no lock.
type memory struct {
	uid    types.UID // of the binding
	group  *targetgroup.Group
	gates  *conditions.Gates
	claims *claims.Claims
	status *status.Status

	end  ending
	held *v1beta1.TargetGroupBinding // passes only: as it was last seen while it had our finalizer, nil for never

	rival       beside.Rival        // passes only
	detached    conditions.Detached // passes only
	resolved    endpoints.Memory    // passes only
	unreadyKept plan.UnreadyKept    // passes only
	leaving     plan.Leaving        // passes only
	foreign     plan.Foreign        // passes only
	emitted     map[string]bool     // passes only: the notices of the last one
	lost        report.Unreported   // passes only: others have deregistered them
	late        report.Unreported   // passes only: deregistered too late
}

func newMemories(mode ownership.Mode, clk clock.PassiveClock) *memories {
	return &memories{mode: mode, clock: clk, subnets: targetgroup.NewSubnets(), byBinding: map[types.NamespacedName]*memory{},
		vanished: map[types.NamespacedName][]*memory{}, left: map[string]leftover{}}
}

// of is what is remembered of the binding, as it is now. Passes only: of a new memory the record is forgotten without the lock, and only
// the pass that asks reads it.
func (all *memories) of(key types.NamespacedName, binding *v1beta1.TargetGroupBinding) *memory {
	all.mu.Lock()
	m := all.byBinding[key]
	isNew := m == nil || !m.group.Is(binding)
	if isNew {
		m = newMemory(all.mode, binding, targetgroup.New(binding, all.subnets, all.clock.Now()), m)
		all.byBinding[key] = m
	}
	all.mu.Unlock()
	if isNew {
		m.claims.ForgetRecord()
	}
	return m
}

// find is what is remembered of the binding of that name, nil when nothing is.
func (all *memories) find(key types.NamespacedName) *memory {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.byBinding[key]
}

// forget drops what is remembered of a binding.
func (all *memories) forget(key types.NamespacedName) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.byBinding, key)
}

// newMemory keeps of before, which may be nil, what was written and emitted of the same binding, since when a refusal keeps pods from its
// group, and the writes of claims that are under way or wait after a failure.
func newMemory(mode ownership.Mode, binding *v1beta1.TargetGroupBinding, group *targetgroup.Group, before *memory) *memory {
	m := &memory{
		uid: binding.UID, group: group, gates: conditions.NewGates(client.ObjectKeyFromObject(binding)),
		claims: claims.New(mode), status: &status.Status{}, foreign: plan.NewForeign(binding),
	}
	if before != nil && before.group.ARN() == group.ARN() {
		m.foreign = m.foreign.Inherit(before.group.Owned())
	}
	if before != nil && before.uid == binding.UID {
		m.gates, m.claims, m.status, m.emitted, m.rival = before.gates, before.claims, before.status, before.emitted, before.rival
		m.detached, m.foreign = before.detached.NotAllowed(), before.foreign.Inherit(before.group.Owned())
	}
	return m
}
