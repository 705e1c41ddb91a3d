// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/load"
	"github.com/targetgate/targetgate/e2e/run"
	"github.com/targetgate/targetgate/e2e/testbed"
)

const (
	oldVersion, newVersion = "1", "2"
	rolloutTimeout         = 6 * time.Minute
	// loadBefore and loadAfter are how long requests are sent before and after a rollout; the load balancer goes on sending
	// to a pod for 4 s after its deregistration.
	loadBefore, loadAfter = time.Second, 6 * time.Second
	loadWorkers           = 8
)

// replace rolls all apps at once.
func (s *stage) replace(ctx context.Context) error {
	begin, err := s.mark()
	if err != nil {
		return err
	}
	if err := s.forAll(ctx, s.bed.Deploy); err != nil {
		return err
	}
	if err := s.awaitPods(ctx, oldVersion, deployTimeout); err != nil {
		return fmt.Errorf("deploying: %w", err)
	}
	end, err := s.mark()
	if err != nil {
		return err
	}
	s.result.time(cpuReady, end.cpu-begin.cpu)
	if err := s.settle(ctx); err != nil {
		return err
	}
	loads, err := s.startLoads(ctx)
	defer stopAll(loads)
	if err != nil {
		return err
	}
	if err := run.Pause(ctx, loadBefore); err != nil {
		return err
	}
	return s.roll(ctx, loads)
}

// roll measures the rollout. When it does not come to its end, there are figures all the same.
func (s *stage) roll(ctx context.Context, loads []*load.Load) error {
	begin, err := s.mark()
	if err != nil {
		return err
	}
	s.Say("  rolling out version %s", newVersion)
	err = s.forAll(ctx, func(ctx context.Context, app *testbed.App) error { return s.bed.Roll(ctx, app, newVersion, nil) })
	if err != nil {
		return err
	}
	incomplete := s.awaitPods(ctx, newVersion, rolloutTimeout)
	end, err := s.mark()
	if err := errors.Join(err, run.Pause(ctx, loadAfter)); err != nil {
		return errors.Join(incomplete, err)
	}
	requests, failed := stopAll(loads)
	s.rolloutFigures(begin, end, s.since(begin))
	if len(loads) > 0 {
		s.result.count(requestsAll, requests)
		s.result.count(requestsFailed, failed)
	}
	return errors.Join(incomplete, s.usageFigures(begin, end))
}

func (s *stage) startLoads(ctx context.Context) (loads []*load.Load, err error) {
	if s.Rate == 0 {
		return nil, nil
	}
	for _, app := range s.apps {
		l, err := load.Start(ctx, load.Options{URL: app.URL, Rate: s.Rate, Workers: loadWorkers, KeepAlive: true})
		if err != nil {
			return loads, fmt.Errorf("starting the load on %s: %w", app.Name, err)
		}
		loads = append(loads, l)
	}
	return loads, nil
}

// stopAll ends loads, which may have been stopped before.
func stopAll(loads []*load.Load) (requests, failed int) {
	for _, l := range loads {
		result := l.Stop()
		requests += result.Requests
		failed += result.Failed
	}
	return requests, failed
}

func (s *stage) rolloutFigures(begin, end mark, seen evidence) {
	s.gateFigures(seen)
	delays, never := seen.departures()
	s.result.time(leftMedian, quantile(delays, 0.5))
	s.result.time(leftMax, quantile(delays, 1))
	s.result.count(leftNever, never)
	s.leavingFigures(delays)
	entered := seen.arrivals()
	s.result.time(enteredMedian, quantile(entered, 0.5))
	s.result.time(enteredMax, quantile(entered, 1))
	s.result.time(took, completed(seen.pods, newVersion).Sub(begin.at))
	s.callFigures(seen.calls, end.at.Sub(begin.at))
}

// leavingFigures are of what was left of the pods' sleep, less what the load balancer goes on sending, when they were deregistered.
func (s *stage) leavingFigures(delays []time.Duration) {
	if s.PreStop == 0 {
		return
	}
	room, late := time.Duration(s.PreStop)*time.Second-stopsSending, 0
	for _, delay := range delays {
		if delay > room {
			late++
		}
	}
	s.result.time(leftMargin, room-quantile(delays, 1))
	s.result.count(leftLate, late)
}

func (s *stage) gateFigures(seen evidence) {
	g := seen.gates()
	s.result.time(gateMedian, quantile(g.open, 0.5))
	s.result.time(gateNinety, quantile(g.open, 0.9))
	s.result.time(gateMax, quantile(g.open, 1))
	s.result.time(gateRead, quantile(g.read, 0.5))
	s.result.time(gateReadMax, quantile(g.read, 1))
	s.result.time(gateWritten, quantile(g.written, 0.5))
	s.result.time(gateWrittenMax, quantile(g.written, 1))
	s.result.count(gatesEarly, g.early)
}

// callFigures are of calls that were made over that time.
func (s *stage) callFigures(calls []wire.Call, over time.Duration) {
	s.result.Calls = byOperation(calls)
	s.result.count(callsAll, len(calls))
	s.result.count(callsTargets, matching(calls, changesTargets))
	describes := matching(calls, isDescribe)
	s.result.count(callsDescribe, describes)
	s.result.add(describePeak, float64(peak(calls, isDescribe, time.Second)), perSecond)
	s.result.add(describeMean, float64(describes)/over.Seconds(), perSecond)
	s.result.count(callsThrottled, matching(calls, isThrottled))
}

func (s *stage) usageFigures(begin, end mark) error {
	used, err := usageOf(s.pid)
	if err != nil {
		return err
	}
	s.result.time(cpu, end.cpu-begin.cpu)
	s.result.add(memory, used.peak, mebibytes)
	s.result.add(busy, end.machine.busySince(begin.machine), percent)
	return nil
}
