// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/aws/accounts"
)

// counter answers with how often it was asked.
type counter struct {
	asked int
	err   error
	hangs bool
}

func (c *counter) ask(ctx context.Context) (int, error) {
	c.asked++
	if c.hangs {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	answer := c.asked
	select {
	case <-time.After(40 * time.Millisecond): // of the bubble
		return answer, c.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func TestAnswerCacheAsksOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, asked := newAnswerCache[int](clock.RealClock{}, time.Minute, 10), &counter{}
		var callers sync.WaitGroup
		for range 20 {
			callers.Go(func() {
				if got, err := m.get(t.Context(), groupKey{}, asked.ask); got != 1 || err != nil {
					t.Errorf("got %d, %v; want the first answer", got, err)
				}
			})
		}
		callers.Wait()
	})
}

// notFound is AWS's word that a target group is not there.
var notFound = &elbv2types.TargetGroupNotFoundException{}

func TestAnswerCacheForgets(t *testing.T) {
	tests := map[string]struct {
		err   error
		pause time.Duration
		want  int // how often it was asked in two calls
	}{
		"not yet":            {pause: time.Minute - 40*time.Millisecond, want: 1},
		"when it is too old": {pause: time.Minute + 1, want: 2},
		"trouble at once":    {err: errors.New("no answer"), want: 2},
		"a refusal not yet":  {err: notFound, pause: refusalLife - 40*time.Millisecond, want: 1},
		"a refusal soon":     {err: notFound, pause: refusalLife + 1, want: 2},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, asked := newAnswerCache[int](clock.RealClock{}, time.Minute, 10), &counter{err: tc.err}
				for range 2 {
					if _, err := m.get(t.Context(), groupKey{}, asked.ask); !errors.Is(err, tc.err) {
						t.Errorf("error %v, want %v", err, tc.err)
					}
					time.Sleep(tc.pause) // of the bubble
				}
				if asked.asked != tc.want {
					t.Errorf("asked %d times, want %d", asked.asked, tc.want)
				}
			})
		})
	}
}

// What one role is told is not for another.
func TestAnswerCacheTellsRolesApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, asked := newAnswerCache[int](clock.RealClock{}, time.Minute, 10), &counter{}
		for want, role := range []accounts.Role{{}, {ARN: "role"}, {ARN: "role", ExternalID: "id"}} {
			if got, err := m.get(t.Context(), groupKey{"shop", role, "group"}, asked.ask); got != want+1 || err != nil {
				t.Errorf("role %v: got %d, %v; want an answer of its own", role, got, err)
			}
		}
	})
}

// No namespace waits for the calls of another, and no role for those of one that may know more.
func TestAnswerCacheSharesCallsOfTheSameKeyOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, asked := newAnswerCache[int](clock.RealClock{}, time.Minute, 10), &counter{}
		keys := []groupKey{
			{"shop", accounts.Role{}, "group"},
			{"other", accounts.Role{}, "group"},
			{"shop", accounts.Role{ARN: "role"}, "group"},
			{"shop", accounts.Role{ARN: "role", ExternalID: "id"}, "group"},
			{"shop", accounts.Role{}, "another"},
		}
		var callers sync.WaitGroup
		for want, key := range keys {
			callers.Go(func() {
				if got, err := c.get(t.Context(), key, asked.ask); got != want+1 || err != nil {
					t.Errorf("key %v: got %d, %v; want an answer of its own", key, got, err)
				}
			})
			synctest.Wait()
		}
		callers.Wait()
	})
}

func TestAnswerCacheIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, asked := newAnswerCache[int](clock.RealClock{}, time.Minute, 10), &counter{}
		for i := range 100 {
			if _, err := m.get(t.Context(), groupKey{group: strconv.Itoa(i)}, asked.ask); err != nil {
				t.Fatal(err)
			}
			if kept := len(m.answers.Keys()); kept > 10 {
				t.Fatalf("%d answers are kept, want 10", kept)
			}
		}
	})
}

// The caller's time may be over before AWS's, and AWS's always is before the API server's.
func TestAnswerCacheWaitsNoLongerThanItsCaller(t *testing.T) {
	tests := map[string]struct {
		patience, want time.Duration
	}{
		"impatient": {patience: time.Second, want: time.Second},
		"patient":   {patience: time.Hour, want: askWithin},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tc.patience)
				defer cancel()
				begun := time.Now()
				_, err := newAnswerCache[int](clock.RealClock{}, time.Minute, 10).get(ctx, groupKey{}, (&counter{hangs: true}).ask)
				if !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != tc.want {
					t.Errorf("error %v after %s, want the end of time after %s", err, time.Since(begun), tc.want)
				}
				time.Sleep(askWithin) // of the bubble, which ends with its last call
			})
		})
	}
}

// A caller that goes away takes nothing from those who wait for the same answer.
func TestAnswerCacheOutlivesItsFirstCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, asked := newAnswerCache[int](clock.RealClock{}, time.Minute, 10), &counter{}
		gone, leave := context.WithCancel(t.Context())
		var first sync.WaitGroup
		first.Go(func() {
			if _, err := m.get(gone, groupKey{}, asked.ask); !errors.Is(err, context.Canceled) {
				t.Errorf("the first caller got error %v, want its own end", err)
			}
		})
		synctest.Wait()
		leave()
		if got, err := m.get(t.Context(), groupKey{}, asked.ask); got != 1 || err != nil {
			t.Errorf("the second caller got %d, %v; want the first one's answer", got, err)
		}
		first.Wait()
	})
}
