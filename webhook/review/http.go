// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Respond answers with an encoded review.
func Respond(w http.ResponseWriter, review []byte) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(review) // on an error, the API server has closed the connection
}

// status returns the HTTP status of an error.
func status(err error) int {
	switch {
	case errors.Is(err, errTooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, errNoLength):
		return http.StatusLengthRequired
	case errors.Is(err, ErrBusy):
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// Fail answers with a plain HTTP error. API servers treat it as a failed call, so the failurePolicy applies.
func Fail(w http.ResponseWriter, req *http.Request, failures *prometheus.CounterVec, err error) {
	failures.WithLabelValues(req.URL.Path, http.StatusText(status(err))).Inc()
	http.Error(w, err.Error(), status(err))
}

// Timed observes how long the hook takes.
func Timed(path string, hook http.Handler) http.Handler {
	observer := latency.WithLabelValues(path)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		begin := time.Now()
		hook.ServeHTTP(w, req)
		observer.Observe(time.Since(begin).Seconds())
	})
}
