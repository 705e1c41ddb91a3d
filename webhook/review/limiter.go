// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// largestReview, in bytes, is the largest that an API server can send for an object that etcd accepts: the object before
	// and after the change, at most 3 MiB each, and the fields around them.
	largestReview = 7 << 20
	// smallReview is in bytes. Nearly all reviews are smaller: one of a typical pod has 5 to 20 KiB.
	smallReview = 64 << 10

	// smallMemory and largeMemory, in bytes, limit the memory of all reviews in progress of one kind.
	smallMemory = 8 << 20
	largeMemory = 4 * largestReview

	// smallWait and largeWait are how long a review waits for memory: a small part of the 3 s that API servers wait for us.
	smallWait = 100 * time.Millisecond
	largeWait = time.Second

	// readTimeout is how long a review may take to arrive. API servers send it at once.
	readTimeout = 3 * time.Second
)

// Limiter reads the reviews of one kind, within limits of memory, time and work for all of them together. Small and large
// reviews have separate memory, so that a large one never blocks a small one. Large ones are decoded one at a time, so that
// small ones get CPU. net/http limits a body, and x/sync/semaphore counts bytes; neither limits all bodies together.
type Limiter struct {
	small, large memory
	decoding     *semaphore.Weighted // of large reviews
	timeout      time.Duration       // for the arrival of a review
}

// memory is a number of bytes that reviews share. A review that finds none waits a moment, in order of arrival. The server's connections
// limit how many wait at a time.
type memory struct {
	bytes *semaphore.Weighted
	wait  time.Duration
}

// NewLimiter returns the limiter of a kind of reviews.
func NewLimiter() *Limiter {
	return &Limiter{
		small:    memory{semaphore.NewWeighted(smallMemory), smallWait},
		large:    memory{semaphore.NewWeighted(largeMemory), largeWait},
		decoding: semaphore.NewWeighted(1),
		timeout:  readTimeout,
	}
}

// Reasons why a review is not read.
var (
	errTooLarge = fmt.Errorf("the review is larger than %d MiB", largestReview>>20)
	errNoLength = errors.New("the review has no Content-Length")

	// ErrBusy is answered with 503, whatever it is that too many wait for.
	ErrBusy = errors.New("too many reviews in progress, try again")
)

// Weight is the memory of a review, in bytes: its body, and at most as much again for the decoded part.
func Weight(length int64) int64 { return 2 * length }

// Read returns the body of the request. Its memory is counted until done is called, which may be called more than once.
func (l *Limiter) Read(w http.ResponseWriter, req *http.Request) (body []byte, done func(), err error) {
	length := req.ContentLength
	switch {
	case length < 0:
		return nil, nil, errNoLength
	case length > largestReview:
		return nil, nil, errTooLarge
	}
	share := &l.small
	if length > smallReview {
		share = &l.large
	}
	if done, err = share.take(req.Context(), Weight(length)); err != nil {
		return nil, nil, err
	}
	if body, err = l.receive(w, req, length); err != nil {
		done()
		return nil, nil, err
	}
	return body, done, nil
}

// receive reads a body of that length. After an error the deadline stays, because the server may read the rest; once all is
// read it has no effect.
func (l *Limiter) receive(w http.ResponseWriter, req *http.Request, length int64) ([]byte, error) {
	if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(l.timeout)); err != nil {
		return nil, fmt.Errorf("setting the review's read deadline: %w", err)
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(req.Body, body); err != nil {
		return nil, fmt.Errorf("reading the review: %w", err)
	}
	return body, nil
}

// take reserves memory until done is called.
func (m *memory) take(ctx context.Context, bytes int64) (done func(), err error) {
	if !acquire(ctx, m.bytes, bytes, m.wait) {
		return nil, ErrBusy
	}
	return onlyOnce(func() { m.bytes.Release(bytes) }), nil
}

// acquire waits at most that long. What is free it takes at once, without a look at the time: on a busy machine more than the wait
// may pass before this goroutine runs again.
func acquire(ctx context.Context, s *semaphore.Weighted, n int64, wait time.Duration) bool {
	if s.TryAcquire(n) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return s.Acquire(ctx, n) == nil
}

// onlyOnce returns a function that calls f only once. It is not safe for concurrent use.
func onlyOnce(f func()) func() {
	return func() {
		if f != nil {
			f()
			f = nil
		}
	}
}

// Decode runs a function that decodes a body. Large bodies are decoded one at a time.
func (l *Limiter) Decode(ctx context.Context, body []byte, decode func([]byte) error) error {
	if len(body) > smallReview {
		if !acquire(ctx, l.decoding, 1, l.large.wait) {
			return ErrBusy
		}
		defer l.decoding.Release(1)
	}
	return decode(body)
}
