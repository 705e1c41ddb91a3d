// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

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

// answerCache caches answers about target groups for a while, refusals for a moment, and other errors not at all. Concurrent requests
// for the same answer share one call. It is safe for concurrent use.
type answerCache[V any] struct {
	life    time.Duration // of an answer; 0 means it is not reused
	answers *cache.LRUExpireCache
	calls   singleflight.Group
}

type cachedAnswer[V any] struct {
	value V
	err   error
}

func newAnswerCache[V any](clk clock.PassiveClock, life time.Duration, limit int) *answerCache[V] {
	return &answerCache[V]{life: life, answers: cache.NewLRUExpireCacheWithClock(limit, clk)}
}

// get answers from the cache or calls ask, which runs for at most askWithin, even if this caller gives up: others may wait for
// it.
func (c *answerCache[V]) get(ctx context.Context, key groupKey, ask func(context.Context) (V, error)) (V, error) {
	if known, found := c.answers.Get(key); found {
		known := known.(cachedAnswer[V])
		return known.value, known.err
	}
	call := c.calls.DoChan(key.text(), func() (any, error) { return c.run(context.WithoutCancel(ctx), key, ask), nil })
	select {
	case result := <-call:
		got := result.Val.(cachedAnswer[V])
		return got.value, got.err
	case <-ctx.Done():
		var none V
		return none, fmt.Errorf("waiting for AWS's description of target group %s: %w", key.group, ctx.Err())
	}
}

func (c *answerCache[V]) run(ctx context.Context, key groupKey, ask func(context.Context) (V, error)) cachedAnswer[V] {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	value, err := ask(ctx)
	answer := cachedAnswer[V]{value, err}
	if life := c.lifeOf(err); life > 0 {
		c.answers.Add(key, answer, life)
	}
	return answer
}

// lifeOf returns how long a result is cached.
func (c *answerCache[V]) lifeOf(err error) time.Duration {
	switch {
	case err == nil:
		return c.life
	case awserr.IsRoleRefused(err), elbv2.IsTargetGroupNotFound(err), awserr.IsInvalid(err):
		return refusalLife
	default:
		return 0
	}
}

// put caches an answer that another call returned.
func (c *answerCache[V]) put(key groupKey, value V) {
	c.answers.Add(key, cachedAnswer[V]{value: value}, c.life)
}
