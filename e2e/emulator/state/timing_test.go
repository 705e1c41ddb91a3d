// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"fmt"
	"testing"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/region"
)

func within(t *testing.T, what string, got, lo, hi time.Duration) {
	t.Helper()
	if got < lo || got > hi {
		t.Errorf("%s after %v, want %v to %v", what, got, lo, hi)
	}
}

// TestTimings checks every moment of a target's way through, for many draws.
func TestTimings(t *testing.T) {
	const second = time.Second
	cases := map[string]struct {
		kind                 string
		known, healthy, stop region.Range
	}{
		Application: {Application, region.Range{Min: second, Max: 3 * second}, region.Range{Min: second, Max: 13 * second}, region.Range{Min: 12 * second, Max: 20 * second}},
		Network:     {Network, region.Range{Min: 90 * second, Max: 180 * second}, region.Range{Min: 210 * second, Max: 310 * second}, region.Range{Min: 120 * second, Max: 200 * second}},
	}
	for name, tc := range cases {
		for _, scale := range []float64{1, 0.1} {
			for seed := range uint64(20) {
				t.Run(fmt.Sprint(name, scale, seed), func(t *testing.T) {
					b := newBedIn(t, region.Options{Seed: seed, Scale: scale}, Options{}, tc.kind)
					in := func(what string, got time.Duration, r region.Range) {
						t.Helper()
						within(t, what, got, b.region.Scaled(r.Min), b.region.Scaled(r.Max))
					}
					b.register("10.0.0.1")
					b.pass(b.region.Scaled(10 * time.Minute))
					in("known", b.when(turns(checking)), tc.known)
					in("healthy", b.when(turns(healthy)), tc.healthy)
					in("routing", b.when(is(RoutingStarted)), tc.known)
					left := b.clock.Since(epoch)
					b.deregister("10.0.0.1")
					b.pass(b.region.Scaled(10 * time.Minute))
					in("no more requests", b.when(is(RoutingStopped))-left, tc.stop)
					delay := b.when(turns(unregistered)) - left
					within(t, "gone", delay, b.region.Scaled(300*second), b.region.Scaled(300*second))
				})
			}
		}
	}
}

func TestFirstCheckWaitsNoLongerThanTheInterval(t *testing.T) {
	for seed := range uint64(20) {
		b := newBedIn(t, region.Options{Seed: seed}, Options{}, Application)
		if _, err := b.ModifyGroup(b.group, HealthCheck{Interval: 5, Timeout: 2}); err != nil {
			t.Fatal(err)
		}
		b.register("10.0.0.1")
		b.pass(time.Minute)
		within(t, "healthy", b.when(turns(healthy)), time.Second, 8*time.Second)
	}
}

func TestChecksFollowTheInterval(t *testing.T) {
	b := newBed(t, Options{}, Application)
	b.register("10.0.0.1")
	b.pass(13*time.Second + 10*30*time.Second)
	if b.probes != 11 {
		t.Errorf("%d checks, want 11", b.probes)
	}
}

func TestThresholds(t *testing.T) {
	b := newBed(t, Options{}, Application)
	const pod, interval = "10.0.0.1", 30 * time.Second
	b.register(pod)
	b.pass(13 * time.Second)
	b.wantHealth(pod, healthy)

	b.answer = failing
	b.pass(interval)
	b.wantHealth(pod, healthy)
	b.pass(interval)
	b.wantHealth(pod, failedChecks)

	b.answer = passing
	b.pass(4 * interval)
	b.wantHealth(pod, failedChecks)
	b.pass(interval)
	b.wantHealth(pod, healthy)
}

func TestFirstPassesIsAKnob(t *testing.T) {
	timings := DefaultTimings()
	timings.NLB.FirstPasses = 1
	b := newBed(t, Options{Timings: &timings}, Network)
	b.register("10.0.0.1")
	b.pass(190 * time.Second)
	b.wantHealth("10.0.0.1", healthy)
}

func TestLateCheckIsNotMadeUpFor(t *testing.T) {
	b := newBed(t, Options{}, Application)
	b.register("10.0.0.1")
	b.clock.Step(10 * time.Minute)
	probes, _ := b.Advance()
	if len(probes) != 1 {
		t.Fatalf("%d checks are due, want 1", len(probes))
	}
	if again, _ := b.Advance(); len(again) != 0 {
		t.Errorf("the check was handed out twice")
	}
}

func TestCheckOfAnEarlierLifeCountsForNothing(t *testing.T) {
	b := newBed(t, Options{}, Application)
	b.register("10.0.0.1")
	b.clock.Step(time.Minute)
	probes, _ := b.Advance()
	b.deregister("10.0.0.1")
	b.register("10.0.0.1")
	b.Report(probes[0], Result{Code: 200})
	b.wantHealth("10.0.0.1", registering)
}
