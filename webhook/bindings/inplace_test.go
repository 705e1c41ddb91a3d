// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fakeelbv2 "github.com/targetgate/targetgate/aws/elbv2/fake"
	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/webhook/webhooktest"
)

// anotherARN is of a second target group in AWS, "api".
const anotherARN = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/api/0123456789abcdef"

func ofGroup(arn string) change {
	return func(b *v1beta1.TargetGroupBinding) { b.Spec.TargetGroupARN = arn }
}

func named(name string) change {
	return func(b *v1beta1.TargetGroupBinding) { b.Spec.TargetGroupName = name }
}

// Tools delete and re-create a binding at 422. That is right only if the creation is admitted, and gives what was asked for.
func TestOnlyAChangeThatTakesANewBindingIsInvalid(t *testing.T) {
	none := func(*v1beta1.TargetGroupBinding) {}
	tests := map[string]struct {
		old    change
		new    []change
		others []client.Object
		want   func(error) bool
	}{
		"another group":                         {new: []change{ofGroup(anotherARN)}, want: apierrors.IsInvalid},
		"another group, by name":                {new: []change{ofGroup(""), named("api")}, want: apierrors.IsInvalid},
		"a group that AWS does not have":        {new: []change{ofGroup(webhooktest.ARN + "0")}, want: apierrors.IsInvalid},
		"the type of the group, which is wrong": {old: instance, want: apierrors.IsInvalid},
		"the VPC of the group, which is wrong":  {old: inVPC("vpc-11111111"), want: apierrors.IsInvalid},

		"no name of a group":                        {new: []change{ofGroup(""), named("none")}, want: apierrors.IsForbidden},
		"a type, of a group that AWS does not have": {old: ofGroup(webhooktest.ARN + "0"), new: []change{ofGroup(webhooktest.ARN + "0"), instance}, want: apierrors.IsForbidden},
		"no ARN":                                       {new: []change{ofGroup(anotherARN + "x")}, want: apierrors.IsForbidden},
		"a type that the group has not":                {new: []change{instance}, want: apierrors.IsForbidden},
		"a VPC that the group is not in":               {new: []change{inVPC("vpc-11111111")}, want: apierrors.IsForbidden},
		"another group, which another binding has":     {new: []change{ofGroup(anotherARN)}, others: []client.Object{webhooktest.NewBinding("first", elsewhere, ofGroup(anotherARN))}, want: apierrors.IsForbidden},
		"another group, by name, which another has":    {new: []change{ofGroup(""), named("api")}, others: []client.Object{webhooktest.NewBinding("first", elsewhere, ofGroup(anotherARN))}, want: apierrors.IsForbidden},
		"another group, which speaks another protocol": {new: []change{ofGroup(anotherARN), speaking("TCP")}, want: apierrors.IsForbidden},
		"another group beside a bad range":             {new: []change{ofGroup(anotherARN), from("bad")}, want: apierrors.IsForbidden},
		"another group beside a bad role":              {new: []change{ofGroup(anotherARN), assuming("shared")}, want: apierrors.IsForbidden},
		"another group beside what was wrong before":   {old: from("bad"), new: []change{from("bad"), ofGroup(anotherARN)}, want: apierrors.IsForbidden},
		"a protocol that the group has not":            {new: []change{speaking("TCP")}, want: apierrors.IsForbidden},
		"the VPC left out":                             {new: []change{inVPC("")}, want: apierrors.IsForbidden},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.old == nil {
				tc.old = none
			}
			validator, api := newValidator(t, append(tc.others, webhooktest.NewBinding("web", tc.old))...)
			another := testGroup(anotherARN, elbv2types.TargetTypeEnumIp)
			another.TargetGroupName = aws.String("api")
			api.AddGroup(another)
			_, err := validator.update(t.Context(), changed(webhooktest.NewBinding("web", tc.old), webhooktest.NewBinding("web", tc.new...)))
			if !tc.want(err) {
				t.Errorf("got %s, %v", apierrors.ReasonForError(err), err)
			}
		})
	}
}

// While AWS cannot say whether the creation would be admitted, nobody is told to delete anything.
func TestAChangeThatTakesANewBindingWaitsForAWS(t *testing.T) {
	validator, api := newValidator(t)
	api.Before = func(context.Context, fakeelbv2.Call) error {
		return &smithy.GenericAPIError{Code: "Throttling", Message: "Rate exceeded"}
	}
	_, err := validator.update(t.Context(), changed(webhooktest.NewBinding("web"), webhooktest.NewBinding("web", ofGroup(anotherARN))))
	if !apierrors.IsInternalError(err) {
		t.Errorf("got %v, want an internal error", err)
	}
}

func assuming(role string) change {
	return func(b *v1beta1.TargetGroupBinding) { b.Spec.IamRoleArnToAssume = role }
}
