// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/consent"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// A binding needs the consent of others (package consent). The cluster's administrator decides which roles its namespace may
// use, before AWS is called with one. The target group's owner decides who may bind it. The registrar checks both again.

// tagsLife is how long an answer about a tag is reused, by the validator after the defaulter. It is short because a rejected
// user sets the tag and tries again.
const tagsLife = 5 * time.Second

// roleFault returns a fault if the binding's namespace may not use its role.
func (f *facts) roleFault(binding *v1beta1.TargetGroupBinding) *field.Error {
	why := f.policy.RoleRefusal(binding.Namespace, binding.Spec.IamRoleArnToAssume)
	if why == "" {
		return nil
	}
	return field.Forbidden(specPath.Child("iamRoleArnToAssume"), why)
}

// newRoleFault does the same for an update. The fault is made by the update if it sets the role, otherwise found.
func (f *facts) newRoleFault(old, binding *v1beta1.TargetGroupBinding) (made, found field.ErrorList) {
	fault := f.roleFault(binding)
	switch {
	case fault == nil:
		return nil, nil
	case old.Spec.IamRoleArnToAssume != binding.Spec.IamRoleArnToAssume:
		return field.ErrorList{fault}, nil
	default:
		return nil, field.ErrorList{fault}
	}
}

// consented returns the group, or a fault if consent is required and its owner has not consented to the binding. In that
// case the user learns nothing else about the group.
func (f *facts) consented(ctx context.Context, binding *v1beta1.TargetGroupBinding, group *elbv2.TargetGroup) (
	*elbv2.TargetGroup, *field.Error, error,
) {
	if f.policy.Mode != consent.Require {
		return group, nil, nil
	}
	why, err := f.consentRefusal(ctx, binding, group.ARN)
	if err != nil {
		return nil, nil, err
	}
	if why != "" {
		path, _ := groupField(&binding.Spec)
		return nil, field.Forbidden(path, why), nil
	}
	return group, nil, nil
}

// warnOfConsent warns if the binding would be rejected with required consent.
func (f *facts) warnOfConsent(ctx context.Context, binding *v1beta1.TargetGroupBinding, arn string) admission.Warnings {
	if f.policy.Mode != consent.Warn {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, warnWithin)
	defer cancel()
	why, err := f.consentRefusal(ctx, binding, arn)
	switch {
	case err != nil:
		return admission.Warnings{"cannot tell whether --target-group-consent=require would reject this binding: " + awserr.Message(err)}
	case why != "":
		return admission.Warnings{"--target-group-consent=require would reject this binding: " + why}
	default:
		return nil
	}
}

// consentRefusal returns why the group's tags do not consent to the binding, or "".
func (f *facts) consentRefusal(ctx context.Context, binding *v1beta1.TargetGroupBinding, arn string) (string, error) {
	tags, err := f.groupTags(ctx, binding, arn)
	if err != nil {
		return "", err
	}
	return f.policy.Binder(binding.Namespace, binding.Name).Refusal(tags), nil
}

// groupTags returns the tags that name the group's owner, and who may bind it.
func (f *facts) groupTags(ctx context.Context, binding *v1beta1.TargetGroupBinding, arn string) (map[string]string, error) {
	key, client := groupKey{binding.Namespace, accounts.RoleOf(binding), arn}, f.client(binding)
	return f.tags.get(ctx, key, func(ctx context.Context) (map[string]string, error) {
		return client.Tags(ctx, budget.ClassAdmission, arn, consent.Keys()...)
	})
}
