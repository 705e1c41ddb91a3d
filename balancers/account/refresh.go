// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/balancers/stack"
)

// Refresh reads a list of certificates again when it is too old. All who wait share one read, which goes on when one of them gives up. It
// is safe for concurrent use.
type Refresh struct {
	flights singleflight.Group
	mu      sync.Mutex // guards what follows; held for no call
	began   time.Time  // the last read that succeeded
	failure error      // of the last read, or that it takes long
	failed  time.Time  // when that was
}

// While reads fail one is made in failedAge, and none is waited for longer than patience: groups that need nothing of them are to have the
// workers.
const (
	patience  = 30 * time.Second
	failedAge = time.Minute
)

var errSlow = errors.New("ACM takes long to answer for all certificates")

// Do returns when what was read is younger than age, or why it is not.
func (r *Refresh) Do(ctx context.Context, now clock.PassiveClock, age, timeout time.Duration, read func(context.Context) error) error {
	if isYoung, failure := r.isYoung(now, age); isYoung {
		return failure
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errSlow)
	defer cancel()
	_, err := readShared(ctx, &r.flights, "", timeout, func(ctx context.Context) (none struct{}, err error) {
		began := now.Now()
		if err = read(ctx); err == nil {
			r.succeed(began)
		} else {
			r.fail(err, now.Now())
		}
		return none, err
	})
	if errors.Is(err, errSlow) {
		r.fail(errSlow, now.Now())
	}
	return err
}

// readShared returns what read returns within the timeout. All who ask for the key at the same time share one read, which goes on when one
// of them gives up: that one gets the cause for which its ctx ended.
func readShared[T any](
	ctx context.Context, flights *singleflight.Group, key string, timeout time.Duration, read func(context.Context) (T, error),
) (none T, err error) {
	reading := flights.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
		defer cancel()
		return read(ctx)
	})
	select {
	case result := <-reading:
		if result.Err != nil {
			return none, result.Err
		}
		return result.Val.(T), nil // read returns it
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}

// isYoung reports whether what is known counts, and with which failure.
func (r *Refresh) isYoung(now clock.PassiveClock, age time.Duration) (is bool, failure error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failure != nil && now.Since(r.failed) < failedAge {
		return true, r.failure
	}
	return !r.began.IsZero() && now.Since(r.began) < age, nil
}

func (r *Refresh) succeed(began time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.began, r.failure = began, nil
}

func (r *Refresh) fail(err error, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failure, r.failed = err, at
}

// sparing remembers that a call fails, of which AWS allows few: it is made once in failedAge until it succeeds, whoever asks, so that those
// who need it do not have all workers wait for it. Other calls of the service may succeed: each has its own.
type sparing struct {
	mu      sync.Mutex // guards what follows; held for no call
	failure error      // nil when it succeeds
	asked   time.Time  // when it was made last
}

// ask makes the call, unless it has failed a short time ago: then the error is that one.
func ask[T any](ctx context.Context, s *sparing, now clock.PassiveClock, call func() (T, error)) (none T, err error) {
	if err := s.begin(now.Now()); err != nil {
		return none, err
	}
	value, err := call()
	if ctx.Err() == nil { // else who has asked has gone
		s.end(err, now.Now())
	}
	return value, err
}

// begin takes in that the call is made. One that has failed is made by nobody else meanwhile.
func (s *sparing) begin(now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure != nil && now.Sub(s.asked) < failedAge {
		return s.failure
	}
	s.asked = now
	return nil
}

// end takes in how the call has ended. A refusal that concerns what it was about, and not who has asked, is an answer.
func (s *sparing) end(err error, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure = nil; err != nil && (awserr.IsPermission(err) || !awserr.IsDefinite(err)) {
		s.failure, s.asked = err, now
	}
}

// SparingACLs are web ACLs that are not asked for all the time while the calls fail.
type SparingACLs struct {
	WebACLs
	Clock         clock.PassiveClock
	guards, names sparing
}

// WebACL implements WebACLs.
func (s *SparingACLs) WebACL(ctx context.Context, loadBalancer string) (string, error) {
	return ask(ctx, &s.guards, s.Clock, func() (string, error) { return s.WebACLs.WebACL(ctx, loadBalancer) })
}

// Named implements WebACLs.
func (s *SparingACLs) Named(ctx context.Context, name string) (string, error) {
	return ask(ctx, &s.names, s.Clock, func() (string, error) { return s.WebACLs.Named(ctx, name) })
}

// SparingProtections are protections, likewise.
type SparingProtections struct {
	Protections
	Clock                      clock.PassiveClock
	protections, subscriptions sparing
}

// Protection implements Protections.
func (s *SparingProtections) Protection(ctx context.Context, loadBalancer string) (id string, own bool, err error) {
	p, err := ask(ctx, &s.protections, s.Clock, func() (p stack.Protection, err error) {
		p.ID, p.Own, err = s.Protections.Protection(ctx, loadBalancer)
		return p, err
	})
	return p.ID, p.Own, err
}

// Subscribed implements Protections.
func (s *SparingProtections) Subscribed(ctx context.Context) (bool, error) {
	return ask(ctx, &s.subscriptions, s.Clock, func() (bool, error) { return s.Protections.Subscribed(ctx) })
}
