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
	replicas       = 6
	rate           = 120.0 // requests a second to each app
	awsLatency     = 40 * time.Millisecond
	serviceTime    = 15 * time.Millisecond
	startup        = 4 * time.Second // of the app, scaled
	preStop        = 30              // seconds, scaled
	trafficAfter   = 20 * time.Second
	oldVersion     = "1"
	newVersion     = "2"
	settle         = time.Second // under load, before the rollouts
	deployTimeout  = time.Minute
	rolloutTimeout = 10 * time.Minute // scaled
	pollInterval   = 50 * time.Millisecond
	newsInterval   = 2 * time.Second
)

// scenario is a run under way.
type scenario struct {
	options
	bed          *testbed.Bed
	progress     *progress
	watcher      *watcher
	gated, plain *testbed.App
	loads        map[*testbed.App]*load.Load
}

// play runs the whole scenario and leaves nothing behind, however it ends.
func play(ctx context.Context, opts options, p *progress) (r report, err error) {
	bed, err := testbed.Start(ctx, testbed.Options{
		ControlPlane: opts.controlPlane, Targetgate: opts.targetgate,
		Scale: opts.scale, Latency: awsLatency, Progress: func(step string) { p.say("starting: %s", step) },
	})
	if err != nil {
		return r, err
	}
	defer func() {
		p.say("stopping everything")
		err = errors.Join(err, bed.Close())
	}()
	s := &scenario{options: opts, bed: bed, progress: p, loads: map[*testbed.App]*load.Load{}}
	if err := s.deploy(ctx); err != nil {
		return r, errors.Join(err, bed.Targetgate.Failure())
	}
	defer s.watcher.close()
	start, err := s.roll(ctx)
	if err != nil {
		return r, errors.Join(err, bed.Targetgate.Failure())
	}
	return s.report(start), nil
}

// deploy brings both apps up, until their load balancers send requests to every pod.
func (s *scenario) deploy(ctx context.Context) (err error) {
	s.progress.say("deploying the same app twice: `gated` (namespace labelled, preStop %d s) and `plain`", preStop)
	s.gated, s.plain = s.app("gated"), s.app("plain")
	s.gated.Gated, s.gated.PreStopSeconds = true, preStop
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
		if err := s.awaitHealthy(ctx, app); err != nil {
			return err
		}
	}
	return nil
}

func (s *scenario) apps() []*testbed.App { return []*testbed.App{s.gated, s.plain} }

func (s *scenario) app(name string) *testbed.App {
	return &testbed.App{
		Name: name, Replicas: replicas,
		Env: map[string]string{"STARTUP_DELAY": s.scaled(startup).String(), "LATENCY": serviceTime.String()},
	}
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

// roll rolls both apps under load, and keeps the load up until no load balancer can send to an old pod any more.
func (s *scenario) roll(ctx context.Context) (start time.Time, err error) {
	for _, app := range s.apps() {
		s.loads[app], err = load.Start(ctx, load.Options{URL: app.URL, Rate: rate, KeepAlive: true})
		if err != nil {
			return start, fmt.Errorf("starting the load on %s: %w", app.Name, err)
		}
	}
	defer s.stopLoads()
	s.progress.say("sending %.0f requests a second to each of the two load balancers", rate)
	if err := pause(ctx, settle); err != nil {
		return start, err
	}
	s.progress.say("rolling both from version %s to version %s", oldVersion, newVersion)
	start = time.Now()
	defer s.tellNews(ctx)()
	for _, app := range s.apps() {
		if err := s.bed.Roll(ctx, app, newVersion, nil); err != nil {
			return start, err
		}
	}
	for _, app := range s.apps() {
		if err := s.bed.AwaitRolled(ctx, app, s.scaled(rolloutTimeout)); err != nil {
			return start, err
		}
	}
	return start, pause(ctx, s.scaled(trafficAfter))
}

func (s *scenario) stopLoads() {
	for _, l := range s.loads {
		l.Stop()
	}
}

// tellNews tells every other second how things are, until the returned function is called.
func (s *scenario) tellNews(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for pause(ctx, newsInterval) == nil {
			gated, plain := s.loads[s.gated].Snapshot(), s.loads[s.plain].Snapshot()
			s.progress.say("  requests failed so far: gated %d of %s, plain %d of %s",
				gated.Failed, thousands(gated.Requests), plain.Failed, thousands(plain.Requests))
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// report makes sense of all that was seen.
func (s *scenario) report(start time.Time) report {
	seen := evidence{
		pods: s.watcher.sightings(), kubelet: s.bed.Kubelet.Moments(),
		calls: s.bed.AWS.Calls(0), journal: s.bed.AWS.Journal(0), requests: s.bed.AWS.Requests(0),
	}
	r := report{Scale: s.scale, Replicas: replicas, Rate: rate, From: -settle, To: time.Since(start)}
	r.Gated, r.Plain = s.rollout(s.gated, seen, start), s.rollout(s.plain, seen, start)
	r.Gated.Setup = fmt.Sprintf("namespace labelled, preStop %d s", preStop)
	r.Plain.Setup = "not labelled, no preStop"
	return r
}

func (s *scenario) rollout(app *testbed.App, seen evidence, start time.Time) rollout {
	lanes := timeline(seen, app.Name, app.TargetGroup, newVersion, start)
	result := s.loads[app].Stop()
	return rollout{
		Name: app.Name, Gated: app.Gated, Lanes: lanes, Load: result, Took: took(lanes),
		Answered: answered(seen.requests, app.TargetGroup, start), Failed: sentAt(result.Failures, start),
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
