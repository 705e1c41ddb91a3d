// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

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
	"github.com/targetgate/targetgate/webhook/review"
	"github.com/targetgate/targetgate/webhook/schema"
)

// bindingReview is the part of an AdmissionReview of a binding that we read.
type bindingReview struct {
	Request *bindingRequest `json:"request"`
}

type bindingRequest struct {
	UID       types.UID             `json:"uid"`
	Operation admissionv1.Operation `json:"operation"`
	Namespace string                `json:"namespace"`
	DryRun    *bool                 `json:"dryRun"`
	UserInfo  struct {
		Username string `json:"username"`
	} `json:"userInfo"`
	Object    bindingView `json:"object"`
	OldObject bindingView `json:"oldObject"`

	binding, old *v1beta1.TargetGroupBinding // only with the fields we read
	faults       field.ErrorList             // of sizes and types: with these there is no further validation
	crd          schema.Faults               // what the CRD would refuse, if that is to come
}

// bindingView is the part of a binding that we read.
type bindingView struct {
	Metadata struct {
		Name string    `json:"name"`
		UID  types.UID `json:"uid"`
	} `json:"metadata"`
	Spec   specView `json:"spec"`
	Status struct {
		TargetGroup *v1beta1.TargetGroupSettings `json:"targetGroup"`
	} `json:"status"`
}

// specView is a spec whose lists are not decoded yet. The API server calls the webhook before it validates the object against
// the CRD, so the object may hold anything.
type specView struct {
	v1beta1.TargetGroupBindingSpec
	NodeSelector stdjson.RawMessage `json:"nodeSelector"`
	Networking   stdjson.RawMessage `json:"networking"`
}

// embedded is the name of the type that specView embeds, in the path of a decoding error.
const embedded = ".TargetGroupBindingSpec"

// decodeBinding decodes a review. The author's mistakes become faults of the request. The schema is nil if the CRD's rules were checked.
func decodeBinding(body []byte, crd *schema.Schema) (*bindingRequest, error) {
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
	if req.faults, _ = splitNewFaults(sizes.faults, was.faults); fault != nil {
		req.faults = append(req.faults, fault)
	}
	req.Object, req.OldObject = bindingView{}, bindingView{}
	req.crd, err = crdFaults(body, crd)
	return req, err
}

// crdFaults checks the specs of a review by the CRD, unless they are too large for it: then there are faults of sizes.
func crdFaults(body []byte, crd *schema.Schema) (faults schema.Faults, err error) {
	if crd == nil {
		return faults, nil
	}
	type object struct {
		Spec stdjson.RawMessage `json:"spec"`
	}
	var review struct {
		Request struct {
			Object    object `json:"object"`
			OldObject object `json:"oldObject"`
		} `json:"request"`
	}
	if err := json.Unmarshal(body, &review); err != nil {
		return faults, nil // a fault of types, which decodeBinding has
	}
	now, before := review.Request.Object.Spec, review.Request.OldObject.Spec
	if isHuge(now) {
		return faults, nil
	}
	if isHuge(before) {
		before = nil
	}
	return crd.Check(now, before)
}

// decoded is a binding with the faults of its sizes and of the types in its lists.
type decoded struct {
	binding *v1beta1.TargetGroupBinding
	faults  field.ErrorList
}

// decode drops lists and texts that are too long.
func (v *bindingView) decode(namespace string) decoded {
	binding := &v1beta1.TargetGroupBinding{Spec: v.Spec.TargetGroupBindingSpec}
	binding.Namespace, binding.Name, binding.UID = namespace, v.Metadata.Name, v.Metadata.UID
	binding.Status.TargetGroup = v.Status.TargetGroup
	faults := limitTexts(binding)
	selector := decodeList[metav1.LabelSelector](v.Spec.NodeSelector, "nodeSelector", v1beta1.NodeSelectorLimits, &faults)
	networking := decodeList[v1beta1.TargetGroupBindingNetworking](v.Spec.Networking, "networking", networkingTooLarge, &faults)
	binding.Spec.NodeSelector, binding.Spec.Networking = selector, networking
	return decoded{binding: binding, faults: append(faults, selectorSizeFaults(selector)...)}
}

// decodeList returns nil if the list is missing, too large or of the wrong type. The latter two are faults.
func decodeList[T any](raw stdjson.RawMessage, name, tooLarge string, faults *field.ErrorList) *T {
	if len(raw) > largestList || review.HoldsMore(raw, mostValues, review.AllDepths) {
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

// typeFault returns a fault for a value of the wrong type. It returns nil for another error, or if the path does not begin with
// within. In the fault's path, by replaces within.
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
		fmt.Sprintf("must be %s, not %s", kindOf(wrong.Type), review.CutTo(wrong.Value, mostQuoted)))
}

// kindOf names a type in the words of a manifest's author.
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
