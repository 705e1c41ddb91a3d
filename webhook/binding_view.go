// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

// bindingReview is the part of an AdmissionReview of a binding that is read.
type bindingReview struct {
	Request *bindingRequest `json:"request"`
}

type bindingRequest struct {
	UID       types.UID             `json:"uid"`
	Operation admissionv1.Operation `json:"operation"`
	Namespace string                `json:"namespace"`
	DryRun    *bool                 `json:"dryRun"`
	Object    bindingView           `json:"object"`
	OldObject bindingView           `json:"oldObject"`

	binding, old *v1beta1.TargetGroupBinding // without what nobody reads
	faults       field.ErrorList             // which leave nothing to judge
}

// bindingView is the part of a binding that is read.
type bindingView struct {
	Metadata struct {
		Name string    `json:"name"`
		UID  types.UID `json:"uid"`
	} `json:"metadata"`
	Spec   specView `json:"spec"`
	Status struct {
		TargetGroup *v1beta1.TargetGroupFacts `json:"targetGroup"`
	} `json:"status"`
}

// specView is a spec of which the lists are not decoded yet. The webhook is asked before the API server has compared the
// object with the CRD: it may hold anything.
type specView struct {
	v1beta1.TargetGroupBindingSpec
	NodeSelector stdjson.RawMessage `json:"nodeSelector"`
	Networking   stdjson.RawMessage `json:"networking"`
}

// embedded is how the path of an error names the type that specView embeds.
const embedded = ".TargetGroupBindingSpec"

// decodeBinding decodes a review. What its author has done wrong is among the faults of the request.
func decodeBinding(body []byte) (*bindingRequest, error) {
	var review bindingReview
	err := json.Unmarshal(body, &review)
	fault := typeFault(err, ".request.object.", "")
	switch {
	case err != nil && fault == nil:
		return nil, err
	case review.Request == nil:
		return nil, errors.New("the review has no request")
	}
	req := review.Request
	sizes := req.Object.decode(req.Namespace)
	was := req.OldObject.decode(req.Namespace)
	req.binding, req.old = sizes.binding, was.binding
	if req.faults, _ = sift(sizes.faults, was.faults); fault != nil {
		req.faults = append(req.faults, fault)
	}
	req.Object, req.OldObject = bindingView{}, bindingView{}
	return req, nil
}

// decoded is a binding with what makes it too large to be worked on, or is of the wrong type in its lists.
type decoded struct {
	binding *v1beta1.TargetGroupBinding
	faults  field.ErrorList
}

// decode leaves out lists and texts that are too long.
func (v *bindingView) decode(namespace string) decoded {
	binding := &v1beta1.TargetGroupBinding{Spec: v.Spec.TargetGroupBindingSpec}
	binding.Namespace, binding.Name, binding.UID = namespace, v.Metadata.Name, v.Metadata.UID
	binding.Status.TargetGroup = v.Status.TargetGroup
	faults := limitTexts(binding)
	selector := decodeList[metav1.LabelSelector](v.Spec.NodeSelector, "nodeSelector", selectorTooLarge, &faults)
	networking := decodeList[v1beta1.TargetGroupBindingNetworking](v.Spec.Networking, "networking", networkingTooLarge, &faults)
	binding.Spec.NodeSelector, binding.Spec.Networking = selector, networking
	return decoded{binding: binding, faults: append(faults, selectorSizeFaults(selector)...)}
}

// decodeList is nil for what is not there, what is too large and what is of the wrong type.
func decodeList[T any](raw stdjson.RawMessage, name, tooLarge string, faults *field.ErrorList) *T {
	if len(raw) > largestList || holdsMore(raw, mostValues, allDepths) {
		*faults = append(*faults, tooMany(specPath.Child(name), tooLarge))
		return nil
	}
	if len(raw) == 0 {
		return nil
	}
	var value *T // null is none
	if err := json.Unmarshal(raw, &value); err != nil {
		unknown := field.Invalid(specPath.Child(name), field.OmitValueType{}, err.Error())
		*faults = append(*faults, cmp.Or(typeFault(err, "", "spec."+name), unknown))
		return nil
	}
	return value
}

// typeFault is the fault of a value of the wrong type, nil when the error is another one or its path does not begin with
// within, instead of which the path is told to begin with by.
func typeFault(err error, within, by string) *field.Error {
	var wrong *stdjson.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return nil
	}
	path := strings.Replace("."+wrong.Field, embedded, "", 1)
	path, found := strings.CutPrefix(path, within)
	if !found {
		return nil
	}
	return field.Invalid(field.NewPath(strings.Trim(by+path, ".")), field.OmitValueType{},
		fmt.Sprintf("must be %s, not %s", kindOf(wrong.Type), cutTo(wrong.Value, mostQuoted)))
}

// kindOf names a type as the writer of a manifest knows it.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	default:
		return "an integer"
	}
}
