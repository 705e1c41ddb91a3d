// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// podHandler answers API servers about pods. It does so by itself, and not by way of controller-runtime's admission.Webhook,
// because what that costs is mostly decoding what nobody reads, and decoding it again.
type podHandler struct {
	intake  *intake
	mutator *podMutator
}

// ServeHTTP admits every pod that it understands; all else is a failed call, and never a refusal.
func (h *podHandler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, done, err := h.intake.read(w, req)
	if err != nil {
		fail(w, req, mutation, status(err), err)
		return
	}
	defer done()
	answer, err := h.review(req.Context(), body)
	if err != nil {
		fail(w, req, mutation, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer) // the API server has gone: nobody to tell
}

func (h *podHandler) review(ctx context.Context, body []byte) ([]byte, error) {
	var review podReview
	if err := json.Unmarshal(body, &review); err != nil {
		return nil, fmt.Errorf("decoding the review: %w", err)
	}
	if review.Request == nil {
		return nil, errors.New("decoding the review: there is no request in it")
	}
	answer, err := h.mutator.decide(ctx, review.Request)
	if err != nil {
		return nil, err
	}
	return answer.review(review.Request)
}

// review is the AdmissionReview that admits the pod.
func (a podAnswer) review(req *podRequest) ([]byte, error) {
	response := &admissionv1.AdmissionResponse{UID: req.UID, Allowed: true, Warnings: a.warnings}
	if len(a.patch) > 0 {
		patch, err := json.Marshal(a.patch)
		if err != nil {
			return nil, fmt.Errorf("encoding the patch: %w", err)
		}
		response.Patch, response.PatchType = patch, ptr.To(admissionv1.PatchTypeJSONPatch)
	}
	answer, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Response: response,
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the answer: %w", err)
	}
	return answer, nil
}
