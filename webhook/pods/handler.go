// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/targetgate/targetgate/webhook/review"
)

// handler answers reviews of pods. It does not use controller-runtime's admission.Webhook, which spends most of its time on
// decoding fields that nothing reads, twice.
type handler struct {
	limiter *review.Limiter
	mutator *mutator
}

// ServeHTTP admits every pod that it can decode. Everything else is a failed call, never a rejection.
func (h *handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, done, err := h.limiter.Read(w, req)
	if err != nil {
		review.Fail(w, req, review.MutationFailures, err)
		return
	}
	defer done()
	answer, err := h.review(req.Context(), body)
	if err != nil {
		review.Fail(w, req, review.MutationFailures, err)
		return
	}
	review.Respond(w, answer)
}

func (h *handler) review(ctx context.Context, body []byte) ([]byte, error) {
	var asked podReview
	err := h.limiter.Decode(ctx, body, func(body []byte) error { return json.Unmarshal(body, &asked) })
	if err != nil {
		return nil, fmt.Errorf("decoding the review: %w", err)
	}
	if asked.Request == nil {
		return nil, errors.New("decoding the review: it has no request")
	}
	answer, err := h.mutator.decide(ctx, asked.Request)
	if err != nil {
		return nil, err
	}
	return answer.Admit(asked.Request.UID)
}
