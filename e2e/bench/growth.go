// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/run"
)

const (
	// watched is how long calls are counted when there should be none.
	watched         = 10 * time.Second
	caughtUpTimeout = time.Minute
)

// withoutProbe makes a pod ready when it runs.
func withoutProbe(template *corev1.PodTemplateSpec) { template.Spec.Containers[0].ReadinessProbe = nil }

// grow deploys all pods at once, then restarts targetgate. When not all pods become Ready, there are figures all the same.
func (s *stage) grow(ctx context.Context) error {
	begin, err := s.mark()
	if err != nil {
		return err
	}
	if err := s.forAll(ctx, s.bed.Deploy); err != nil {
		return err
	}
	incomplete := s.awaitPods(ctx, oldVersion, deployTimeout*time.Duration(max(fewPods, s.pods()))/fewPods)
	s.growthFigures(begin)
	end, err := s.mark()
	if err := errors.Join(incomplete, err); err != nil {
		return fmt.Errorf("deploying: %w", err)
	}
	s.result.time(cpuReady, end.cpu)
	s.result.add(busy, end.machine.busySince(begin.machine), percent)
	if err := s.watchSettled(ctx); err != nil {
		return err
	}
	s.result.add(memoryEmpty, begin.peak, mebibytes)
	return s.restart(ctx)
}

// growthFigures are those that do not need a targetgate that runs.
func (s *stage) growthFigures(begin mark) {
	seen := s.since(begin)
	s.result.time(readyAfter, completed(seen.pods, oldVersion).Sub(begin.at))
	s.gateFigures(seen)
	s.callFigures(seen.calls, time.Since(begin.at))
}

func (s *stage) memoryFigure(name string) error {
	used, err := usageOf(s.pid)
	if err != nil {
		return err
	}
	s.result.add(name, used.peak, mebibytes)
	return nil
}

// watchSettled counts the calls for a cluster in which nothing happens.
func (s *stage) watchSettled(ctx context.Context) error {
	if s.Bindings <= growthBindings { // of more, one or the other is due for its look for drift all the time
		if err := s.settle(ctx); err != nil {
			return err
		}
	}
	before := len(s.bed.AWS.Calls(0))
	if err := run.Pause(ctx, watched); err != nil {
		return err
	}
	s.result.count(callsSettled, len(s.bed.AWS.Calls(before)))
	return s.memoryFigure(memory)
}

// restart kills targetgate and has it come back.
func (s *stage) restart(ctx context.Context) (err error) {
	s.Say("  kill -9 and restart")
	s.bed.Targetgate.Kill()
	before, begin := len(s.bed.AWS.Calls(0)), time.Now()
	if err := s.bed.Targetgate.Restart(ctx); err != nil {
		return err
	}
	ready := time.Now()
	if s.pid, err = childCalled("targetgate"); err != nil {
		return err
	}
	err = s.await(ctx, caughtUpTimeout, func() (bool, string) {
		read := readings(s.bed.AWS.Calls(before))
		return len(read) >= s.Bindings, fmt.Sprintf("%d of %d target groups read", len(read), s.Bindings)
	})
	if err := errors.Join(err, run.Pause(ctx, watched)); err != nil {
		return fmt.Errorf("catching up after a restart: %w", err)
	}
	s.restartFigures(begin, ready, s.bed.AWS.Calls(before))
	return s.memoryFigure(memoryRestarted)
}

func (s *stage) restartFigures(begin, ready time.Time, calls []wire.Call) {
	last := ready
	for _, at := range readings(calls) {
		if at.After(last) {
			last = at
		}
	}
	health := matching(calls, isOf(describeHealth))
	s.result.time(caughtUp, last.Sub(begin))
	s.result.count(againHealth, health)
	s.result.count(againDescribe, matching(calls, isDescribe)-health)
	s.result.count(againRegister, matching(calls, isOf(register)))
	s.result.count(againDeregister, matching(calls, isOf(deregister)))
}
