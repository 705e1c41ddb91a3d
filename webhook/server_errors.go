// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
)

// serverErrors answers with a plain HTTP error where the hook would answer "not allowed" for another reason than that
// the object is forbidden or invalid: to the API server the first is a failed call, for which the failurePolicy is, the
// second a refusal by us.
func serverErrors(failures *prometheus.CounterVec, hook http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		buffered := &bufferedResponse{header: w.Header(), status: http.StatusOK}
		hook.ServeHTTP(buffered, req)
		if code, message := failure(buffered.body.Bytes()); code != 0 {
			failures.WithLabelValues(req.URL.Path, http.StatusText(code)).Inc()
			if code != http.StatusForbidden && code != http.StatusUnprocessableEntity {
				http.Error(w, message, http.StatusInternalServerError)
				return
			}
		}
		w.WriteHeader(buffered.status)
		_, _ = w.Write(buffered.body.Bytes()) // the API server has gone: nobody to tell
	})
}

// failure is the status code of an answer that does not allow the request, 0 when it does. An answer that is no
// admission review is a failure of ours.
func failure(body []byte) (code int, message string) {
	var review struct {
		Response *admissionv1.AdmissionResponse `json:"response"`
	}
	if err := json.Unmarshal(body, &review); err != nil || review.Response == nil {
		return http.StatusInternalServerError, "the webhook gave no admission review"
	}
	switch r := review.Response; {
	case r.Allowed:
		return 0, ""
	case r.Result == nil || r.Result.Code == 0:
		return http.StatusForbidden, ""
	default:
		return int(r.Result.Code), r.Result.Message
	}
}

// bufferedResponse holds an answer back until it is known what it says.
type bufferedResponse struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (b *bufferedResponse) Header() http.Header         { return b.header }
func (b *bufferedResponse) WriteHeader(status int)      { b.status = status }
func (b *bufferedResponse) Write(p []byte) (int, error) { return b.body.Write(p) }
