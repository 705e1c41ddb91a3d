// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/dataplane"
	"github.com/targetgate/targetgate/e2e/load"
	"github.com/targetgate/targetgate/e2e/run"
	"github.com/targetgate/targetgate/e2e/testbed"
)

const (
	goodVersion    = "2"
	badVersion     = "3"
	badFor         = 50 * time.Second // scaled: the second act ends then, as its gated rollout never does
	settle         = time.Second      // under load, before each rollout
	trafficAfter   = 20 * time.Second // scaled
	rolloutTimeout = 10 * time.Minute // scaled
	newsInterval   = 2 * time.Second
)

// unaccepted is the env of an app that Kubernetes calls Ready, as its readiness probe succeeds, and that fails the load
// balancer's health check, and every request.
var unaccepted = map[string]string{"HEALTH_STATUS": "503", "STATUS": "503"}

// perform plays both acts of rollouts.
func (s *scenario) perform(ctx context.Context) (r report, err error) {
	r = report{Scale: s.scale, Replicas: replicas, Rate: rate}
	s.progress.Say("act 1: rolling both to version %s, which works", goodVersion)
	if r.First, err = s.act(ctx, goodVersion, nil, s.awaitComplete); err != nil {
		return r, err
	}
	if err := s.awaitAllHealthy(ctx); err != nil {
		return r, err
	}
	s.progress.Say("act 2: rolling both to version %s, which is Ready but answers 503 to all else, for %.3g s",
		badVersion, s.scaled(badFor).Seconds())
	r.Second, err = s.act(ctx, badVersion, unaccepted, func(ctx context.Context) error { return run.Pause(ctx, s.scaled(badFor)) })
	return r, err
}

// act rolls both apps under load, which stops when the wait is over.
func (s *scenario) act(ctx context.Context, version string, env map[string]string, wait func(context.Context) error) (a act, err error) {
	begin := time.Now()
	if err := s.startLoads(ctx); err != nil {
		return a, err
	}
	defer s.stopLoads()
	defer s.tellNews(ctx)()
	if err := run.Pause(ctx, settle); err != nil {
		return a, err
	}
	start := time.Now()
	for _, app := range s.apps() {
		if err := s.bed.Roll(ctx, app, version, env); err != nil {
			return a, err
		}
	}
	if err := wait(ctx); err != nil {
		return a, err
	}
	a = act{From: -settle, To: time.Since(start).Truncate(bucket)}
	s.stopLoads()
	seen := s.evidence(begin)
	a.Gated, a.Plain = s.rollout(s.gated, version, seen, start), s.rollout(s.plain, version, seen, start)
	return a, nil
}

// awaitComplete waits until both rollouts are complete, and no load balancer can send to an old pod any more.
func (s *scenario) awaitComplete(ctx context.Context) error {
	for _, app := range s.apps() {
		if err := s.bed.AwaitRolled(ctx, app, s.scaled(rolloutTimeout)); err != nil {
			return err
		}
	}
	return run.Pause(ctx, s.scaled(trafficAfter))
}

func (s *scenario) startLoads(ctx context.Context) (err error) {
	for _, app := range s.apps() {
		s.loads[app], err = load.Start(ctx, load.Options{URL: app.URL, Rate: rate, KeepAlive: true})
		if err != nil {
			return fmt.Errorf("starting the load on %s: %w", app.Name, err)
		}
	}
	return nil
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
		for run.Pause(ctx, newsInterval) == nil {
			gated, plain := s.loads[s.gated].Snapshot(), s.loads[s.plain].Snapshot()
			s.progress.Say("  requests failed so far: gated %d of %s, plain %d of %s",
				gated.Failed, thousands(gated.Requests), plain.Failed, thousands(plain.Requests))
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// evidence is all that was seen, with the requests since begin only: those of an act.
func (s *scenario) evidence(begin time.Time) evidence {
	return evidence{
		pods: s.seen.sightings(), kubelet: s.bed.Kubelet.Moments(), calls: s.bed.AWS.Calls(0), journal: s.bed.AWS.Journal(0),
		requests: slices.DeleteFunc(slices.Clone(s.bed.AWS.Requests(0)), func(r dataplane.Request) bool { return r.Start.Before(begin) }),
	}
}

func (s *scenario) rollout(app *testbed.App, version string, seen evidence, start time.Time) rollout {
	lanes := timeline(seen, app.Name, app.TargetGroup, version, start)
	result := s.loads[app].Stop()
	return rollout{
		Name: app.Name, Gated: app.Gated, Setup: s.setup(app, seen.pods), Lanes: lanes, Load: result, Took: took(lanes, replicas),
		Answered: answered(seen.requests, app.TargetGroup, start), Failed: sentAt(result.Failures, start),
	}
}

// setup says what became of the app's pods at admission, with times as they are on AWS and here.
func (s *scenario) setup(app *testbed.App, pods []sighting) []setting {
	label, gate, sleep := "none", "none", "none"
	if app.Gated {
		label, gate = "enabled", "added"
	}
	for _, pod := range pods {
		if pod.Namespace == app.Name && pod.Sleep > 0 {
			sleep = "added: " + here(pod.Sleep, s.scale)
		}
	}
	return []setting{
		{"namespace label", label},
		{"readiness gate", gate},
		{"preStop sleep", sleep},
		{"health checks", "every " + here(checkInterval*time.Second, s.scale)},
		{"targets registered by", "targetgate"},
	}
}
