// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"cmp"
	"context"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// +kubebuilder:webhook:path=/validate-elbv2-k8s-aws-v1beta1-targetgroupbinding,serviceName=targetgate-webhook,serviceNamespace=targetgate-system,mutating=false,failurePolicy=fail,sideEffects=None,groups=elbv2.k8s.aws,resources=targetgroupbindings,verbs=create;update,versions=v1beta1,name=vtargetgroupbinding.elbv2.k8s.aws,admissionReviewVersions=v1,timeoutSeconds=10,patch=`{"matchConditions":[{"name":"spec-changes","expression":"request.operation != 'UPDATE' || object.?spec != oldObject.?spec"}]}`

// validator rejects bindings that contradict themselves, another binding or their target group. It only warns about
// unwise ones.
type validator struct {
	reader client.Reader
	ownVPC func(context.Context) (string, error)
	facts  *facts
	claims *claims
	rules  bool // inbound rules are made
}

// create rejects an invalid binding. It compares the binding with its target group: trouble
// with AWS is an InternalError, unless there are faults to report.
func (v *validator) create(ctx context.Context, req *bindingRequest) (admission.Warnings, error) {
	binding := req.binding
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	others, err := v.others(ctx, binding)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	group, err := v.judgeNew(ctx, req, others)
	if err != nil {
		return nil, err
	}
	if err := v.claim(req, others); err != nil {
		return nil, err
	}
	return v.warnAtCreation(ctx, binding, group), nil
}

// judgeNew rejects a new binding with all faults at once, or returns its target group.
func (v *validator) judgeNew(
	ctx context.Context, req *bindingRequest, others []v1beta1.TargetGroupBinding,
) (*elbv2.TargetGroup, error) {
	group, fault, err := v.facts.lookUp(ctx, req)
	faults := faultsOf(&req.binding.Spec, others, group)
	if fault = v.facts.orOwner(ctx, req.binding, group, fault); fault != nil {
		faults = append(faults, fault)
	}
	return group, cmp.Or(forbidden(req.binding, beside(faults, req.crd.All)), asInternal(err))
}

// update rejects invalid changes. An update that does not change the spec always passes: the metadata of a binding
// from before our time must stay editable, above all its finalizer.
func (v *validator) update(ctx context.Context, req *bindingRequest) (admission.Warnings, error) {
	old, binding := req.old, req.binding
	if equality.Semantic.DeepEqual(old.Spec, binding.Spec) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	others, err := v.others(ctx, binding)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	found, err := v.judge(ctx, req, others)
	if err != nil {
		return nil, err
	}
	if old.Spec.MultiClusterTargetGroup && !binding.Spec.MultiClusterTargetGroup {
		if err := v.claim(req, others); err != nil {
			return nil, err
		}
	}
	return append(warnOfFaults(found), v.warnAtUpdate(ctx, req)...), nil
}

// judge rejects faults that an update makes. Faults that were there before are found, and become warnings, because an earlier version or
// the incumbent accepted them. It asks AWS only if a field changes that the target group determines.
func (v *validator) judge(
	ctx context.Context, req *bindingRequest, others []v1beta1.TargetGroupBinding,
) (found field.ErrorList, err error) {
	old, spec := &req.old.Spec, &req.binding.Spec
	stands, vpcErr := v.inPlace(ctx, old, spec)
	if len(stands.fixed) > 0 {
		return nil, v.judgeAnew(ctx, req, stands.fixed)
	}
	var group *elbv2.TargetGroup
	var fault *field.Error
	var awsErr error
	if asksAWS(old, spec) {
		group, fault, awsErr = v.facts.lookUp(ctx, req)
	}
	made, found := splitNewFaults(faultsOf(spec, others, group), faultsOf(old, others, group))
	newRole, oldRole := v.facts.newRoleFault(req.old, req.binding)
	made, found = slices.Concat(made, stands.left, newRole), append(found, oldRole...)
	if fault = cmp.Or(fault, v.facts.noLongerShared(ctx, req)); fault != nil {
		made = append(made, fault)
	}
	return found, cmp.Or(forbidden(req.binding, beside(made, req.crd.Made)), asInternal(cmp.Or(awsErr, vpcErr)))
}

// faultsOf returns the faults of the spec. It compares the spec with the group unless that is nil.
func faultsOf(
	spec *v1beta1.TargetGroupBindingSpec, others []v1beta1.TargetGroupBinding, group *elbv2.TargetGroup,
) field.ErrorList {
	faults := slices.Concat(required(spec), specFaults(spec), taken(spec, others))
	if group != nil {
		faults = append(faults, contradictions(spec, group)...)
	}
	return faults
}

// splitNewFaults splits the faults into those that the update makes and those that it finds. A fault that only moves within a list is
// found, and so are too many of something, unless they are more than before.
func splitNewFaults(after, before field.ErrorList) (made, found field.ErrorList) {
	left, count := map[string]int{}, map[string]int{}
	for _, fault := range before {
		key := withoutIndexes(fault)
		left[key]++
		count[key] = max(count[key], countOf(fault))
	}
	for _, fault := range after {
		if key := withoutIndexes(fault); left[key] > 0 && countOf(fault) <= count[key] {
			left[key]--
			found = append(found, fault)
		} else {
			made = append(made, fault)
		}
	}
	return made, found
}

var listIndex = regexp.MustCompile(`\[[0-9]+\]`)

// withoutIndexes returns the fault as text, without its positions in lists and its count of too many.
func withoutIndexes(fault *field.Error) string {
	body := fault.ErrorBody()
	if fault.Type == field.ErrorTypeTooMany {
		body = fault.Detail
	}
	return listIndex.ReplaceAllString(fault.Field, "[]") + ": " + body
}

// countOf is how many there are where there are too many, else 0.
func countOf(fault *field.Error) int {
	count, _ := fault.BadValue.(int)
	if fault.Type != field.ErrorTypeTooMany {
		return 0
	}
	return count
}

// asksAWS reports whether the update sets a field that the target group determines.
func asksAWS(old, spec *v1beta1.TargetGroupBindingSpec) bool {
	sets := func(was, is string) bool { return is != "" && was != is }
	return sets(string(ptr.Deref(old.TargetGroupProtocol, "")), string(ptr.Deref(spec.TargetGroupProtocol, ""))) ||
		sets(string(ptr.Deref(old.IPAddressType, "")), string(ptr.Deref(spec.IPAddressType, ""))) || sets(old.VpcID, spec.VpcID)
}
