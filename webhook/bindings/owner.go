// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// ownerWithin limits the look at the tags that may name another cluster. Without an answer the binding is admitted: the registrar
// deregisters none of the other cluster's targets, and says that they are there.
const ownerWithin = 3 * time.Second

// orOwner returns the fault, or of a group that was looked up and has none, that of its owner.
func (f *facts) orOwner(
	ctx context.Context, binding *v1beta1.TargetGroupBinding, group *elbv2.TargetGroup, fault *field.Error,
) *field.Error {
	if fault != nil || group == nil {
		return fault
	}
	return f.ownerFault(ctx, binding)
}

// noLongerShared returns the owner's fault if an update has the binding share its group no more.
func (f *facts) noLongerShared(ctx context.Context, req *bindingRequest) *field.Error {
	if !req.old.Spec.MultiClusterTargetGroup {
		return nil
	}
	return f.ownerFault(ctx, req.binding)
}

// ownerFault returns a fault if the binding wants the group for itself and the group's tags name another cluster.
func (f *facts) ownerFault(ctx context.Context, binding *v1beta1.TargetGroupBinding) *field.Error {
	spec := &binding.Spec
	if spec.MultiClusterTargetGroup || spec.TargetGroupARN == "" || !askable(spec) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, ownerWithin)
	defer cancel()
	tags, err := f.groupTags(ctx, binding, spec.TargetGroupARN)
	if err != nil {
		return nil
	}
	why := f.policy.Binder(binding.Namespace, binding.Name).OwnerRefusal(tags)
	if why == "" {
		return nil
	}
	path, _ := groupField(spec)
	return field.Forbidden(path, why)
}
