// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"time"
)

const (
	// pollInterval is how often something awaited is looked for.
	pollInterval = 50 * time.Millisecond
	// attemptTimeout bounds one look, as a server that is about to end may accept a request and never answer it.
	attemptTimeout = 5 * time.Second
)

// await looks until the check succeeds. It gives up when the context ends or one of the components dies; the error says which.
func (c *Cluster) await(ctx context.Context, what string, check func(context.Context) error, components ...string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.mu.Lock()
	for _, name := range components {
		p := c.running[name]
		if p == nil {
			continue
		}
		go func() {
			select {
			case <-p.Done():
				cancel(p.Failure())
			case <-ctx.Done():
			}
		}()
	}
	c.mu.Unlock()
	return until(ctx, what, check)
}

// until looks until the check succeeds or the context ends. The error wraps what the last look found
// and the cause of the end.
func until(ctx context.Context, what string, check func(context.Context) error) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		err := attempt(ctx, check)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s (last: %w): %w", what, err, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

func attempt(ctx context.Context, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	return check(ctx)
}
