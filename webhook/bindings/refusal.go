// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/webhook/review"
)

// The code of a refusal decides what GitOps tools do. At 422 Invalid, Flux with force, kubectl apply --force and Argo CD with Force=true
// delete the object and create it again; Flux does so, too, where the message says "is immutable" or "immutable field", whatever the
// code. With a binding all its targets are deregistered. So 422 is only for a change that takes a new binding, and would give the user
// the one that the manifest asks for. What can be mended in the manifest is 403 Forbidden.

// forbidden returns a 403 with the faults, or nil without faults.
func forbidden(binding *v1beta1.TargetGroupBinding, faults field.ErrorList) error {
	if len(faults) == 0 {
		return nil
	}
	status := asInvalid(binding, faults)
	status.ErrStatus.Code, status.ErrStatus.Reason = http.StatusForbidden, metav1.StatusReasonForbidden
	return status
}

// asInvalid returns a 422 with the faults, of which there is at least one. They are all of fields that cannot be changed in place, and the
// binding could be created.
func asInvalid(binding *v1beta1.TargetGroupBinding, faults field.ErrorList) *apierrors.StatusError {
	return apierrors.NewInvalid(v1beta1.GroupVersion.WithKind("TargetGroupBinding").GroupKind(), binding.Name, reported(faults))
}

// beside returns the faults, and those of the CRD in other fields: what both find is told once.
func beside(faults, crd field.ErrorList) field.ErrorList {
	told := map[string]bool{}
	for _, fault := range faults {
		told[fault.Field] = true
	}
	out := slices.Clone(faults)
	for _, fault := range crd {
		if !told[fault.Field] {
			out = append(out, fault)
		}
	}
	return out
}

// asInternal returns an InternalError, or nil without trouble.
func asInternal(trouble error) error {
	if trouble == nil {
		return nil
	}
	return apierrors.NewInternalError(trouble)
}

// statusOf returns the status for the object's author. refused is false if the error is not the author's fault.
func statusOf(err error) (why metav1.Status, refused bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
		return metav1.Status{}, false
	}
	return status.Status(), true
}

const (
	// mostFaults limits the number of faults in one answer. mostQuoted and mostReported limit, in bytes, the quoted value and the
	// text of each.
	mostFaults   = 50
	mostQuoted   = 128
	mostReported = 512
)

// reported returns the faults for the answer: the first ones, shortened, and how many more there are.
func reported(faults field.ErrorList) field.ErrorList {
	out := make(field.ErrorList, 0, min(len(faults), mostFaults+1))
	for _, fault := range faults[:min(len(faults), mostFaults)] {
		out = append(out, &field.Error{
			Type: fault.Type, BadValue: quoted(fault.BadValue),
			Field: review.CutTo(fault.Field, mostReported), Detail: review.CutTo(fault.Detail, mostReported),
		})
	}
	if more := len(faults) - mostFaults; more > 0 {
		out = append(out, field.Invalid(specPath, field.OmitValueType{}, fmt.Sprintf("and %d more", more)))
	}
	return out
}
