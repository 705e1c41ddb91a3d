// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestProcessServesOnBeforeItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told, tell := context.WithCancel(t.Context())
		duck := &lameDuck{told: told, delay: 10 * time.Second}
		ctx := duck.context()
		if err := duck.check(nil); err != nil {
			t.Errorf("before: got %v, want no error", err)
		}
		begun := time.Now()
		tell()
		synctest.Wait()
		if ctx.Err() != nil {
			t.Error("it ends at once")
		}
		if err := duck.check(nil); err == nil {
			t.Error("it says that it is ready although it was told to end")
		}
		<-ctx.Done()
		if got := time.Since(begun); got != duck.delay {
			t.Errorf("it ended after %s, want %s", got, duck.delay)
		}
	})
}
