// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"context"

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

// defaulter fills in fields from the target group at creation.
type defaulter struct {
	facts *facts
}

// fill completes the spec of a new binding. A complete one costs no AWS call. Without its target group nothing can be filled in, so
// a missing one is rejected, together with other faults of the spec; AWS's trouble is an InternalError. All other
// faults are left to the CRD and the validator.
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
		return forbidden(req.binding, append(specFaults(spec), fault))
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
