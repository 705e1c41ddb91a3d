// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
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
		fail(w, req, mutation, err)
		return
	}
	defer done()
	review, err := h.review(req.Context(), body)
	if err != nil {
		fail(w, req, mutation, err)
		return
	}
	respond(w, review)
}

func (h *podHandler) review(ctx context.Context, body []byte) ([]byte, error) {
	var review podReview
	err := h.intake.decode(ctx, body, func(body []byte) error { return json.Unmarshal(body, &review) })
	if err != nil {
		return nil, fmt.Errorf("decoding the review: %w", err)
	}
	if review.Request == nil {
		return nil, errors.New("decoding the review: it has no request")
	}
	answer, err := h.mutator.decide(ctx, review.Request)
	if err != nil {
		return nil, err
	}
	return answer.admit(review.Request.UID)
}
