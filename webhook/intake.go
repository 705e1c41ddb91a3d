// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"
)

const (
	// largestReview is in bytes. API servers take objects of 3 MiB, and etcd no more than 1.5 MiB of them; as JSON, in which
	// one byte may become six, that is less than this.
	largestReview = 16 << 20
	// allReviews is in bytes, of all reviews that are under way at the same time, by their weight.
	allReviews = 64 << 20
	// valueWeight is in bytes: what a value in JSON, however short, takes at most when it is read (measured: labels, 100).
	valueWeight = 128
	// readTimeout is how long a review may take to arrive. API servers send it at once.
	readTimeout = 3 * time.Second
)

// intake reads reviews, within bounds of memory and time that hold for all of them together.
type intake struct {
	room    *semaphore.Weighted // in bytes
	timeout time.Duration       // in which a review has to arrive
}

func newIntake() *intake {
	return &intake{room: semaphore.NewWeighted(allReviews), timeout: readTimeout}
}

// Reasons why a review is not taken.
var (
	errTooLarge = errors.New("the review is larger than 16 MiB")
	errBusy     = errors.New("too many reviews are under way")
)

// read returns the body of the request. The memory that the review takes is counted until done is called. It never waits
// for room: an API server that is told at once has time left to do what its failurePolicy says.
func (i *intake) read(w http.ResponseWriter, req *http.Request) (body []byte, done func(), err error) {
	size := req.ContentLength
	if size < 0 { // it was not told
		size = largestReview
	}
	if size > largestReview {
		return nil, nil, errTooLarge
	}
	if !i.room.TryAcquire(size) {
		return nil, nil, errBusy
	}
	if body, err = readAll(w, req, i.timeout); err == nil && !i.room.TryAcquire(valuesWeight(body)) {
		err = errBusy
	}
	if err != nil {
		i.room.Release(size)
		return nil, nil, err
	}
	size += valuesWeight(body)
	return body, func() { i.room.Release(size) }, nil
}

// valuesWeight is in bytes, what the values in a body take at most beside the body: all but the first value of an object
// or list come after a comma.
func valuesWeight(body []byte) int64 { return valueWeight * int64(bytes.Count(body, []byte{','})) }

// readAll is io.ReadAll without growing, where the length is known, with a deadline. It stays when there was an error, as the
// server may want to read what is left, and means nothing when all was read.
func readAll(w http.ResponseWriter, req *http.Request, timeout time.Duration) ([]byte, error) {
	if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(timeout)); err != nil {
		return nil, err
	}
	limited := http.MaxBytesReader(w, req.Body, largestReview)
	if req.ContentLength < 0 {
		return io.ReadAll(limited)
	}
	body := make([]byte, req.ContentLength)
	_, err := io.ReadFull(limited, body)
	return body, err
}

// status is what HTTP calls an error of read.
func status(err error) int {
	switch tooLarge := (*http.MaxBytesError)(nil); {
	case errors.Is(err, errTooLarge), errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, errBusy):
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// guard has the hook read reviews from memory.
func (i *intake) guard(failures *prometheus.CounterVec, hook http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, done, err := i.read(w, req)
		if err != nil {
			fail(w, req, failures, status(err), err)
			return
		}
		defer done()
		req.Body = io.NopCloser(bytes.NewReader(body))
		hook.ServeHTTP(w, req)
	})
}

// fail answers with a plain HTTP error, which to API servers is a failed call: what happens then, the failurePolicy says.
func fail(w http.ResponseWriter, req *http.Request, failures *prometheus.CounterVec, code int, err error) {
	failures.WithLabelValues(req.URL.Path, http.StatusText(code)).Inc()
	http.Error(w, err.Error(), code)
}

// timed observes how long the hook takes.
func timed(path string, hook http.Handler) http.Handler {
	observer := latency.WithLabelValues(path)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		begin := time.Now()
		hook.ServeHTTP(w, req)
		observer.Observe(time.Since(begin).Seconds())
	})
}
