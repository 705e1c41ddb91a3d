// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"time"
)

// StopAPIServer ends the API server, as an outage of the control plane does: watches break, requests are refused until
// StartAPIServer. It returns when the process is gone. Requests under way get their answer if that takes no longer than
// two seconds. etcd, the controllers and the scheduler go on.
func (c *Cluster) StopAPIServer() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.halt(apiServer)
	c.apiServerStopped = time.Now()
}

// leaseLost is after how long without an API server the controllers of a real cluster have lost their leases, end, and
// are started again.
const leaseLost = 10 * time.Second

// StartAPIServer starts an API server that was stopped, at the address it had before, and returns when it is ready. It
// only waits when the API server runs. After a long absence the controllers are started again, too, and so are those that
// have ended meanwhile: one that begins waits for an API server for ten seconds.
func (c *Cluster) StartAPIServer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := c.launch(apiServer); err != nil {
		return fmt.Errorf("starting the API server: %w", err)
	}
	if err := c.await(ctx, "the API server", c.apiServerReady, etcd, apiServer); err != nil {
		return err
	}
	if c.apiServerWasAwayFor() < leaseLost && c.Check() == nil {
		return nil
	}
	c.stopControllers()
	return c.launch(controllerManager, scheduler)
}

// apiServerWasAwayFor is the time since it was stopped, 0 when it was not.
func (c *Cluster) apiServerWasAwayFor() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.apiServerStopped.IsZero() {
		return 0
	}
	away := time.Since(c.apiServerStopped)
	c.apiServerStopped = time.Time{}
	return away
}

func (c *Cluster) stopControllers() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.halt(controllerManager, scheduler)
}

// RestartAPIServer is StopAPIServer and StartAPIServer.
func (c *Cluster) RestartAPIServer(ctx context.Context) error {
	c.StopAPIServer()
	return c.StartAPIServer(ctx)
}
