// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"cmp"
	"math/rand/v2"
	"time"

	"github.com/targetgate/targetgate/aws/awserr"
)

// lane is one kind of call for one target group: one call at a time, with a back-off after failures.
type lane struct {
	maxBackoff time.Duration
	calls      string // whose failures its own are, as metrics name it; empty for AWS's

	busy     bool
	failures int       // in a row
	retryAt  time.Time // no call before this
	err      error     // of the last call, nil after a success
}

const (
	// firstBackoff is the pause after a first failed call.
	firstBackoff = 500 * time.Millisecond
	// maxCallBackoff bounds the pause after failed calls; maxUrgentBackoff does where pods wait for every second: on
	// their way out, or for their health.
	maxCallBackoff   = 30 * time.Second
	maxUrgentBackoff = 5 * time.Second
	// urgentTries is how often in a row a call of an urgent lane may fail until its pauses grow beyond maxUrgentBackoff: an
	// outage of AWS's is over within a minute, or lasts.
	urgentTries = 16
	// definiteTries is how often in a row AWS may refuse a call until there is no hope for the next one.
	definiteTries = 2
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
	countIfFailed(cmp.Or(l.calls, awsFailure), err)
	if err == nil {
		l.clear()
		return
	}
	l.err = err
	limit := l.maxBackoff
	if awserr.IsDefinite(err) || l.failures >= urgentTries {
		limit = maxCallBackoff
	}
	l.retryAt = now.Add(jitter(backoff(firstBackoff, l.failures, limit)))
	l.failures++
}

// cancelled takes the end of a call that was not made.
func (l *lane) cancelled() {
	l.busy = false
}

// hopeless reports whether the call has failed so often that nobody should wait for the next one: it leaves the urgent
// classes of AWS's budget.
func (l *lane) hopeless() bool {
	return l.failures >= urgentTries || l.failures >= definiteTries && awserr.IsDefinite(l.err)
}

// lasting is the error of the last call if the one before has failed, too: one failure is no trouble yet.
func (l *lane) lasting() error {
	if l.failures < 2 {
		return nil
	}
	return l.err
}

// clear forgets past failures: the last call succeeded, or what it was for is no longer due.
func (l *lane) clear() {
	l.failures, l.retryAt, l.err = 0, time.Time{}, nil
}

// backoff is the pause after a failure that came after so many others: first, doubled by each of them.
func backoff(first time.Duration, failures int, longest time.Duration) time.Duration {
	return min(first<<min(failures, 10), longest)
}

// jitter is d, shortened by up to a fifth, so that many groups do not retry in step.
func jitter(d time.Duration) time.Duration {
	return d - rand.N(d/5+1)
}
