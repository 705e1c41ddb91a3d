// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"math/rand/v2"
	"time"
)

// lane is one kind of call for one target group: one call at a time, with a back-off after failures.
type lane struct {
	maxBackoff time.Duration

	busy     bool
	failures int       // in a row
	retryAt  time.Time // no call before this
	err      error     // of the last call, nil after a success
}

const (
	// firstBackoff is the pause after a first failed call.
	firstBackoff = 500 * time.Millisecond
	// minBackoff is the pause after a first pass that failed at the API server.
	minBackoff = 50 * time.Millisecond
)

// ready reports whether a call may start now.
func (l *lane) ready(now time.Time) bool {
	return !l.busy && !now.Before(l.retryAt)
}

// begin marks a call as under way.
func (l *lane) begin() {
	l.busy = true
}

// end takes the result of the call that was under way.
func (l *lane) end(now time.Time, err error) {
	l.busy = false
	countIfFailed(awsFailure, err)
	if err == nil {
		l.clear()
		return
	}
	l.err = err
	backoff := min(firstBackoff<<min(l.failures, 10), l.maxBackoff)
	l.failures++
	l.retryAt = now.Add(jitter(backoff))
}

// clear forgets past failures: the last call succeeded, or what it was for is no longer due.
func (l *lane) clear() {
	l.failures, l.retryAt, l.err = 0, time.Time{}, nil
}

// jitter is d, shortened by up to a fifth, so that many groups do not retry in step.
func jitter(d time.Duration) time.Duration {
	return d - rand.N(d/5+1)
}
