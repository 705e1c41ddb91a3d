// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package admission

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// Rule 11: both replicas are replaced, twice, while pods and bindings are created as fast as the API server answers. It keeps
// its connections to a replica that is told to end, and new ones lead there for as long as kube-proxy takes to notice.
func TestOwnRolloutIsNotNoticedByAdmission(t *testing.T) {
	const proxyLag = time.Second
	running := twoReplicas(t, "--shutdown-delay=3s")
	app := suite.NewApp("own-rollout")
	app.Replicas = 0
	bed.Deploy(t, app)
	bed.AwaitGated(t, app)
	front, err := bed.SpreadWebhooks(t.Context(), running...)
	suite.Must(t, err)
	created := createThroughout(t, app)
	for i, next := range []*testbed.Targetgate{startReplica(t), startReplica(t), running[0], running[1]} {
		if i >= 2 {
			suite.Must(t, next.Restart(t.Context()))
		}
		front.Lead(append(running, next)...)
		leaving := running[0]
		running = append(running[1:], next)
		before := created()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			leaving.Stop()
		}()
		<-time.After(proxyLag)
		front.Lead(running...)
		<-ended
		if n := created() - before; n < 20 {
			t.Errorf("only %d creations while a replica ended: this proves little", n)
		}
	}
	suite.Must(t, front.Close(context.Background()))
}

func startReplica(t *testing.T) *testbed.Targetgate {
	t.Helper()
	replica, err := bed.StartReplica(t.Context())
	suite.Must(t, err)
	t.Cleanup(replica.Stop)
	return replica
}

// createThroughout has pods and bindings created side by side until the test ends, as dry runs: the API server calls the
// webhooks all the same. It is an error when one fails, or when a pod has no gate. created says how many there were.
func createThroughout(t *testing.T, app *testbed.App) (created func() int64) {
	t.Helper()
	var count atomic.Int64
	var creating sync.WaitGroup
	t.Cleanup(creating.Wait) // the test's context has ended before
	ask := map[string]func() error{
		"pod":       func() error { return bed.WantInjected(t, app, app.Gate()) },
		"other pod": func() error { return bed.WantInjected(t, app, app.Gate()) },
		"binding":   func() error { return bed.AskWebhook(t.Context()) },
	}
	for what, create := range ask {
		creating.Go(func() {
			for t.Context().Err() == nil {
				if err := create(); err != nil && t.Context().Err() == nil {
					t.Errorf("creating a %s at %s: %v", what, time.Now().UTC().Format(time.RFC3339Nano), err)
				}
				count.Add(1)
			}
		})
	}
	return count.Load
}
