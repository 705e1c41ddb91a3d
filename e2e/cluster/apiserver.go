// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
)

// StopAPIServer ends the API server, as an outage of the control plane does: watches break, requests are refused until
// StartAPIServer. It returns when the process is gone. Requests under way get their answer if that takes no longer than
// two seconds. etcd, the controllers and the scheduler go on.
func (c *Cluster) StopAPIServer() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.halt(apiServer)
}

// StartAPIServer starts an API server that was stopped, at the address it had before, and returns when it is ready. It
// only waits when the API server runs.
func (c *Cluster) StartAPIServer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := c.launch(apiServer); err != nil {
		return fmt.Errorf("starting the API server: %w", err)
	}
	return c.await(ctx, "the API server", c.apiServerReady)
}

// RestartAPIServer is StopAPIServer and StartAPIServer.
func (c *Cluster) RestartAPIServer(ctx context.Context) error {
	c.StopAPIServer()
	return c.StartAPIServer(ctx)
}
