// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"context"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/targetgate/targetgate/targets/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// The failure policy of both binding webhooks is Fail: a bad binding is refused while its author is looking.
//
// +kubebuilder:webhook:path=/mutate-elbv2-k8s-aws-v1beta1-targetgroupbinding,serviceName=targetgate-webhook,serviceNamespace=targetgate-system,mutating=true,failurePolicy=fail,sideEffects=None,groups=elbv2.k8s.aws,resources=targetgroupbindings,verbs=create;update,versions=v1beta1,name=mtargetgroupbinding.elbv2.k8s.aws,admissionReviewVersions=v1,timeoutSeconds=10

// bindingDefaulter fills in at creation what the target group knows.
type bindingDefaulter struct {
	accounts Accounts
}

// Default fills the binding's spec in. A spec that is complete costs no AWS call. Faults of the user's come back as an
// Invalid status, AWS's trouble as an InternalError.
func (d *bindingDefaulter) Default(ctx context.Context, binding *v1beta1.TargetGroupBinding) error {
	req, err := admission.RequestFromContext(ctx)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	spec := &binding.Spec
	named := spec.TargetGroupARN != "" || spec.TargetGroupName != ""
	if req.Operation != admissionv1.Create || complete(spec) || !named { // the validator names what is missing
		return nil
	}
	group, err := d.group(ctx, spec)
	if elbv2.IsTargetGroupNotFound(err) || elbv2.IsInvalid(err) {
		named := cmp.Or(spec.TargetGroupARN, spec.TargetGroupName)
		return invalid(binding, field.ErrorList{field.Invalid(groupPath(spec), named, elbv2.Message(err))})
	}
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if faults := fill(spec, group); len(faults) > 0 {
		return invalid(binding, faults)
	}
	return nil
}

// describeTimeout ends the call to AWS before the API server gives up on us, so that its error is ours to tell.
const describeTimeout = 8 * time.Second

func (d *bindingDefaulter) group(ctx context.Context, spec *v1beta1.TargetGroupBindingSpec) (elbv2.TargetGroup, error) {
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	aws := d.accounts.Client(elbv2.Role{ARN: spec.IamRoleArnToAssume, ExternalID: spec.AssumeRoleExternalId})
	if spec.TargetGroupARN != "" {
		return aws.GroupByARN(ctx, elbv2.ClassAdmission, spec.TargetGroupARN)
	}
	return aws.GroupByName(ctx, elbv2.ClassAdmission, spec.TargetGroupName)
}

func complete(spec *v1beta1.TargetGroupBindingSpec) bool {
	return spec.TargetGroupARN != "" && spec.TargetType != nil && spec.IPAddressType != nil &&
		spec.VpcID != "" && spec.TargetGroupProtocol != nil
}

// fill sets what is not set; what the user wrote stays, for the validator to compare.
func fill(spec *v1beta1.TargetGroupBindingSpec, group elbv2.TargetGroup) field.ErrorList {
	path := field.NewPath("spec")
	switch group.TargetType {
	case string(v1beta1.TargetTypeInstance), string(v1beta1.TargetTypeIP):
	default:
		return field.ErrorList{field.Invalid(groupPath(spec), group.ARN,
			fmt.Sprintf("the target group has target type %q, which cannot be bound: want instance or ip", group.TargetType))}
	}
	if spec.TargetGroupARN == "" {
		spec.TargetGroupARN = group.ARN
	}
	if spec.VpcID == "" {
		spec.VpcID = group.VpcID
	}
	targetType := v1beta1.TargetType(group.TargetType)
	setDefault(&spec.TargetType, targetType)
	setDefault(&spec.IPAddressType, v1beta1.IPAddressType(group.IPAddressType))
	setDefault(&spec.TargetGroupProtocol, v1beta1.Protocol(group.Protocol))
	if *spec.TargetType != targetType {
		return field.ErrorList{field.Invalid(path.Child("targetType"), *spec.TargetType,
			fmt.Sprintf("the target group has target type %q", targetType))}
	}
	return nil
}

func setDefault[T ~string](dst **T, value T) {
	if *dst == nil && value != "" {
		*dst = &value
	}
}

func groupPath(spec *v1beta1.TargetGroupBindingSpec) *field.Path {
	if spec.TargetGroupARN != "" {
		return field.NewPath("spec", "targetGroupARN")
	}
	return field.NewPath("spec", "targetGroupName")
}

func invalid(binding *v1beta1.TargetGroupBinding, faults field.ErrorList) error {
	return apierrors.NewInvalid(v1beta1.GroupVersion.WithKind("TargetGroupBinding").GroupKind(), binding.Name, faults)
}
