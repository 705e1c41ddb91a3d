// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/webhook/review"
)

// The limits of this file apply before anything else is done with a binding, so that its cost does not depend on its content.
// The CRD has them, too, but the API server checks it later, and it may be an older one.

const (
	// largestList, in bytes, and mostValues limit spec.nodeSelector and spec.networking, each, before they are decoded. Neither
	// needs so much: spec.networking asks for at most v1beta1.MaxNetworkingRules.
	largestList = 256 << 10
	mostValues  = 10_000

	longestARN  = 2048
	longestName = 253 // of any other name
)

var (
	nameTooLong = fmt.Sprintf("must have at most %d characters, as the readiness gate of the pods ends with it",
		v1beta1.MaxBindingName)
	networkingTooLarge = fmt.Sprintf("takes at most %d values", mostValues)
	networkingTooMany  = fmt.Sprintf("AWS has at most %d rules, each for one peer and one port, at a network interface: "+
		"name fewer peers or ports", v1beta1.MaxNetworkingRules)
)

// isHuge reports whether a spec is too large to be checked by the CRD: it has more than its two lists may have.
func isHuge(spec []byte) bool {
	return len(spec) > 3*largestList || review.HoldsMore(spec, 2*mostValues, review.AllDepths)
}

func tooMany(path *field.Path, detail string) *field.Error {
	return &field.Error{Type: field.ErrorTypeTooMany, Field: path.String(), BadValue: field.OmitValueType{}, Detail: detail}
}

// limitTexts removes texts that are too long, and returns a fault for each. The binding's name stays: API servers limit it.
func limitTexts(binding *v1beta1.TargetGroupBinding) field.ErrorList {
	var faults field.ErrorList
	spec := &binding.Spec
	if len(binding.Name) > v1beta1.MaxBindingName {
		faults = append(faults, field.Invalid(field.NewPath("metadata", "name"), binding.Name, nameTooLong))
	}
	limit(&faults, specPath.Child("targetGroupARN"), &spec.TargetGroupARN, longestARN)
	limit(&faults, specPath.Child("targetGroupName"), &spec.TargetGroupName, longestName)
	limit(&faults, specPath.Child("targetType"), spec.TargetType, longestName)
	limit(&faults, specPath.Child("targetGroupProtocol"), spec.TargetGroupProtocol, longestName)
	limit(&faults, specPath.Child("ipAddressType"), spec.IPAddressType, longestName)
	limit(&faults, specPath.Child("vpcID"), &spec.VpcID, longestName)
	limit(&faults, specPath.Child("serviceRef", "name"), &spec.ServiceRef.Name, longestName)
	limit(&faults, specPath.Child("serviceRef", "port"), &spec.ServiceRef.Port.StrVal, longestName)
	limit(&faults, specPath.Child("iamRoleArnToAssume"), &spec.IamRoleArnToAssume, longestARN)
	limit(&faults, specPath.Child("assumeRoleExternalId"), &spec.AssumeRoleExternalId, longestExternalID)
	return faults
}

func limit[T ~string](faults *field.ErrorList, path *field.Path, text *T, most int) {
	if text != nil && len(*text) > most {
		*faults = append(*faults, field.TooLong(path, nil, most))
		*text = ""
	}
}

// selectorSizeFaults returns a fault if the node selector is too large.
func selectorSizeFaults(selector *metav1.LabelSelector) field.ErrorList {
	if v1beta1.NodeSelectorFits(selector) {
		return nil
	}
	return field.ErrorList{tooMany(specPath.Child("nodeSelector"), v1beta1.NodeSelectorLimits)}
}

// quoted returns a value as it is shown, shortened.
func quoted(value any) any {
	if text := reflect.ValueOf(value); text.IsValid() && text.Kind() == reflect.String {
		return review.CutTo(text.String(), mostQuoted)
	}
	return value
}
