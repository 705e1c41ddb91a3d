// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/targetgate/targetgate/webhook/review"
)

// takeAll has as many reviews as there may be in a namespace take a turn, which ends with the context.
func takeAll(ctx context.Context, t *testing.T, turns *turns, namespace string) {
	t.Helper()
	for range turnsInNamespace {
		go func() {
			done, err := turns.take(ctx, namespace)
			if err == nil {
				<-ctx.Done()
				done()
			}
		}()
	}
	synctest.Wait()
}

// A namespace that fills its own queue keeps no other one waiting.
func TestTurnsAreOfANamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns()
		ctx, cancel := context.WithCancel(t.Context())
		takeAll(ctx, t, turns, "loud")
		if _, err := turns.take(ctx, "loud"); !errors.Is(err, review.ErrBusy) {
			t.Errorf("error %v for one more, want that it is busy", err)
		}
		begun := time.Now()
		done, err := turns.take(ctx, "quiet")
		if err != nil || time.Since(begun) > 0 {
			t.Fatalf("error %v after %s in another namespace, want a turn at once", err, time.Since(begun))
		}
		done()
		cancel()
		synctest.Wait()
		if turns.all != 0 || len(turns.queues) != 0 {
			t.Errorf("%d turns in %d namespaces are left, want none", turns.all, len(turns.queues))
		}
	})
}

func TestTurnsAreBoundedInAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns()
		ctx, cancel := context.WithCancel(t.Context())
		for i := range turnsInAll / turnsInNamespace {
			takeAll(ctx, t, turns, strconv.Itoa(i))
		}
		if _, err := turns.take(ctx, "another"); !errors.Is(err, review.ErrBusy) {
			t.Errorf("error %v for one more, want that it is busy", err)
		}
		cancel()
		synctest.Wait()
	})
}

// Those that wait are let in as others go, and give up with their caller.
func TestTurnsAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns()
		var ends []func()
		for range turnsAtOnce {
			done, err := turns.take(t.Context(), "shop")
			if err != nil {
				t.Fatal(err)
			}
			ends = append(ends, done)
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := turns.take(impatient, "shop"); !errors.Is(err, review.ErrBusy) {
			t.Errorf("error %v for the impatient, want that it is busy", err)
		}
		time.AfterFunc(time.Second, ends[0])
		done, err := turns.take(t.Context(), "shop")
		if err != nil {
			t.Fatal(err)
		}
		ends[0] = done
		for _, end := range ends {
			end()
		}
		if len(turns.queues) != 0 {
			t.Error("a namespace is remembered after its last turn")
		}
	})
}
