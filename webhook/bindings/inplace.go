// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

// standing are the faults of fields that an update changes although they cannot be changed in place.
type standing struct {
	fixed field.ErrorList // a new binding could have the new value
	left  field.ErrorList // the manifest is to be mended
}

// inPlace returns them. Two defaults may be written out later: the address type ipv4, and the cluster's own VPC.
func (v *validator) inPlace(ctx context.Context, old, spec *v1beta1.TargetGroupBindingSpec) (standing, error) {
	var s standing
	if spec.TargetGroupARN == "" && namesAnother(old, spec) {
		s.fixed = append(s.fixed, field.Invalid(specPath.Child("targetGroupName"), spec.TargetGroupName, fmt.Sprintf(
			"the target group cannot be changed in place, and was %q: delete and re-create the binding", old.TargetGroupARN)))
	} else {
		s.keep("targetGroupARN", old.TargetGroupARN, spec.TargetGroupARN)
	}
	s.keep("targetType", string(ptr.Deref(old.TargetType, "")), string(ptr.Deref(spec.TargetType, "")))
	if old.IPAddressType != nil || spec.Family() != old.Family() {
		s.keep("ipAddressType", string(ptr.Deref(old.IPAddressType, "")), string(ptr.Deref(spec.IPAddressType, "")))
	}
	if old.VpcID != "" || spec.VpcID == "" {
		s.keep("vpcID", old.VpcID, spec.VpcID)
		return s, nil
	}
	own, err := v.ownVPC(ctx)
	if err != nil {
		return s, fmt.Errorf("finding the cluster's VPC: %w", err)
	}
	if spec.VpcID != own {
		s.left = append(s.left, field.NotSupported(specPath.Child("vpcID"), spec.VpcID, []string{own}))
	}
	return s, nil
}

// keep adds a fault if the field does not stay as it was. Of the two that a binding must have, required says when they are missing.
func (s *standing) keep(name, was, is string) {
	path := specPath.Child(name)
	switch {
	case was == is:
	case is != "":
		s.fixed = append(s.fixed, field.Invalid(path, is,
			fmt.Sprintf("cannot be changed in place, and was %q: delete and re-create the binding", was)))
	case name != "targetGroupARN" && name != "targetType":
		s.left = append(s.left, field.Required(path, fmt.Sprintf("was %q, and cannot be taken away", was)))
	}
}

// namesAnother reports whether the spec names a target group that is not the one of the ARN.
func namesAnother(old, spec *v1beta1.TargetGroupBindingSpec) bool {
	name, known := groupName(old.TargetGroupARN)
	return known && spec.TargetGroupName != "" && spec.TargetGroupName != name
}

// judgeAnew rejects a change of fields that cannot be changed in place. It is Invalid only if a new binding with that spec would be
// admitted now, or if its target group alone is missing: one is often named before it is made. All that was wrong before counts, too: only
// the old binding may keep it.
func (v *validator) judgeAnew(ctx context.Context, req *bindingRequest, fixed field.ErrorList) error {
	anew := *req
	anew.binding = req.binding.DeepCopy()
	spec := &anew.binding.Spec
	group, fault, err := v.facts.lookUp(ctx, &anew)
	if group != nil {
		fillFrom(group, spec)
	}
	fault = v.facts.orOwner(ctx, anew.binding, group, fault)
	others, listErr := v.others(ctx, anew.binding)
	faults := faultsOf(spec, others, group)
	switch {
	case fault != nil && fault.Type == field.ErrorTypeNotFound && fixed[0].Field == fault.Field: // a new ARN, which is the first fault
		fixed[0].Detail += "; AWS does not have the new one: " + fault.Detail
	case fault != nil:
		faults = append(faults, fault)
	}
	if len(anew.binding.Name) > v1beta1.MaxBindingName {
		faults = append(faults, field.Invalid(field.NewPath("metadata", "name"), anew.binding.Name, nameTooLong))
	}
	if faults = beside(faults, req.crd.All); len(faults) > 0 {
		return forbidden(req.binding, slices.Concat(faults, fixed))
	}
	if err := errors.Join(err, listErr); err != nil {
		return asInternal(err)
	}
	return asInvalid(req.binding, fixed)
}
