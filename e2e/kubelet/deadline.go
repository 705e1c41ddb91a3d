// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// deadline is the end of a pod's grace period. It only ever moves forward: a second delete may shorten the grace period
// of the first.
type deadline struct {
	clock clock.Clock

	mu    sync.Mutex
	at    time.Time
	moved chan struct{} // closed and replaced whenever at changes
}

func newDeadline(c clock.Clock, at time.Time) *deadline {
	return &deadline{clock: c, at: at, moved: make(chan struct{})}
}

// shorten moves the deadline to at if that is earlier.
func (d *deadline) shorten(at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !at.Before(d.at) {
		return
	}
	d.at = at
	close(d.moved)
	d.moved = make(chan struct{})
}

func (d *deadline) get() (time.Time, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at, d.moved
}

// wait returns true when done is closed, false when the moment derived from the deadline has come.
func (d *deadline) wait(done <-chan struct{}, moment func(deadline time.Time) time.Time) bool {
	for {
		at, moved := d.get()
		timer := d.clock.NewTimer(moment(at).Sub(d.clock.Now()))
		select {
		case <-done:
			timer.Stop()
			return true
		case <-timer.C():
			return false
		case <-moved:
			timer.Stop()
		}
	}
}

// notAfter is a moment for wait: t, or the deadline if that is earlier.
func notAfter(t time.Time) func(time.Time) time.Time {
	return func(deadline time.Time) time.Time {
		if deadline.Before(t) {
			return deadline
		}
		return t
	}
}

// notBefore is a moment for wait: the deadline, or t if that is later.
func notBefore(t time.Time) func(time.Time) time.Time {
	return func(deadline time.Time) time.Time {
		if deadline.Before(t) {
			return t
		}
		return deadline
	}
}
