// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/targetgate/targetgate/e2e/testbed"
)

const (
	pollInterval = 50 * time.Millisecond
	newsInterval = 10 * time.Second
)

// Await polls until it is done and says now and then how far things are. The error of running out of time tells that too.
// It ends at once when targetgate has ended.
func (p *Progress) Await(ctx context.Context, bed *testbed.Bed, timeout time.Duration, done func() (bool, string)) error {
	deadline, news := time.Now().Add(timeout), time.Now().Add(newsInterval)
	for {
		ok, state := done()
		if ok {
			return nil
		}
		now := time.Now()
		if now.After(deadline) {
			return fmt.Errorf("waited %s, got as far as: %s", timeout, state)
		}
		if now.After(news) {
			news = now.Add(newsInterval)
			p.Say("  %s", state)
		}
		if err := errors.Join(bed.Targetgate.Failure(), Pause(ctx, pollInterval)); err != nil {
			return err
		}
	}
}

// Pause waits, unless the context ends first.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
