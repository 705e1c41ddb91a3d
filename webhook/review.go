// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// answer is the patch of an admitted object, and the warnings for its author.
type answer struct {
	patch    []operation
	warnings []string
}

// admit returns the AdmissionReview that admits the object.
func (a answer) admit(uid types.UID) ([]byte, error) {
	response := &admissionv1.AdmissionResponse{UID: uid, Allowed: true, Warnings: a.warnings}
	if len(a.patch) > 0 {
		patch, err := json.Marshal(a.patch)
		if err != nil {
			return nil, fmt.Errorf("encoding the patch: %w", err)
		}
		response.Patch, response.PatchType = patch, ptr.To(admissionv1.PatchTypeJSONPatch)
	}
	return encodeReview(response)
}

// refuse returns the AdmissionReview that rejects the object.
func refuse(uid types.UID, why metav1.Status) ([]byte, error) {
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

func respond(w http.ResponseWriter, review []byte) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(review) // on an error, the API server has closed the connection
}
