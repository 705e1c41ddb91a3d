// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

// +kubebuilder:webhook:path=/validate-elbv2-k8s-aws-v1beta1-targetgroupbinding,serviceName=targetgate-webhook,serviceNamespace=targetgate-system,mutating=false,failurePolicy=fail,sideEffects=None,groups=elbv2.k8s.aws,resources=targetgroupbindings,verbs=create;update,versions=v1beta1,name=vtargetgroupbinding.elbv2.k8s.aws,admissionReviewVersions=v1,timeoutSeconds=10

// bindingValidator refuses bindings that contradict themselves or another binding.
type bindingValidator struct {
	reader client.Reader
	ownVPC func(context.Context) (string, error)
}

// ValidateCreate refuses what must not be created, with all faults at once.
func (v *bindingValidator) ValidateCreate(ctx context.Context, binding *v1beta1.TargetGroupBinding) (admission.Warnings, error) {
	faults := append(required(&binding.Spec), validateSpec(&binding.Spec)...)
	taken, err := v.oneBindingAGroup(ctx, binding)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return warnings(&binding.Spec), asInvalid(binding, append(faults, taken...))
}

// ValidateUpdate refuses changes that must not be made. An update that leaves the spec alone always passes: metadata
// of a binding from before our time must stay editable, its finalizer above all.
func (v *bindingValidator) ValidateUpdate(ctx context.Context, old, binding *v1beta1.TargetGroupBinding) (admission.Warnings, error) {
	if equality.Semantic.DeepEqual(old.Spec, binding.Spec) {
		return nil, nil
	}
	faults := append(required(&binding.Spec), validateSpec(&binding.Spec)...)
	changed, err := v.immutable(ctx, &old.Spec, &binding.Spec)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	taken, err := v.oneBindingAGroup(ctx, binding)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return warnings(&binding.Spec), asInvalid(binding, append(append(faults, changed...), taken...))
}

// ValidateDelete has nothing against it.
func (v *bindingValidator) ValidateDelete(context.Context, *v1beta1.TargetGroupBinding) (admission.Warnings, error) {
	return nil, nil
}

func asInvalid(binding *v1beta1.TargetGroupBinding, faults field.ErrorList) error {
	if len(faults) == 0 {
		return nil
	}
	return invalid(binding, faults)
}

func required(spec *v1beta1.TargetGroupBindingSpec) field.ErrorList {
	var faults field.ErrorList
	path := field.NewPath("spec")
	if spec.TargetGroupARN == "" {
		faults = append(faults, field.Required(path.Child("targetGroupARN"), "set targetGroupARN or targetGroupName"))
	}
	if spec.TargetType == nil {
		faults = append(faults, field.Required(path.Child("targetType"), "instance or ip; it is filled in from the target group at creation"))
	}
	return faults
}

func validateSpec(spec *v1beta1.TargetGroupBindingSpec) field.ErrorList {
	path := field.NewPath("spec", "nodeSelector")
	if spec.NodeSelector != nil && spec.IsIP() {
		return field.ErrorList{field.Forbidden(path, "is for targetType instance only")}
	}
	return metav1validation.ValidateLabelSelector(spec.NodeSelector, metav1validation.LabelSelectorValidationOptions{}, path)
}

// warnings say what is accepted but not acted on.
func warnings(spec *v1beta1.TargetGroupBindingSpec) admission.Warnings {
	if spec.Networking == nil {
		return nil
	}
	return admission.Warnings{"spec.networking is not supported yet: targets are registered, but no security group is changed"}
}

// immutable names the fields that must not change. Two things may be written out later: the address type ipv4, which
// is what no address type means, and the cluster's own VPC.
func (v *bindingValidator) immutable(ctx context.Context, old, spec *v1beta1.TargetGroupBindingSpec) (field.ErrorList, error) {
	var faults field.ErrorList
	path := field.NewPath("spec")
	refuse := func(name, was, is string, allowed bool) {
		if was != is && !allowed {
			faults = append(faults, field.Invalid(path.Child(name), is,
				fmt.Sprintf("is immutable and was %q: delete the binding and create it again", was)))
		}
	}
	refuse("targetGroupARN", old.TargetGroupARN, spec.TargetGroupARN, false)
	refuse("targetType", string(valueOf(old.TargetType)), string(valueOf(spec.TargetType)), false)
	writtenOut := old.IPAddressType == nil && valueOf(spec.IPAddressType) == v1beta1.IPAddressTypeIPv4
	refuse("ipAddressType", string(valueOf(old.IPAddressType)), string(valueOf(spec.IPAddressType)), writtenOut)
	if old.VpcID != "" || spec.VpcID == "" {
		refuse("vpcID", old.VpcID, spec.VpcID, false)
		return faults, nil
	}
	own, err := v.ownVPC(ctx)
	if err != nil {
		return nil, fmt.Errorf("finding the cluster's VPC: %w", err)
	}
	if spec.VpcID != own {
		faults = append(faults, field.NotSupported(path.Child("vpcID"), spec.VpcID, []string{own}))
	}
	return faults, nil
}

func valueOf[T ~string](p *T) T {
	if p == nil {
		return ""
	}
	return *p
}

// oneBindingAGroup refuses a second binding of a target group anywhere in the cluster, unless all of them share it
// knowingly.
func (v *bindingValidator) oneBindingAGroup(ctx context.Context, binding *v1beta1.TargetGroupBinding) (field.ErrorList, error) {
	arn := binding.Spec.TargetGroupARN
	if arn == "" {
		return nil, nil
	}
	var others v1beta1.TargetGroupBindingList
	if err := v.reader.List(ctx, &others, client.MatchingFields{indexBindingARN: arn}); err != nil {
		return nil, fmt.Errorf("listing bindings of %s: %w", arn, err)
	}
	for i := range others.Items {
		other := &others.Items[i]
		same := other.Namespace == binding.Namespace && other.Name == binding.Name
		if same || other.Spec.MultiClusterTargetGroup && binding.Spec.MultiClusterTargetGroup {
			continue
		}
		return field.ErrorList{field.Invalid(field.NewPath("spec", "targetGroupARN"), arn, fmt.Sprintf(
			"TargetGroupBinding %s/%s has this target group already", other.Namespace, other.Name))}, nil
	}
	return nil, nil
}
