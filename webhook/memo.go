// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/targets/elbv2"
)

// groupKey is a target group, by ARN, as a role sees it: what one role is told is not for the others.
type groupKey struct {
	role  elbv2.Role
	group string
}

// memo remembers answers about target groups for a while, errors not at all. Whoever asks for what is being asked for
// already waits for the same answer. It is safe for concurrent use.
type memo[V any] struct {
	clock clock.PassiveClock
	life  time.Duration
	limit int

	mu      sync.Mutex
	answers map[groupKey]*answer[V]
}

// answer is complete when done is closed, and not touched after that.
type answer[V any] struct {
	done  chan struct{}
	value V
	err   error
	until time.Time // from when on it is too old; zero while it is waited for
}

func newMemo[V any](clk clock.PassiveClock, life time.Duration, limit int) *memo[V] {
	return &memo[V]{clock: clk, life: life, limit: limit, answers: map[groupKey]*answer[V]{}}
}

// get answers from memory or by ask, which runs for at most askWithin even when this caller goes away: others may wait
// for it.
func (m *memo[V]) get(ctx context.Context, key groupKey, ask func(context.Context) (V, error)) (V, error) {
	a := m.join(ctx, key, ask)
	select {
	case <-a.done:
		return a.value, a.err
	case <-ctx.Done():
		var none V
		return none, fmt.Errorf("waiting for AWS's description of target group %s: %w", key.group, ctx.Err())
	}
}

func (m *memo[V]) join(ctx context.Context, key groupKey, ask func(context.Context) (V, error)) *answer[V] {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a, ok := m.answers[key]; ok && (a.until.IsZero() || m.clock.Now().Before(a.until)) {
		return a
	}
	a := &answer[V]{done: make(chan struct{})}
	m.keep(key, a)
	go m.run(context.WithoutCancel(ctx), key, a, ask)
	return a
}

func (m *memo[V]) run(ctx context.Context, key groupKey, a *answer[V], ask func(context.Context) (V, error)) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	value, err := ask(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	a.value, a.err, a.until = value, err, m.clock.Now().Add(m.life)
	if err != nil && m.answers[key] == a {
		delete(m.answers, key)
	}
	close(a.done)
}

// put remembers an answer that came in another way.
func (m *memo[V]) put(key groupKey, value V) {
	a := &answer[V]{done: make(chan struct{}), value: value, until: m.clock.Now().Add(m.life)}
	close(a.done)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keep(key, a)
}

// keep makes room by what is too old, and where that is not enough by any answer: it only costs a call. The caller holds
// the lock.
func (m *memo[V]) keep(key groupKey, a *answer[V]) {
	if len(m.answers) >= m.limit {
		now := m.clock.Now()
		maps.DeleteFunc(m.answers, func(_ groupKey, old *answer[V]) bool { return !old.until.IsZero() && !now.Before(old.until) })
	}
	for other := range m.answers {
		if len(m.answers) < m.limit {
			break
		}
		delete(m.answers, other)
	}
	m.answers[key] = a
}
