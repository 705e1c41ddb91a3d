// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/load"
	"github.com/targetgate/targetgate/e2e/testbed"
)

const (
	replicas      = 6
	rate          = 120.0 // requests a second to each app
	awsLatency    = 40 * time.Millisecond
	serviceTime   = 15 * time.Millisecond
	startup       = 4 * time.Second // of the app, scaled
	checkInterval = 10              // seconds between health checks, scaled
	deployTimeout = time.Minute
	pollInterval  = 50 * time.Millisecond
)

// scenario is a run under way.
type scenario struct {
	options
	bed          *testbed.Bed
	progress     *testbed.Progress
	watcher      *watcher
	gated, plain *testbed.App
	loads        map[*testbed.App]*load.Load // of the current act
}

// play runs the whole scenario and leaves nothing behind, however it ends.
func play(ctx context.Context, opts options, p *testbed.Progress) (r report, err error) {
	bed, err := testbed.Start(ctx, testbed.Options{
		ControlPlane: opts.controlPlane, Targetgate: opts.targetgate,
		Scale: opts.scale, Latency: awsLatency, Progress: func(step string) { p.Say("starting: %s", step) },
	})
	if err != nil {
		return r, err
	}
	defer func() {
		p.Say("stopping everything")
		err = errors.Join(err, bed.Close())
	}()
	s := &scenario{options: opts, bed: bed, progress: p, loads: map[*testbed.App]*load.Load{}}
	if err := s.deploy(ctx); err != nil {
		return r, errors.Join(err, bed.Targetgate.Failure())
	}
	defer s.watcher.close()
	if r, err = s.perform(ctx); err != nil {
		return r, errors.Join(err, bed.Targetgate.Failure())
	}
	return r, nil
}

// deploy brings both apps up, until their load balancers send requests to every pod.
func (s *scenario) deploy(ctx context.Context) (err error) {
	s.progress.Say("deploying the same app twice: `gated` in a namespace with the label, `plain` in one without")
	s.gated, s.plain = s.app("gated"), s.app("plain")
	s.gated.Gated = true
	if s.watcher, err = watchPods(ctx, s.bed.Cluster.AdminConfig()); err != nil {
		return err
	}
	for _, app := range s.apps() {
		if err := s.bed.Deploy(ctx, app); err != nil {
			return err
		}
	}
	for _, app := range s.apps() {
		if err := s.bed.AwaitRolled(ctx, app, deployTimeout); err != nil {
			return err
		}
	}
	return s.awaitAllHealthy(ctx)
}

func (s *scenario) apps() []*testbed.App { return []*testbed.App{s.gated, s.plain} }

func (s *scenario) app(name string) *testbed.App {
	return &testbed.App{
		Name: name, Replicas: replicas, HealthCheck: state.HealthCheck{Interval: checkInterval, Path: "/healthz"},
		Env: map[string]string{"STARTUP_DELAY": s.scaled(startup).String(), "LATENCY": serviceTime.String()},
	}
}

func (s *scenario) awaitAllHealthy(ctx context.Context) error {
	for _, app := range s.apps() {
		if err := s.awaitHealthy(ctx, app); err != nil {
			return err
		}
	}
	return nil
}

// awaitHealthy waits until the load balancer has found every pod healthy.
func (s *scenario) awaitHealthy(ctx context.Context, app *testbed.App) error {
	ctx, cancel := context.WithTimeout(ctx, deployTimeout)
	defer cancel()
	for {
		targets, err := s.bed.AWS.State().Describe(app.TargetGroup, nil)
		if err != nil {
			return fmt.Errorf("describing the targets of %s: %w", app.Name, err)
		}
		count := 0
		for _, target := range targets {
			if target.State == state.Healthy {
				count++
			}
		}
		if count == replicas {
			return nil
		}
		if err := pause(ctx, pollInterval); err != nil {
			return fmt.Errorf("waiting for %d healthy targets of %s, last %d: %w", replicas, app.Name, count, err)
		}
	}
}

// pause waits, unless the context ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
