// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/elbv2"
)

// groupKey is a target group, by ARN or name, as one role sees it, for one namespace. Answers for one role are not shown to
// others, and no namespace waits for the calls of another.
type groupKey struct {
	namespace string
	role      accounts.Role
	group     string
}

// text returns a unique text for each key: no ARN, name or external ID that AWS accepts contains a zero byte.
func (k groupKey) text() string {
	return strings.Join([]string{k.namespace, k.role.ARN, k.role.ExternalID, k.group}, "\x00")
}

// memo caches answers about target groups for a while, refusals for a moment, and other errors not at all. Concurrent requests
// for the same answer share one call. It is safe for concurrent use.
type memo[V any] struct {
	life    time.Duration // of an answer; 0 means it is not reused
	answers *cache.LRUExpireCache
	calls   singleflight.Group
}

type remembered[V any] struct {
	value V
	err   error
}

func newMemo[V any](clk clock.PassiveClock, life time.Duration, limit int) *memo[V] {
	return &memo[V]{life: life, answers: cache.NewLRUExpireCacheWithClock(limit, clk)}
}

// get answers from the cache or calls ask, which runs for at most askWithin, even if this caller gives up: others may wait for
// it.
func (m *memo[V]) get(ctx context.Context, key groupKey, ask func(context.Context) (V, error)) (V, error) {
	if known, found := m.answers.Get(key); found {
		known := known.(remembered[V])
		return known.value, known.err
	}
	call := m.calls.DoChan(key.text(), func() (any, error) { return m.run(context.WithoutCancel(ctx), key, ask), nil })
	select {
	case result := <-call:
		got := result.Val.(remembered[V])
		return got.value, got.err
	case <-ctx.Done():
		var none V
		return none, fmt.Errorf("waiting for AWS's description of target group %s: %w", key.group, ctx.Err())
	}
}

func (m *memo[V]) run(ctx context.Context, key groupKey, ask func(context.Context) (V, error)) remembered[V] {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	value, err := ask(ctx)
	answer := remembered[V]{value, err}
	if life := m.lifeOf(err); life > 0 {
		m.answers.Add(key, answer, life)
	}
	return answer
}

// lifeOf returns how long a result is cached.
func (m *memo[V]) lifeOf(err error) time.Duration {
	switch {
	case err == nil:
		return m.life
	case awserr.IsRoleRefused(err), elbv2.IsTargetGroupNotFound(err), awserr.IsInvalid(err):
		return refusalLife
	default:
		return 0
	}
}

// put caches an answer that another call returned.
func (m *memo[V]) put(key groupKey, value V) { m.answers.Add(key, remembered[V]{value: value}, m.life) }
