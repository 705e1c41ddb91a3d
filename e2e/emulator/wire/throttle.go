// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"sync"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

// throttle holds the buckets of all accounts.
type throttle struct {
	mu      sync.Mutex
	limits  map[call.Limit]Limit
	buckets map[string]*bucket
}

type bucket struct {
	tokens float64
	at     time.Time
}

// take removes a token, refilling the bucket for the time since it was last used.
func (b *bucket) take(l Limit, now time.Time) bool {
	b.tokens = min(float64(l.Capacity), b.tokens+now.Sub(b.at).Seconds()*l.Refill)
	b.at = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// admit reports whether a call of an account may go on.
func (t *throttle) admit(account string, q *call.Request, now time.Time) bool {
	if q.Service.Bucket == nil {
		return true
	}
	name, kind := q.Service.Bucket(q)
	t.mu.Lock()
	defer t.mu.Unlock()
	limit := t.limits[kind]
	if limit == (Limit{}) {
		return true
	}
	key := account + "/" + name
	b, ok := t.buckets[key]
	if !ok {
		b = &bucket{tokens: float64(limit.Capacity), at: now}
		t.buckets[key] = b
	}
	return b.take(limit, now)
}

// set replaces the limits and fills the buckets.
func (t *throttle) set(l Limits) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.limits = l.byKind()
	t.buckets = map[string]*bucket{}
}
