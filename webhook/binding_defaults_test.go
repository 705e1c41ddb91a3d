// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"strings"
	"testing"

	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/targets/elbv2"
	fakeelbv2 "github.com/targetgate/targetgate/targets/elbv2/fake"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// bare is what a user writes: a group and a Service.
func bare(change func(*v1beta1.TargetGroupBindingSpec)) *v1beta1.TargetGroupBinding {
	b := &v1beta1.TargetGroupBinding{Spec: v1beta1.TargetGroupBindingSpec{
		ServiceRef: v1beta1.ServiceReference{Name: "web", Port: intstr.FromInt32(80)},
	}}
	change(&b.Spec)
	return b
}

func TestBindingDefaulterFillsInFromTargetGroup(t *testing.T) {
	complete := newBinding("").Spec
	byName := complete
	byName.TargetGroupName = "web"
	tests := map[string]struct {
		binding   *v1beta1.TargetGroupBinding
		want      v1beta1.TargetGroupBindingSpec
		wantCalls int
	}{
		"from the ARN":             {binding: bare(func(s *v1beta1.TargetGroupBindingSpec) { s.TargetGroupARN = testARN }), want: complete, wantCalls: 1},
		"from the name":            {binding: bare(func(s *v1beta1.TargetGroupBindingSpec) { s.TargetGroupName = "web" }), want: byName, wantCalls: 1},
		"a complete spec is free":  {binding: newBinding(""), want: complete},
		"neither is left as it is": {binding: bare(func(*v1beta1.TargetGroupBindingSpec) {}), want: bare(func(*v1beta1.TargetGroupBindingSpec) {}).Spec},
		"what the user wrote stays": {
			binding: newBinding("", func(b *v1beta1.TargetGroupBinding) {
				b.Spec.TargetType, b.Spec.VpcID = nil, "vpc-11111111"
			}),
			want: newBinding("", func(b *v1beta1.TargetGroupBinding) { b.Spec.VpcID = "vpc-11111111" }).Spec, wantCalls: 1,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			accounts, api := newAWS(elbv2types.TargetTypeEnumIp)
			err := (&bindingDefaulter{accounts: accounts}).Default(withOperation(t.Context(), admissionv1.Create), tc.binding)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, tc.binding.Spec); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
			if calls := len(api.Calls("")); calls != tc.wantCalls {
				t.Errorf("%d AWS calls, want %d", calls, tc.wantCalls)
			}
		})
	}
}

func TestBindingDefaulterAssumesRole(t *testing.T) {
	accounts, _ := newAWS(elbv2types.TargetTypeEnumIp)
	binding := bare(func(s *v1beta1.TargetGroupBindingSpec) {
		s.TargetGroupName, s.IamRoleArnToAssume, s.AssumeRoleExternalId = "web", "arn:aws:iam::210987654321:role/shared", "handshake"
	})
	if err := (&bindingDefaulter{accounts: accounts}).Default(withOperation(t.Context(), admissionv1.Create), binding); err != nil {
		t.Fatal(err)
	}
	want := []elbv2.Role{{ARN: "arn:aws:iam::210987654321:role/shared", ExternalID: "handshake"}}
	if diff := cmp.Diff(want, accounts.roles); diff != "" {
		t.Errorf("roles (-want +got):\n%s", diff)
	}
}

func TestBindingDefaulterErrors(t *testing.T) {
	byName := func(name string) *v1beta1.TargetGroupBinding {
		return bare(func(s *v1beta1.TargetGroupBindingSpec) { s.TargetGroupName = name })
	}
	tests := map[string]struct {
		targetType elbv2types.TargetTypeEnum
		binding    *v1beta1.TargetGroupBinding
		awsError   error
		wantStatus func(error) bool
		wantText   string
	}{
		"no such group": {
			targetType: elbv2types.TargetTypeEnumIp, binding: byName("wbe"), wantStatus: apierrors.IsInvalid,
			wantText: `spec.targetGroupName: Invalid value: "wbe"`,
		},
		"lambda": {
			targetType: elbv2types.TargetTypeEnumLambda, binding: byName("web"), wantStatus: apierrors.IsInvalid,
			wantText: `target type "lambda", which cannot be bound: want instance or ip`,
		},
		"target type that disagrees": {
			targetType: elbv2types.TargetTypeEnumInstance, wantStatus: apierrors.IsInvalid,
			binding: bare(func(s *v1beta1.TargetGroupBindingSpec) {
				s.TargetGroupName, s.TargetType = "web", ptr.To(v1beta1.TargetTypeIP)
			}),
			wantText: `spec.targetType: Invalid value: "ip": the target group has target type "instance"`,
		},
		"AWS in trouble": {
			targetType: elbv2types.TargetTypeEnumIp, binding: byName("web"), awsError: errors.New("no route"),
			wantStatus: apierrors.IsInternalError, wantText: "no route",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			accounts, api := newAWS(tc.targetType)
			api.Before = func(context.Context, fakeelbv2.Call) error { return tc.awsError }
			err := (&bindingDefaulter{accounts: accounts}).Default(withOperation(t.Context(), admissionv1.Create), tc.binding)
			if !tc.wantStatus(err) || !strings.Contains(err.Error(), tc.wantText) {
				t.Errorf("error %v, want another kind or one that says %q", err, tc.wantText)
			}
		})
	}
}

func TestBindingDefaulterLeavesUpdatesAlone(t *testing.T) {
	accounts, api := newAWS(elbv2types.TargetTypeEnumIp)
	binding := bare(func(s *v1beta1.TargetGroupBindingSpec) { s.TargetGroupARN = testARN })
	if err := (&bindingDefaulter{accounts: accounts}).Default(withOperation(t.Context(), admissionv1.Update), binding); err != nil {
		t.Fatal(err)
	}
	if binding.Spec.TargetType != nil || len(api.Calls("")) != 0 {
		t.Errorf("an update was filled in: %+v", binding.Spec)
	}
}
