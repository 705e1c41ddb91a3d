// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package retry

import (
	"math/rand/v2"
	"time"

	"github.com/targetgate/targetgate/aws/awserr"
)

// The longest pauses.
const (
	// MaxBackoff bounds the pause after calls that failed; MaxUrgentBackoff does where pods wait for every second: to leave,
	// or for their health.
	MaxBackoff       = 30 * time.Second
	MaxUrgentBackoff = 5 * time.Second

	// firstBackoff is the pause after a first failed call.
	firstBackoff = 500 * time.Millisecond
	// urgentTries is how often in a row an urgent call may fail until its pauses grow beyond MaxUrgentBackoff: an outage of AWS
	// is over within a minute, or lasts.
	urgentTries = 16
	// definiteTries is how often in a row AWS may refuse a call until there is no hope for the next one.
	definiteTries = 2
)

// Slot is one kind of call for one target group or binding: one call at a time, with a back-off after failures. The zero value has
// no back-off; its owner guards it.
type Slot struct {
	// MaxBackoff bounds the pause after a failed call, until it is hopeless: then the constant of that name does. After a call that AWS
	// throttled it is short: AWS's budget slows down for that already, and knows which call is the most urgent.
	MaxBackoff time.Duration
	// Category is what the metric of failures calls its calls.
	Category Category

	// Busy says that a call is under way.
	Busy bool
	// Failures is how many calls in a row have failed, but for those that AWS throttled.
	Failures int
	// Throttled is how many of them AWS throttled.
	Throttled int
	// RetryAt is the time before which no call starts.
	RetryAt time.Time
	// Err is the error of the last call, nil after a success.
	Err error
}

// Start begins a call if one is due and may start; the caller makes it then. Otherwise retryIn is the pause until it may; 0 when
// none is due or one is under way.
func (s *Slot) Start(due bool, now time.Time) (retryIn time.Duration, began bool) {
	switch {
	case s.Busy || !due:
		return 0, false
	case now.Before(s.RetryAt):
		return s.RetryAt.Sub(now), false
	default:
		s.Busy = true
		return 0, true
	}
}

// End takes the result of the call that was under way.
func (s *Slot) End(now time.Time, err error) {
	s.Busy = false
	if err == nil {
		s.Clear()
		return
	}
	CountFailure(s.Category, err)
	s.Err = err
	if awserr.IsThrottled(err) && !awserr.IsRoleError(err) { // no budget slows down for AssumeRole
		s.RetryAt = now.Add(Jitter(firstBackoff))
		s.Throttled++
		return
	}
	limit := s.MaxBackoff
	if awserr.IsDefinite(err) || s.Failures >= urgentTries {
		limit = MaxBackoff
	}
	s.RetryAt = now.Add(Jitter(Backoff(firstBackoff, s.Failures, limit)))
	s.Failures++
}

// Cancel takes the end of a call that was never sent.
func (s *Slot) Cancel() { s.Busy = false }

// Clear forgets past failures: the last call succeeded, or nothing is due.
func (s *Slot) Clear() { s.Failures, s.Throttled, s.RetryAt, s.Err = 0, 0, time.Time{}, nil }

// Hopeless reports whether the call has failed so often that no pod should wait for the next one: it leaves the urgent classes of
// AWS's budget. A call that AWS throttles is not, however often: there is nothing wrong with it.
func (s *Slot) Hopeless() bool {
	return s.Failures >= urgentTries || s.Failures >= definiteTries && awserr.IsDefinite(s.Err)
}

// Lasting is the error of the last call if the one before has failed, too: one failure is no trouble yet.
func (s *Slot) Lasting() error {
	if s.Failures+s.Throttled < 2 {
		return nil
	}
	return s.Err
}

// Backoff is the pause after a failure that follows so many others: first, doubled by each of them, at most longest.
func Backoff(first time.Duration, failures int, longest time.Duration) time.Duration {
	return min(first<<min(failures, 10), longest)
}

// Jitter is d, shortened by up to a fifth, so that many groups do not retry in step.
func Jitter(d time.Duration) time.Duration {
	return d - rand.N(d/5+1)
}

// Soonest is the shorter of two pauses, of which 0 means none.
func Soonest(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// Later is the later of two times.
func Later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
