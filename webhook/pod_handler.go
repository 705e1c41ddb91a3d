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

// podHandler answers reviews of pods. It does not use controller-runtime's admission.Webhook, which spends most of its time on
// decoding fields that nothing reads, twice.
type podHandler struct {
	limiter *requestLimiter
	mutator *podMutator
}

// ServeHTTP admits every pod that it can decode. Everything else is a failed call, never a rejection.
func (h *podHandler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, done, err := h.limiter.read(w, req)
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
	err := h.limiter.decode(ctx, body, func(body []byte) error { return json.Unmarshal(body, &review) })
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
