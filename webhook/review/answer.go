// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// Answer is the patch of an admitted object, and the warnings for its author.
type Answer struct {
	Patch    []Operation
	Warnings []string
}

// Operation is one operation of a JSON patch.
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"` // never null for an operation that needs a value
}

// Add returns an operation that sets the value, and replaces any existing one.
func Add(path string, value any) Operation {
	return Operation{Op: "add", Path: path, Value: value}
}

// Admit returns the AdmissionReview that admits the object.
func (a Answer) Admit(uid types.UID) ([]byte, error) {
	response := &admissionv1.AdmissionResponse{UID: uid, Allowed: true, Warnings: a.Warnings}
	if len(a.Patch) > 0 {
		patch, err := json.Marshal(a.Patch)
		if err != nil {
			return nil, fmt.Errorf("encoding the patch: %w", err)
		}
		response.Patch, response.PatchType = patch, ptr.To(admissionv1.PatchTypeJSONPatch)
	}
	return encodeReview(response)
}

// Refuse returns the AdmissionReview that rejects the object.
func Refuse(uid types.UID, why metav1.Status) ([]byte, error) {
	return encodeReview(&admissionv1.AdmissionResponse{UID: uid, Result: &why})
}

func encodeReview(response *admissionv1.AdmissionResponse) ([]byte, error) {
	review, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Response: response,
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the answer: %w", err)
	}
	return review, nil
}
