// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// What the fields of a binding mean, for all who read one.

// IsIP reports whether the binding registers pods by address.
func (s *TargetGroupBindingSpec) IsIP() bool {
	return s.TargetType != nil && *s.TargetType == TargetTypeIP
}

// IsInstance reports whether the binding registers nodes. One whose target type is not set yet registers neither.
func (s *TargetGroupBindingSpec) IsInstance() bool {
	return s.TargetType != nil && *s.TargetType == TargetTypeInstance
}

// Family returns the address family of the targets: ipv4 unless the spec says otherwise.
func (s *TargetGroupBindingSpec) Family() IPAddressType {
	if s.IPAddressType == nil {
		return IPAddressTypeIPv4
	}
	return *s.IPAddressType
}

// Matches reports whether the reference means the Service port with this name and number.
func (r *ServiceReference) Matches(name string, number int32) bool {
	if r.Port.Type == intstr.String {
		return r.Port.StrVal == name
	}
	return r.Port.IntVal == number
}

// GroupProtocol returns the protocol of the binding's target group, from the spec, else from the status; empty if neither
// says it yet.
func (b *TargetGroupBinding) GroupProtocol() Protocol {
	switch {
	case b.Spec.TargetGroupProtocol != nil:
		return *b.Spec.TargetGroupProtocol
	case b.Status.TargetGroup != nil:
		return b.Status.TargetGroup.Protocol
	default:
		return ""
	}
}

// RoleToAssume returns the ARN of the role for AWS calls, empty for targetgate's own, and the external ID that it asks for.
func (b *TargetGroupBinding) RoleToAssume() (arn, externalID string) {
	return b.Spec.IamRoleArnToAssume, b.Spec.AssumeRoleExternalId
}

// IsHeld reports whether a controller of bindings, of which there are two, keeps the binding until its targets are deregistered.
func (b *TargetGroupBinding) IsHeld() bool {
	return slices.Contains(b.Finalizers, Finalizer) || slices.Contains(b.Finalizers, BesideFinalizer)
}
