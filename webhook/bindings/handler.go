// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/targetgate/targetgate/webhook/review"
	"github.com/targetgate/targetgate/webhook/schema"
)

// handler answers reviews of bindings. First it decodes and limits the review, which holds memory of the limiter. What may wait
// for AWS comes after that, and holds only the spec.
type handler struct {
	failures   *prometheus.CounterVec
	limiter    *review.Limiter
	turns      *turns
	namespaces []string       // the watched ones; empty means all
	crd        *schema.Schema // nil behind the CRD
	decide     func(context.Context, *bindingRequest) (review.Answer, error)
}

// ServeHTTP admits or rejects a binding. Trouble of ours or of AWS is a failed call, never a rejection.
func (h *handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	answer, err := h.serve(w, req)
	if err != nil {
		review.Fail(w, req, h.failures, err)
		return
	}
	review.Respond(w, answer)
}

func (h *handler) serve(w http.ResponseWriter, req *http.Request) ([]byte, error) {
	request, err := h.receive(w, req)
	if err != nil {
		return nil, err
	}
	answer, err := h.answer(req.Context(), request)
	why, refused := statusOf(err)
	switch {
	case refused:
		h.failures.WithLabelValues(req.URL.Path, http.StatusText(int(why.Code))).Inc()
		return review.Refuse(request.UID, why)
	case err != nil:
		return nil, err
	default:
		return answer.Admit(request.UID)
	}
}

// receive reads and decodes the review, and releases its memory.
func (h *handler) receive(w http.ResponseWriter, req *http.Request) (*bindingRequest, error) {
	body, done, err := h.limiter.Read(w, req)
	if err != nil {
		return nil, err
	}
	defer done()
	var request *bindingRequest
	err = h.limiter.Decode(req.Context(), body, func(body []byte) error {
		request, err = decodeBinding(body, h.crd)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("decoding the review: %w", err)
	}
	return request, nil
}

func (h *handler) answer(ctx context.Context, req *bindingRequest) (review.Answer, error) {
	if len(h.namespaces) > 0 && !slices.Contains(h.namespaces, req.Namespace) {
		return review.Answer{}, nil
	}
	if len(req.faults) > 0 {
		return review.Answer{}, forbidden(req.binding, beside(req.faults, req.crd.Made))
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	done, err := h.turns.take(ctx, req.Namespace)
	if err != nil {
		return review.Answer{}, err
	}
	defer done()
	return h.decide(ctx, req)
}

// admitted returns the answer that admits a binding unchanged.
func admitted(warnings admission.Warnings, err error) (review.Answer, error) {
	return review.Answer{Warnings: warnings}, err
}

// review rejects invalid bindings and warns about unwise ones.
func (v *validator) review(ctx context.Context, req *bindingRequest) (review.Answer, error) {
	switch req.Operation {
	case admissionv1.Create:
		return admitted(v.create(ctx, req))
	case admissionv1.Update:
		return admitted(v.update(ctx, req))
	default:
		return review.Answer{}, nil
	}
}
