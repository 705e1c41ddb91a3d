// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

// statusLane is the memory of what one binding's status says, and lets one write of it be under way at a time. It outlives
// that of the binding's group.
type statusLane struct {
	mu           sync.Mutex
	written      *v1beta1.TargetGroupBindingStatus // as we wrote it last, nil before
	differsSince time.Time                         // since when it differs from what passes see, zero when it does not
	announced    int64                             // the newest generation that an event has called reconciled

	busy    bool
	missed  bool      // a pass came during the write
	retryAt time.Time // no write before this, after one that failed and may have had its effect all the same; zero otherwise
}

// look is the status as we wrote it last, and whether a write is under way, whose end wakes the binding.
func (l *statusLane) look() (written *v1beta1.TargetGroupBindingStatus, busy bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.missed = l.busy
	return l.written, l.busy
}

// begin reports whether the status is to be written now instead of the old one, and when to come back otherwise (0: no need
// to).
func (l *statusLane) begin(old, status *v1beta1.TargetGroupBindingStatus, now time.Time) (wait time.Duration, due bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sure := l.retryAt.IsZero()
	if sure && equality.Semantic.DeepEqual(old, status) {
		l.differsSince = time.Time{}
		return 0, false
	}
	if l.differsSince.IsZero() {
		l.differsSince = now
	}
	if wait := passing - now.Sub(l.differsSince); wait > 0 && sure && mayPass(*old, *status) {
		return wait, false
	}
	if now.Before(l.retryAt) {
		return l.retryAt.Sub(now), false
	}
	l.busy = true
	return 0, true
}

// end takes the end of the write. It returns the events that it calls for, that of a failure only after a success, and whether
// to have another look.
func (l *statusLane) end(old, status *v1beta1.TargetGroupBindingStatus, now time.Time, err error) (tell []bindingEvent, again bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = false
	if err != nil {
		if l.retryAt.IsZero() {
			tell = []bindingEvent{failedUpdateStatus(err)}
		}
		l.retryAt = now.Add(jitter(apiRetry))
		return tell, true
	}
	l.written, l.differsSince, l.retryAt = status, time.Time{}, time.Time{}
	return l.eventsOf(old.Conditions, status.Conditions), l.missed
}
