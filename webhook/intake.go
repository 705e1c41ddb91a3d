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
	// firstStep is in bytes: the room that a review gets before a byte of it has arrived. Nearly all need no more.
	firstStep = 64 << 10
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
	errTooLarge = errors.New("the review is larger than 16 MiB, or has too many values")
	errBusy     = errors.New("too many reviews are under way")
)

// read returns the body of the request. The memory that the review takes is counted until done is called. It never waits
// for room: an API server that is told at once has time left to do what its failurePolicy says.
func (i *intake) read(w http.ResponseWriter, req *http.Request) (body []byte, done func(), err error) {
	if req.ContentLength > largestReview {
		return nil, nil, errTooLarge
	}
	// The deadline stays when there was an error, as the server may want to read what is left, and means nothing when all
	// was read.
	if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(i.timeout)); err != nil {
		return nil, nil, err
	}
	body, err = i.readAll(http.MaxBytesReader(w, req.Body, largestReview), req.ContentLength)
	taken := int64(cap(body))
	if err == nil {
		weight := valuesWeight(body)
		if err = i.take(weight, allReviews-taken); err == nil {
			taken += weight
		}
	}
	if err != nil {
		i.room.Release(taken)
		return nil, nil, err
	}
	return body, func() { i.room.Release(taken) }, nil
}

// valuesWeight is in bytes, what the values in a body take at most beside the body: all but the first value of an object
// or list come after a comma. That a comma is text is found out only where it matters: where all of them together would
// never fit.
func valuesWeight(body []byte) int64 {
	if weight := valueWeight * int64(bytes.Count(body, []byte{','})); weight <= allReviews-int64(cap(body)) {
		return weight
	}
	return valueWeight * commasBetweenValues(body)
}

// commasBetweenValues leaves out those in text. What it makes of a body that is no JSON does not matter: no value of it is
// ever made.
func commasBetweenValues(body []byte) (commas int64) {
	text := false
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '\\':
			i++ // what comes after it ends no text
		case '"':
			text = !text
		case ',':
			if !text {
				commas++
			}
		}
	}
	return commas
}

// take takes room, of which there is no more than most when nobody else has any.
func (i *intake) take(room, most int64) error {
	if room > most {
		return errTooLarge
	}
	if !i.room.TryAcquire(room) {
		return errBusy
	}
	return nil
}

// readAll reads a body of that length, -1 when it was not told. It takes room as the body arrives, as what is announced may
// never come. The body's capacity is the room that it has, after an error as well.
func (i *intake) readAll(from io.Reader, length int64) ([]byte, error) {
	end := length
	if length < 0 {
		end = largestReview + 1 // at which the reader fails
	}
	var body []byte
	for int64(len(body)) < end {
		if len(body) == cap(body) {
			grown, err := i.grow(body, end)
			if err != nil {
				return body, err
			}
			body = grown
		}
		n, err := from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case err == io.EOF && (length < 0 || int64(len(body)) == end):
			return body, nil
		case err == io.EOF:
			return body, io.ErrUnexpectedEOF
		case err != nil:
			return body, err
		}
	}
	return body, nil
}

// grow doubles the capacity, up to end. While the body is copied, both copies have room.
func (i *intake) grow(body []byte, end int64) ([]byte, error) {
	capacity := min(max(2*int64(cap(body)), firstStep), end)
	if err := i.take(capacity, allReviews); err != nil {
		return nil, err
	}
	grown := append(make([]byte, 0, capacity), body...)
	i.room.Release(int64(cap(body)))
	return grown, nil
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
