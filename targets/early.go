// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/conditions"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// In a protected namespace the incumbent registers pods and opens their gates, the latter as late as its turn comes. With
// Registrar.OpenIncumbentGates these gates are opened as soon as a reading of ours finds their targets healthy (conditions.OpenEarly says
// when that may be believed). Such a binding is read while one of its pods waits, and nothing else is done for it.

// earlyGates is what is remembered of the gates of the incumbent's bindings. Safe for concurrent use.
type earlyGates struct {
	mu        sync.Mutex
	byBinding map[types.NamespacedName]*earlyGate
}

// earlyGate is what is remembered of one binding. Its group is only read.
type earlyGate struct {
	uid   types.UID // of the binding
	arn   string
	group *targetgroup.Group
	gates *conditions.Gates
	seen  conditions.Sights // passes only
}

// of is what is remembered of the binding, as it is now.
func (e *earlyGates) of(
	key types.NamespacedName, binding *v1beta1.TargetGroupBinding, subnets *targetgroup.Subnets, now time.Time,
) *earlyGate {
	e.mu.Lock()
	defer e.mu.Unlock()
	known := e.byBinding[key]
	if known == nil || known.uid != binding.UID || known.arn != binding.Spec.TargetGroupARN {
		known = &earlyGate{
			uid: binding.UID, arn: binding.Spec.TargetGroupARN, group: targetgroup.New(binding, subnets, now), gates: conditions.NewGates(key),
		}
		known.group.Retire() // it sends nothing
		if e.byBinding == nil {
			e.byBinding = map[types.NamespacedName]*earlyGate{}
		}
		e.byBinding[key] = known
	}
	return known
}

func (e *earlyGates) forget(key types.NamespacedName) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.byBinding, key)
}

// openEarly is a pass over a binding that the incumbent works on. It says when to look again, 0 for not before something changes.
func (r *Registrar) openEarly(ctx context.Context, binding *v1beta1.TargetGroupBinding) (time.Duration, error) {
	key := client.ObjectKeyFromObject(binding)
	if wanted, err := r.opensEarly(ctx, binding); !wanted || err != nil {
		r.early.forget(key)
		return 0, err
	}
	one := r.early.of(key, binding, r.bindings.subnets, r.Clock.Now())
	one.seen = one.seen.See(r.gatedPods(key), one.gates.Gate(), r.Clock.Now())
	if !one.seen.Await() {
		return r.gates.Write(one.gates, nil), nil
	}
	group := one.group.Snapshot()
	res, err := r.resolver.ForPass().Resolve(ctx, binding, group.Targets)
	if err != nil {
		return 0, err
	}
	updates, awaited := conditions.OpenEarly(res.Endpoints, group, one.seen)
	var next requeue
	next.in(r.gates.Write(one.gates, updates))
	if len(awaited) > 0 {
		calls := r.callsOf(binding, one.group)
		reading := plan.NextReading(plan.ReadingInput{
			Group: group, Awaited: awaited, Policy: r.Policy, BudgetIsShort: calls.Client.Short(), DriftInterval: r.DriftInterval,
		})
		reading.Targets = nil // the whole group, as nobody tells of new targets
		next.in(calls.Read(reading))
	}
	return time.Duration(next), nil
}

// opensEarly reports whether gates of the binding, which is not ours, are to be opened early.
func (r *Registrar) opensEarly(ctx context.Context, binding *v1beta1.TargetGroupBinding) (bool, error) {
	if !r.OpenIncumbentGates || r.Mode != ownership.Beside || !binding.DeletionTimestamp.IsZero() {
		return false, nil
	}
	if !binding.Spec.IsIP() || ownership.Incomplete(&binding.Spec) != "" ||
		r.Consent.RoleRefusal(binding.Namespace, binding.Spec.IamRoleArnToAssume) != "" {
		return false, nil
	}
	var ns corev1.Namespace
	if err := r.Client.Get(ctx, client.ObjectKey{Name: binding.Namespace}, &ns, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("getting namespace: %w", err)
	}
	return ownership.IsProtected(ns.Labels), nil
}

// registrationShown reports whether the incumbent has said of one pod more, or of one less, that its target is registered.
func registrationShown(before, after *corev1.Pod) bool {
	return countRegistering(before) != countRegistering(after)
}

func countRegistering(pod *corev1.Pod) int {
	n := 0
	for _, c := range pod.Status.Conditions {
		_, gate := readiness.BindingOf(c.Type)
		if gate && c.Status == corev1.ConditionFalse && c.Reason == elbv2.ReasonRegistrationInProgress {
			n++
		}
	}
	return n
}
