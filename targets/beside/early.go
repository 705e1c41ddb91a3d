// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package beside

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/conditions"
	"github.com/targetgate/targetgate/targets/consent"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// EarlyGates opens gates of the incumbent's bindings early. In a protected namespace the incumbent registers pods and opens their gates,
// the latter as late as its turn comes. Where Wanted, these gates are opened as soon as a reading of ours finds their targets healthy
// (conditions.OpenEarly says when that may be believed). Such a binding is read while one of its pods waits, and nothing else is done for
// it. Safe for concurrent use, but Open is called for a binding once at a time.
type EarlyGates struct {
	Wanted        bool
	Reader        client.Reader // the cache
	Resolver      *endpoints.Resolver
	Gates         *conditions.Writer
	Subnets       *targetgroup.Subnets
	Clock         clock.PassiveClock
	Policy        plan.Policy
	Consent       consent.Policy
	DriftInterval time.Duration
	// Calls are those of the group, with the binding's role.
	Calls func(*v1beta1.TargetGroupBinding, *targetgroup.Group) *targetgroup.Calls

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
func (e *EarlyGates) of(key types.NamespacedName, binding *v1beta1.TargetGroupBinding) *earlyGate {
	e.mu.Lock()
	defer e.mu.Unlock()
	known := e.byBinding[key]
	if known == nil || known.uid != binding.UID || known.arn != binding.Spec.TargetGroupARN {
		known = &earlyGate{
			uid: binding.UID, arn: binding.Spec.TargetGroupARN, group: targetgroup.New(binding, e.Subnets, e.Clock.Now()),
			gates: conditions.NewGates(key),
		}
		known.group.Retire() // it sends nothing
		if e.byBinding == nil {
			e.byBinding = map[types.NamespacedName]*earlyGate{}
		}
		e.byBinding[key] = known
	}
	return known
}

// Forget drops what is remembered of the binding of that name.
func (e *EarlyGates) Forget(key types.NamespacedName) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.byBinding, key)
}

// Reads reports whether the group of the binding of that name is read, because one of its pods may wait.
func (e *EarlyGates) Reads(key types.NamespacedName) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.byBinding[key] != nil
}

// Open is a pass over a binding that the incumbent works on. It says when to look again, 0 for not before something changes.
func (e *EarlyGates) Open(ctx context.Context, binding *v1beta1.TargetGroupBinding) (time.Duration, error) {
	key := client.ObjectKeyFromObject(binding)
	if wanted, err := e.opens(ctx, binding); !wanted || err != nil {
		e.Forget(key)
		return 0, err
	}
	one := e.of(key, binding)
	one.seen = one.seen.See(e.Resolver.PodByGate.At(key.Namespace, key.Name), one.gates.Gate(), e.Clock.Now())
	if !one.seen.Await() {
		return e.Gates.Write(one.gates, nil), nil
	}
	group := one.group.Snapshot()
	res, err := e.Resolver.ForPass().Resolve(ctx, binding, group.Targets)
	if err != nil {
		return 0, err
	}
	updates, awaited := conditions.OpenEarly(res.Endpoints, group, one.seen)
	again := e.Gates.Write(one.gates, updates)
	if len(awaited) > 0 {
		calls := e.Calls(binding, one.group)
		reading := plan.NextReading(plan.ReadingInput{
			Group: group, Awaited: awaited, Policy: e.Policy, BudgetIsShort: calls.Client.Short(), DriftInterval: e.DriftInterval,
		})
		reading.Targets = nil // the whole group, as nobody tells of new targets
		again = retry.Soonest(again, calls.Read(reading))
	}
	return again, nil
}

// opens reports whether gates of the binding, which is not ours, are to be opened early.
func (e *EarlyGates) opens(ctx context.Context, binding *v1beta1.TargetGroupBinding) (bool, error) {
	if !e.Wanted || !binding.DeletionTimestamp.IsZero() {
		return false, nil
	}
	if !binding.Spec.IsIP() || ownership.Incomplete(&binding.Spec) != "" ||
		e.Consent.RoleRefusal(binding.Namespace, binding.Spec.IamRoleArnToAssume) != "" {
		return false, nil
	}
	var ns corev1.Namespace
	if err := e.Reader.Get(ctx, client.ObjectKey{Name: binding.Namespace}, &ns, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("getting namespace: %w", err)
	}
	return ownership.IsProtected(ns.Labels), nil
}

// RegistrationShown reports whether the incumbent has said of one pod more, or of one less, that its target is registered.
func RegistrationShown(before, after *corev1.Pod) bool {
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
