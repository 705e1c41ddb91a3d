// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"cmp"
	"context"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/webhook/review"
)

// The failure policy of both binding webhooks is Fail: a bad binding is rejected while its author is looking. Updates that do
// not change the spec do not call them, so that metadata, above all finalizers, can be edited without us.
//
// +kubebuilder:webhook:path=/mutate-elbv2-k8s-aws-v1beta1-targetgroupbinding,serviceName=targetgate-webhook,serviceNamespace=targetgate-system,mutating=true,failurePolicy=fail,sideEffects=None,groups=elbv2.k8s.aws,resources=targetgroupbindings,verbs=create;update,versions=v1beta1,name=mtargetgroupbinding.elbv2.k8s.aws,admissionReviewVersions=v1,timeoutSeconds=10,patch=`{"matchConditions":[{"name":"spec-changes","expression":"request.operation != 'UPDATE' || object.?spec != oldObject.?spec"}]}`

// defaulter fills in fields from the target group at creation. It is asked before the API server goes by the CRD, which answers 422 to
// all that it finds. So the defaulter finds it first, and answers with our code.
type defaulter struct {
	facts  *facts
	checks *validator
}

// review fills in fields, and refuses what the CRD would.
func (d *defaulter) review(ctx context.Context, req *bindingRequest) (review.Answer, error) {
	before := req.binding.Spec
	var err error
	switch req.Operation {
	case admissionv1.Create:
		err = d.create(ctx, req)
	case admissionv1.Update:
		err = d.update(ctx, req)
	}
	if err != nil {
		return review.Answer{}, err
	}
	return review.Answer{Patch: fillPatch(&before, &req.binding.Spec)}, nil
}

// create refuses what the CRD would, with all that the spec shows to be wrong. The rest it leaves to the validator, which tells all.
func (d *defaulter) create(ctx context.Context, req *bindingRequest) error {
	if err := d.fill(ctx, req); err != nil {
		return err
	}
	faults := append(required(&req.binding.Spec), specFaults(&req.binding.Spec)...)
	if len(req.crd.All) == 0 && !slices.ContainsFunc(faults, isOfCRD) {
		return nil
	}
	return forbidden(req.binding, beside(faults, req.crd.All))
}

// update leaves as they are the fields that were filled in and are not in the new manifest, as of a tool that replaces objects. All else
// it judges as the validator does, as some of it takes a new binding.
func (d *defaulter) update(ctx context.Context, req *bindingRequest) error {
	keepFilledIn(&req.old.Spec, &req.binding.Spec)
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	others, err := d.checks.others(ctx, req.binding)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	_, err = d.checks.judge(ctx, req, others)
	return err
}

// keepFilledIn does not touch the spec if it names another group.
func keepFilledIn(old, spec *v1beta1.TargetGroupBindingSpec) {
	if name, known := groupName(old.TargetGroupARN); known && spec.TargetGroupARN == "" && spec.TargetGroupName == name {
		spec.TargetGroupARN = old.TargetGroupARN
	}
	if spec.TargetGroupARN != old.TargetGroupARN {
		return
	}
	spec.TargetType = cmp.Or(spec.TargetType, old.TargetType)
	spec.IPAddressType = cmp.Or(spec.IPAddressType, old.IPAddressType)
	spec.VpcID = cmp.Or(spec.VpcID, old.VpcID)
}

// fill completes the spec of a new binding. A complete one costs no AWS call. Without its target group nothing can be filled in, so
// a missing one is rejected, together with other faults of the spec; AWS's trouble is an InternalError. All other
// faults are left to the callers and the validator.
func (d *defaulter) fill(ctx context.Context, req *bindingRequest) error {
	spec := &req.binding.Spec
	if req.Operation != admissionv1.Create || complete(spec) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	group, fault, err := d.facts.lookUp(ctx, req)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if group != nil {
		fault = unbindable(spec, group)
	}
	if fault != nil {
		return forbidden(req.binding, beside(append(specFaults(spec), fault), req.crd.All))
	}
	if group != nil {
		fillFrom(group, spec)
	}
	return nil
}

func complete(spec *v1beta1.TargetGroupBindingSpec) bool {
	return spec.TargetGroupARN != "" && spec.TargetType != nil && spec.IPAddressType != nil &&
		spec.VpcID != "" && spec.TargetGroupProtocol != nil
}

// fillFrom sets the unset fields. What the user wrote stays, for the validator to compare.
func fillFrom(group *elbv2.TargetGroup, spec *v1beta1.TargetGroupBindingSpec) {
	if spec.TargetGroupARN == "" {
		spec.TargetGroupARN = group.ARN
	}
	if spec.VpcID == "" {
		spec.VpcID = group.VpcID
	}
	setDefault(&spec.TargetType, v1beta1.TargetType(group.TargetType))
	setDefault(&spec.IPAddressType, v1beta1.IPAddressType(group.IPAddressType))
	setDefault(&spec.TargetGroupProtocol, v1beta1.Protocol(group.Protocol))
}

// fillPatch returns the operations that set what was filled in.
func fillPatch(before, after *v1beta1.TargetGroupBindingSpec) []review.Operation {
	var out []review.Operation
	set := func(name, was, is string) {
		if was != is {
			out = append(out, review.Add("/spec/"+name, is))
		}
	}
	set("targetGroupARN", before.TargetGroupARN, after.TargetGroupARN)
	set("vpcID", before.VpcID, after.VpcID)
	set("targetType", string(ptr.Deref(before.TargetType, "")), string(ptr.Deref(after.TargetType, "")))
	set("ipAddressType", string(ptr.Deref(before.IPAddressType, "")), string(ptr.Deref(after.IPAddressType, "")))
	set("targetGroupProtocol", string(ptr.Deref(before.TargetGroupProtocol, "")), string(ptr.Deref(after.TargetGroupProtocol, "")))
	return out
}

func setDefault[T ~string](dst **T, value T) {
	if *dst == nil && value != "" {
		*dst = &value
	}
}
