// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// Others of the group go on without a member that is held.
func TestWhoIsHeld(t *testing.T) {
	ours, foreign := stack.Ref{ID: "arn-ours"}, stack.Ref{ID: "arn-foreign"}
	rule := func(to stack.Ref) steps.Change {
		return steps.CreateRule{Rule: stack.Rule{Action: stack.Action{Forward: &stack.Forward{Groups: []stack.Weighted{{Group: to}}}}}}
	}
	seen := stack.Stack{TargetGroups: []stack.TargetGroup{{ARN: ours.ID}}}
	for name, tc := range map[string]struct {
		change steps.Change
		err    error
		want   bool
	}{
		"who asks for what AWS refuses":               {rule(ours), &smithy.GenericAPIError{Code: "InvalidLoadBalancerAction"}, true},
		"who names a target group that is not there":  {rule(foreign), &smithy.GenericAPIError{Code: "TargetGroupNotFound"}, true},
		"who asks for what policies deny":             {rule(ours), &smithy.GenericAPIError{Code: "AccessDenied"}, true},
		"who asks for what policies of EC2 deny":      {steps.Authorize{}, &smithy.GenericAPIError{Code: "UnauthorizedOperation"}, true},
		"whose target group somebody has deleted":     {rule(ours), &smithy.GenericAPIError{Code: "TargetGroupNotFound"}, false},
		"nobody when our credentials are too old":     {rule(ours), &smithy.GenericAPIError{Code: "ExpiredToken"}, false},
		"whose binding is refused":                    {steps.UpdateBinding{}, apierrors.NewForbidden(ingresses, "a", errors.New("quota")), true},
		"whose binding is wrong":                      {steps.CreateBinding{}, apierrors.NewInvalid(schema.GroupKind{}, "a", nil), true},
		"nobody for a binding that somebody changed":  {steps.UpdateBinding{}, apierrors.NewConflict(ingresses, "a", errors.New("changed")), false},
		"nobody for an API server that does not work": {steps.UpdateBinding{}, apierrors.NewInternalError(errors.New("down")), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := isHoldable(apply.Failure{Step: steps.Step{Change: tc.change}, Err: tc.err}, seen); got != tc.want {
				t.Errorf("held: %v, want %v", got, tc.want)
			}
		})
	}
}

// Rules 14 and 18: a policy denies what one member asks for. The next pass does what the others do, and lets go who is deleted.
func TestWhatPoliciesDenyToOneMemberHoldsUpNoOther(t *testing.T) {
	b := newBed(t, webService(), ingressOf("a", edge), ingressOf("b", edge), ingressOf("gone", edge)).planning()
	m, view := &maker{}, &world{}
	calls := apply.Calls{ELB: m, EC2: m}
	b.View, b.Applier = view, &apply.Applier{Calls: calls, Late: calls, View: view, Bindings: b.Client, VPC: "vpc-1"}
	for range 3 {
		b.mustPass(edge)
	}
	b.edit("a", func(i *networkingv1.Ingress) { i.Annotations["alb.ingress.kubernetes.io/backend-protocol"] = "HTTPS" })
	b.edit("b", func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Path = "/new" })
	b.delete("gone")
	m.denies = "CreateTargetGroup"
	take(&b.events)
	take(&m.calls)
	pass := func(after time.Duration, want ...string) time.Duration {
		t.Helper()
		b.clock.Step(after)
		result := b.mustPass(edge)
		var got []string
		for _, call := range take(&m.calls) {
			operation, _, _ := strings.Cut(call, " ")
			got = append(got, operation)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		return result.RequeueAfter
	}
	pass(0, "CreateRule")
	if len(b.events) != 1 || !strings.HasPrefix(b.events[0], "a Warning FailedDeployModel") {
		t.Errorf("events %q, want one on a", b.events)
	}
	pass(heldSoon, "SetRulePriorities", "DeleteRule", "DeleteRule")
	pass(apply.RuleLag)
	if pass(heldSoon, "DeleteTargetGroup"); b.exists("gone") {
		t.Error("the deleted member is there")
	}
	m.denies = ""
	if again := pass(denialPauses.longest, "CreateTargetGroup", "ModifyRule", "ModifyRule"); again != apply.RuleLag {
		t.Errorf("again in %v, want it when the former target group can go", again)
	}
}
