// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// permanent is an error that waiting does not mend.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// NextLook is how long to wait until the next look at something that has been awaited for so long. Looks get rarer the longer it takes, as
// tests share the machine and each look is a request: at 50 ms, thirty rollouts at a time had 600 a second.
func NextLook(waited time.Duration) time.Duration {
	return min(max(waited/10, 20*time.Millisecond), 200*time.Millisecond)
}

// await polls until check succeeds. The error holds what check said last, before it ran out of time.
func await(ctx context.Context, what string, timeout time.Duration, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var last error
	for begun := time.Now(); ; {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		if stop := (permanent{}); errors.As(err, &stop) {
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting %s for %s: %w", timeout, what, last)
		case <-time.After(NextLook(time.Since(begun))):
		}
	}
}
