// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

const ownVPCID = "vpc-0123456789abcdef0"

func newValidator(t *testing.T, others ...*v1beta1.TargetGroupBinding) *bindingValidator {
	t.Helper()
	c := newReader(t)
	for _, other := range others {
		if err := c.Create(t.Context(), other); err != nil {
			t.Fatal(err)
		}
	}
	return &bindingValidator{reader: c, ownVPC: func(context.Context) (string, error) { return ownVPCID, nil }}
}

// faultsOf are the fields that an Invalid error names, each with its kind of fault.
func faultsOf(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsInvalid(err) {
		t.Fatalf("error %v is no Invalid status", err)
	}
	var out []string
	for _, cause := range status.Status().Details.Causes {
		out = append(out, cause.Field+" "+string(cause.Type))
	}
	slices.Sort(out)
	return out
}

type change = func(*v1beta1.TargetGroupBinding)

func TestBindingValidatorOnCreate(t *testing.T) {
	elsewhere := func(b *v1beta1.TargetGroupBinding) { b.Namespace = "other" }
	instance := func(b *v1beta1.TargetGroupBinding) { b.Spec.TargetType = ptr.To(v1beta1.TargetTypeInstance) }
	shared := func(b *v1beta1.TargetGroupBinding) { b.Spec.MultiClusterTargetGroup = true }
	tests := map[string]struct {
		others  []*v1beta1.TargetGroupBinding
		binding *v1beta1.TargetGroupBinding
		want    []string
	}{
		"good": {binding: newBinding("web")},
		"every fault at once": {
			binding: newBinding("web", func(b *v1beta1.TargetGroupBinding) {
				b.Spec.TargetGroupARN, b.Spec.TargetType = "", nil
			}),
			want: []string{"spec.targetGroupARN FieldValueRequired", "spec.targetType FieldValueRequired"},
		},
		"nodeSelector with ip": {
			binding: newBinding("web", func(b *v1beta1.TargetGroupBinding) { b.Spec.NodeSelector = &metav1.LabelSelector{} }),
			want:    []string{"spec.nodeSelector FieldValueForbidden"},
		},
		"instance targets with a selector": {
			binding: newBinding("web", instance, func(b *v1beta1.TargetGroupBinding) {
				b.Spec.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"pool": "web"}}
			}),
		},
		"selector that selects nothing by mistake": {
			binding: newBinding("web", instance, func(b *v1beta1.TargetGroupBinding) {
				b.Spec.NodeSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "pool", Operator: "Is"}}}
			}),
			want: []string{"spec.nodeSelector.matchExpressions[0].operator FieldValueInvalid"},
		},
		"group taken in another namespace": {
			others: []*v1beta1.TargetGroupBinding{newBinding("first", elsewhere)}, binding: newBinding("web"),
			want: []string{"spec.targetGroupARN FieldValueInvalid"},
		},
		"group shared by all": {
			others: []*v1beta1.TargetGroupBinding{newBinding("first", shared)}, binding: newBinding("web", shared),
		},
		"group shared by one only": {
			others: []*v1beta1.TargetGroupBinding{newBinding("first")}, binding: newBinding("web", shared),
			want: []string{"spec.targetGroupARN FieldValueInvalid"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := newValidator(t, tc.others...).ValidateCreate(t.Context(), tc.binding)
			if diff := cmp.Diff(tc.want, faultsOf(t, err), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBindingValidatorOnUpdate(t *testing.T) {
	vpc := func(id string) change { return func(b *v1beta1.TargetGroupBinding) { b.Spec.VpcID = id } }
	family := func(f *v1beta1.IPAddressType) change {
		return func(b *v1beta1.TargetGroupBinding) { b.Spec.IPAddressType = f }
	}
	ipv4, ipv6 := ptr.To(v1beta1.IPAddressTypeIPv4), ptr.To(v1beta1.IPAddressTypeIPv6)
	noType := func(b *v1beta1.TargetGroupBinding) { b.Spec.TargetType = nil }
	other := func(b *v1beta1.TargetGroupBinding) { b.Spec.ServiceRef.Name = "api" }
	tests := map[string]struct {
		old, new []change
		want     []string
	}{
		"Service may change":                       {new: []change{other}},
		"ARN":                                      {new: []change{func(b *v1beta1.TargetGroupBinding) { b.Spec.TargetGroupARN += "0" }}, want: []string{"spec.targetGroupARN FieldValueInvalid"}},
		"target type set later":                    {old: []change{noType}, want: []string{"spec.targetType FieldValueInvalid"}},
		"target type unset":                        {new: []change{noType}, want: []string{"spec.targetType FieldValueInvalid", "spec.targetType FieldValueRequired"}},
		"address type changed":                     {new: []change{family(ipv6)}, want: []string{"spec.ipAddressType FieldValueInvalid"}},
		"address type unset":                       {new: []change{family(nil)}, want: []string{"spec.ipAddressType FieldValueInvalid"}},
		"unset address type written out as ipv4":   {old: []change{family(nil)}, new: []change{family(ipv4)}},
		"unset address type written out as ipv6":   {old: []change{family(nil)}, new: []change{family(ipv6)}, want: []string{"spec.ipAddressType FieldValueInvalid"}},
		"VPC changed":                              {new: []change{vpc("vpc-11111111")}, want: []string{"spec.vpcID FieldValueInvalid"}},
		"VPC unset":                                {new: []change{vpc("")}, want: []string{"spec.vpcID FieldValueInvalid"}},
		"unset VPC written out as the own":         {old: []change{vpc("")}, new: []change{vpc(ownVPCID)}},
		"unset VPC written out as another":         {old: []change{vpc("")}, new: []change{vpc("vpc-11111111")}, want: []string{"spec.vpcID FieldValueNotSupported"}},
		"several at once":                          {new: []change{vpc("vpc-11111111"), family(ipv6)}, want: []string{"spec.ipAddressType FieldValueInvalid", "spec.vpcID FieldValueInvalid"}},
		"metadata of a bad binding stays editable": {old: []change{noType}, new: []change{noType, func(b *v1beta1.TargetGroupBinding) { b.Finalizers = nil }}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			old := newBinding("web", tc.old...)
			_, err := newValidator(t, old.DeepCopy()).ValidateUpdate(t.Context(), old, newBinding("web", tc.new...))
			if diff := cmp.Diff(tc.want, faultsOf(t, err), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBindingValidatorWarnsOfNetworking(t *testing.T) {
	binding := newBinding("web", func(b *v1beta1.TargetGroupBinding) { b.Spec.Networking = &v1beta1.TargetGroupBindingNetworking{} })
	warnings, err := newValidator(t).ValidateCreate(t.Context(), binding)
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "spec.networking is not supported yet") {
		t.Errorf("warnings %q, error %v; want one warning of spec.networking", warnings, err)
	}
}

func TestBindingValidatorTroubleIsInternalError(t *testing.T) {
	validator := newValidator(t)
	validator.ownVPC = func(context.Context) (string, error) { return "", errors.New("no metadata service") }
	old := newBinding("web", func(b *v1beta1.TargetGroupBinding) { b.Spec.VpcID = "" })
	if _, err := validator.ValidateUpdate(t.Context(), old, newBinding("web")); !apierrors.IsInternalError(err) {
		t.Errorf("error %v, want an internal error", err)
	}
}
