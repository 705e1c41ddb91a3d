// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"strings"
	"sync"
	"time"
	"unicode"
)

// throttle holds the buckets of all accounts.
type throttle struct {
	mu      sync.Mutex
	limits  Limits
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

// admit says whether a call of an account may go on.
func (t *throttle) admit(account string, q *request, now time.Time) bool {
	if q.service.bucket == nil {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	kind, limit := q.service.bucket(t.limits, q)
	if limit == (Limit{}) {
		return true
	}
	key := account + "/" + kind
	b, ok := t.buckets[key]
	if !ok {
		b = &bucket{tokens: float64(limit.Capacity), at: now}
		t.buckets[key] = b
	}
	return b.take(limit, now)
}

// elbv2Bucket is shared by operations of one kind.
func elbv2Bucket(limits Limits, q *request) (kind string, limit Limit) {
	switch {
	case q.operation == "RegisterTargets" || q.operation == "DeregisterTargets":
		return "register", limits.Register
	case strings.HasPrefix(q.operation, "Describe"):
		return "describe", limits.Describe
	case strings.HasPrefix(q.operation, "Modify"):
		return "modify", limits.Modify
	}
	return q.verb(), limits.Other
}

// verb is the first word of the operation's name.
func (q *request) verb() string {
	at := strings.IndexFunc(q.operation[1:], unicode.IsUpper)
	return q.operation[:at+1]
}

// ec2Bucket is an operation's own.
func ec2Bucket(limits Limits, q *request) (kind string, limit Limit) {
	kind = "EC2 " + q.operation
	switch {
	case !strings.HasPrefix(q.operation, "Describe"):
		return kind, limits.EC2Change
	case q.operation != "DescribeVpcs" && len(q.list("Filter")) == 0 && q.text("MaxResults") == "":
		return kind + " unfiltered", limits.EC2Unfiltered
	}
	return kind, limits.EC2Describe
}

// set replaces the limits and fills the buckets.
func (t *throttle) set(l Limits) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.limits = l
	t.buckets = map[string]*bucket{}
}
