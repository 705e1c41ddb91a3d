// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/consent"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

const testRole = "arn:aws:iam::210987654321:role/shared"

// allowing has the bed's cluster allow the roles of a list.
func allowing(b *bed, list string) {
	b.t.Helper()
	roles, err := consent.ParseRoles([]byte(list))
	b.must(err)
	b.Consent.Roles = func() *consent.Roles { return roles }
}

// inRoleBed has pods web-0 and web-1, both wanted, and a binding that names a role.
func inRoleBed(t *testing.T, test func(b *bed)) {
	t.Helper()
	inConsentBed(t, func(b *bed) {
		binding := b.binding()
		binding.Spec.IamRoleArnToAssume = testRole
		b.must(b.cluster.Update(t.Context(), binding))
		test(b)
	})
}

func TestAllowedRoleIsUsed(t *testing.T) {
	inRoleBed(t, func(b *bed) {
		allowing(b, "shop: ['arn:aws:iam::210987654321:role/*']")
		b.settle()
		wantTargets(b, bothRegistered)
	})
}

// With a role that is not allowed AWS is not asked, and gates open in time.
func TestForbiddenRoleIsNotUsed(t *testing.T) {
	inRoleBed(t, func(b *bed) {
		allowing(b, "till: ['arn:aws:iam::210987654321:role/*']")
		b.settle()
		b.after(targetgroup.Brief)
		want := "role " + testRole + " may not be assumed for bindings of namespace shop"
		wantCondition(b, v1beta1.ConditionReady, "False", v1beta1.ReasonRoleNotAllowed, want)
		wantCondition(b, v1beta1.ConditionDegraded, "True", v1beta1.ReasonRoleNotAllowed, want)
		if n := b.told(v1beta1.ReasonRoleNotAllowed); n != 1 {
			t.Errorf("told %d times, want once", n)
		}
		if got := b.condition("web-0"); got != "False RegistrationFailed" {
			t.Errorf("condition %q", got)
		}
		for range 20 {
			b.after(testPolicy.ReplacementTimeout / 20)
		}
		b.after(time.Second)
		if got := b.condition("web-0"); got != "True "+readiness.ReasonRoleNotAllowed {
			t.Errorf("condition %q, want an open gate", got)
		}
		if calls := b.aws.Calls(""); len(calls) > 0 {
			t.Errorf("AWS calls %v, want none", calls)
		}
		allowing(b, "shop: ['"+testRole+"']")
		b.after(targetgroup.RecheckPause)
		wantTargets(b, bothRegistered)
	})
}

// A role that was allowed leaves what it has registered, also when the binding is deleted, which waits for nobody.
func TestRoleIsForbiddenLater(t *testing.T) {
	inRoleBed(t, func(b *bed) {
		b.settle()
		b.after(elbv2.SettleTime)
		allowing(b, "")
		before := len(b.aws.Calls(""))
		b.must(b.cluster.Delete(t.Context(), newPod("web-0", "10.0.0.1")))
		b.after(testDrift)
		b.must(b.cluster.Delete(t.Context(), newBinding()))
		b.settle()
		wantTargets(b, bothRegistered)
		if calls := b.aws.Calls("")[before:]; len(calls) > 0 {
			t.Errorf("AWS calls %v, want none", calls)
		}
		if err := b.cluster.Get(t.Context(), webKey, newBinding()); client.IgnoreNotFound(err) != nil || err == nil {
			t.Errorf("the binding is still there: %v", err)
		}
		if b.told("RoleNotAllowed") == 0 {
			t.Error("nobody is told that targets are left")
		}
		if got := b.condition("web-1"); got != "True "+readiness.ReasonBindingDeleted {
			t.Errorf("condition %q", got)
		}
	})
}

func TestChangeOfRolesWakesBindingsThatNameOne(t *testing.T) {
	other := newBinding()
	other.Name, other.UID = "own-identity", "own-identity"
	inBed(t, func(b *bed) {
		binding := b.binding()
		binding.Spec.IamRoleArnToAssume = testRole
		b.must(b.cluster.Update(t.Context(), binding))
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		defer queue.ShutDown()
		b.watcher().recheckRoles(t.Context(), queue)
		if n := queue.Len(); n != 1 {
			t.Fatalf("%d bindings, want one", n)
		}
		if got, _ := queue.Get(); got.NamespacedName != webKey {
			t.Errorf("binding %s, want %s", got, webKey)
		}
	}, other)
}
