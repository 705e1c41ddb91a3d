// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"errors"
	"testing"

	"github.com/aws/smithy-go"
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
		"who asks for what AWS refuses":                {rule(ours), &smithy.GenericAPIError{Code: "InvalidLoadBalancerAction"}, true},
		"who names a target group that is not there":   {rule(foreign), &smithy.GenericAPIError{Code: "TargetGroupNotFound"}, true},
		"who names a target group that we may not use": {rule(foreign), &smithy.GenericAPIError{Code: "AccessDenied", Message: "not authorized: " + foreign.ID}, true},
		"nobody for a rule that we may not make":       {rule(foreign), &smithy.GenericAPIError{Code: "AccessDenied", Message: "not authorized: rule"}, false},
		"whose target group somebody has deleted":      {rule(ours), &smithy.GenericAPIError{Code: "TargetGroupNotFound"}, false},
		"nobody for what we may not do":                {rule(ours), &smithy.GenericAPIError{Code: "AccessDenied"}, false},
		"whose binding is refused":                     {steps.UpdateBinding{}, apierrors.NewForbidden(ingresses, "a", errors.New("quota")), true},
		"whose binding is wrong":                       {steps.CreateBinding{}, apierrors.NewInvalid(schema.GroupKind{}, "a", nil), true},
		"nobody for a binding that somebody changed":   {steps.UpdateBinding{}, apierrors.NewConflict(ingresses, "a", errors.New("changed")), false},
		"nobody for an API server that does not work":  {steps.UpdateBinding{}, apierrors.NewInternalError(errors.New("down")), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := isHoldable(apply.Failure{Step: steps.Step{Change: tc.change}, Err: tc.err}, seen); got != tc.want {
				t.Errorf("held: %v, want %v", got, tc.want)
			}
		})
	}
}
