// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// remembered are answers of AWS, by what was asked. It is safe for concurrent use.
type remembered[T any] struct {
	flights singleflight.Group
	mu      sync.Mutex // guards answers; held for no call
	answers map[string]answer[T]
}

type answer[T any] struct {
	value T
	until time.Time
}

// get is the answer to the question: a remembered one if it counts still, else read's, which says for how long it counts. All who ask the
// same at once share one call, which goes on when one of them gives up. Errors are not remembered.
func (r *remembered[T]) get(
	ctx context.Context, now func() time.Time, question string, read func(context.Context) (T, time.Duration, error),
) (T, error) {
	if value, ok := r.known(question, now()); ok {
		return value, nil
	}
	return readShared(ctx, &r.flights, question, sweepTimeout, func(ctx context.Context) (T, error) {
		began := now()
		value, age, err := read(ctx)
		if err == nil {
			r.keep(question, answer[T]{value, began.Add(age)}, began)
		}
		return value, err
	})
}

func (r *remembered[T]) known(question string, now time.Time) (value T, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.answers[question]
	return known.value, ok && now.Before(known.until)
}

// keep takes in an answer, and drops those that count no longer: there are never more than were asked for in the longest age.
func (r *remembered[T]) keep(question string, a answer[T], now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answers == nil {
		r.answers = map[string]answer[T]{}
	}
	for old, other := range r.answers {
		if !now.Before(other.until) {
			delete(r.answers, old)
		}
	}
	r.answers[question] = a
}
