// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/targetgate/targetgate/targets/events"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/report"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// ending is how a binding went of which something is remembered.
type ending struct{ atomic.Int32 }

const (
	notTold int32 = iota // the watch has not told yet, or tells nothing
	deleted              // somebody deleted it
	lost                 // nobody has deleted it: a new list lacks it, and it had our finalizer
)

// vanished says of a pass that its binding is gone. Somebody took our finalizer off it before, as tools do that replace whole objects.
type vanished struct{ recreated bool } // there is another binding of that name

// endPause is after which it is asked again how a binding went: the watch is about to tell.
const endPause = 500 * time.Millisecond

// hold remembers a binding that has our finalizer: if it vanishes, its targets are deregistered all the same.
func (m *memory) hold(binding *v1beta1.TargetGroupBinding) {
	if m.claims.IsOurs(binding) {
		m.held = binding
	}
}

// letGo is called before we take our finalizer off: what vanishes then has been cleaned up.
func (m *memory) letGo() { m.held = nil }

// notesEnds passes all events, and has the memory of each binding that goes say how.
func (all *memories) notesEnds() predicate.Funcs {
	all.toldOfEnds = true
	return predicate.Funcs{
		DeleteFunc: func(e event.DeleteEvent) bool {
			all.noteEnd(e.Object.(*v1beta1.TargetGroupBinding), e.DeleteStateUnknown)
			return true
		},
		UpdateFunc: func(e event.UpdateEvent) bool { // after a pause in which it was deleted and created again
			if e.ObjectOld.GetUID() != e.ObjectNew.GetUID() {
				all.noteEnd(e.ObjectOld.(*v1beta1.TargetGroupBinding), true)
			}
			return true
		},
	}
}

// noteEnd takes in the last that was seen of a binding. Missed says that no watch has told of its end: a new list lacks it. If it had our
// finalizer then, and was not being deleted, it was lost with the API server's data: its load balancer and its pods may be there still. A
// watch tells of deletions alone, and may show the finalizer: one that is put back while a deletion goes on does not stop that.
func (all *memories) noteEnd(last *v1beta1.TargetGroupBinding, missed bool) {
	end := deleted
	if missed && last.DeletionTimestamp.IsZero() && all.mode.Holds(last) {
		end = lost
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	key := client.ObjectKeyFromObject(last)
	for _, m := range append(all.vanished[key], all.byBinding[key]) {
		if m != nil && m.uid == last.UID {
			m.end.Store(end)
		}
	}
}

// setAside finds out whether the binding of that name that is remembered has vanished, and returns all such; uid is that of the present
// one, empty for none. Passes only.
func (all *memories) setAside(key types.NamespacedName, uid types.UID) []*memory {
	all.mu.Lock()
	defer all.mu.Unlock()
	if m := all.byBinding[key]; m != nil && m.uid != uid && m.held != nil {
		binding := m.held.DeepCopy()
		binding.DeletionTimestamp = ptr.To(metav1.NewTime(all.clock.Now()))
		all.mode.Claim(binding)
		m.held = binding
		delete(all.byBinding, key)
		all.vanished[key] = append(all.vanished[key], m)
	}
	return all.vanished[key]
}

// hasVanished reports whether one of that name has, and is not cleaned up yet.
func (all *memories) hasVanished(key types.NamespacedName) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	return len(all.vanished[key]) > 0
}

// drop forgets a binding that has vanished.
func (all *memories) drop(key types.NamespacedName, m *memory) {
	all.mu.Lock()
	defer all.mu.Unlock()
	var rest []*memory
	for _, other := range all.vanished[key] {
		if other != m {
			rest = append(rest, other)
		}
	}
	if all.vanished[key] = rest; len(rest) == 0 {
		delete(all.vanished, key)
	}
}

// cleanUp deregisters the targets of bindings of that name that have vanished, and says when to look again. Binding is the present one, nil
// for none. Waits says that nothing may be sent for it yet: a call of the other one for the same group may be under way.
func (r *Registrar) cleanUp(ctx context.Context, key types.NamespacedName, binding *v1beta1.TargetGroupBinding) (
	again time.Duration, waits bool, err error,
) {
	var uid types.UID
	if binding != nil {
		uid = binding.UID
	}
	for _, m := range r.bindings.setAside(key, uid) {
		s := passState{memory: m, key: key, calls: r.callsOf(m.held, m.group), vanished: &vanished{recreated: binding != nil}}
		in, done, err := r.cleanUpOne(ctx, s)
		if err != nil {
			return 0, false, fmt.Errorf("cleaning up after a binding that was deleted without our finalizer: %w", err)
		}
		if done {
			r.bindings.drop(key, m)
			continue
		}
		again = retry.Soonest(again, in)
		waits = waits || binding != nil && binding.Spec.TargetGroupARN == m.held.Spec.TargetGroupARN
	}
	return again, waits, nil
}

func (r *Registrar) cleanUpOne(ctx context.Context, s passState) (again time.Duration, done bool, err error) {
	binding := s.held
	s.status.Drop(r.Clock.Now())
	switch end := s.end.Load(); {
	case end == notTold && r.bindings.toldOfEnds:
		return endPause, false, nil
	case end == lost:
		r.reporter.Event(binding, report.LostBinding(binding.Spec.TargetGroupARN))
		ctrl.LoggerFrom(ctx).Info("A binding is gone although it had our finalizer, its targets stay registered",
			"targetGroup", binding.Spec.TargetGroupARN)
		return 0, true, nil
	}
	if why := r.Consent.RoleRefusal(binding.Namespace, binding.Spec.IamRoleArnToAssume); why != "" {
		r.reporter.Event(binding, events.Warning(v1beta1.ReasonRoleNotAllowed, "Deregister", notDeregistered, why))
		return 0, true, nil
	}
	duplicates, err := ownership.Duplicates(ctx, r.Client, binding)
	if err != nil {
		return 0, false, err
	}
	defer report.ObserveStage(report.StageCleanup, r.Clock)()
	if !s.group.Is(binding) { // it was left alone at the end
		s.group = targetgroup.New(binding, r.bindings.subnets, r.Clock.Now())
		s.calls = r.callsOf(binding, s.group)
	}
	var next nextPass
	err = r.empty(ctx, s, binding, duplicates, &next)
	return time.Duration(next), s.claims.IsDiscarded(), err
}
