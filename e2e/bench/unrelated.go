// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/targetgate/targetgate/e2e/run"
)

const (
	// unrelatedChanges is how often a pod changes, in 1/s, and changing how many of the pods do.
	unrelatedChanges = 50
	changing         = 300
	// idleTime is how long CPU is measured while no pod changes, changeTime while some do.
	idleTime, changeTime = 30 * time.Second, time.Minute
)

// watchUnrelated measures what pods that no binding concerns cost a leader, and a replica that does not lead and starts when they are
// there.
func (s *stage) watchUnrelated(ctx context.Context) error {
	crowd := newCrowd(s.pods())
	before, err := usageOf(s.pid)
	if err != nil {
		return err
	}
	size, err := s.createCrowd(ctx, crowd)
	if err := errors.Join(err, run.Pause(ctx, settledAfter)); err != nil {
		return fmt.Errorf("creating pods: %w", err)
	}
	arrived, err := usageOf(s.pid)
	if err != nil {
		return err
	}
	standby, err := s.bed.StartReplica(ctx)
	if err := errors.Join(err, run.Pause(ctx, settledAfter)); err != nil {
		return fmt.Errorf("starting another replica: %w", err)
	}
	started, err := usageOf(standby.PID())
	if err != nil {
		return err
	}
	s.result.add(podSize, float64(size), bytesOf)
	s.result.add(memoryEmpty, before.peak, mebibytes)
	s.result.perPod("leader", before, arrived, s.pods())
	s.result.perPod("standby", usage{peak: before.peak}, started, s.pods())
	return s.changeUnrelated(ctx, crowd, standby.PID())
}

// perPod adds what a replica took for each of the pods: memory beyond that of one without pods, and CPU.
func (r *result) perPod(replica string, before, after usage, pods int) {
	r.add(replica+": peak memory", after.peak, mebibytes)
	r.add(replica+": memory for each pod", (after.peak-before.peak)*(1<<20)/float64(pods), bytesOf)
	r.microTime(replica+": CPU for each pod that comes", (after.cpu-before.cpu)/time.Duration(pods))
}

// changeUnrelated measures both replicas while some pods change.
func (s *stage) changeUnrelated(ctx context.Context, crowd *crowd, standby int) error {
	processes := map[string]int{"leader": s.pid, "standby": standby}
	if err := errors.Join(s.change(ctx, crowd, changing), run.Pause(ctx, settledAfter)); err != nil {
		return fmt.Errorf("changing pods: %w", err)
	}
	idle, err := spent(processes, func() error { return run.Pause(ctx, idleTime) })
	if err != nil {
		return err
	}
	s.Say("  changing pods %d times a second", unrelatedChanges)
	changes, begin := int(changeTime.Seconds()*unrelatedChanges), time.Now()
	busy, err := spent(processes, func() error { return s.change(ctx, crowd, changes) })
	if err != nil {
		return fmt.Errorf("changing pods: %w", err)
	}
	took := time.Since(begin)
	s.result.add("changes a second", float64(changes)/took.Seconds(), perSecond)
	for _, replica := range []string{"leader", "standby"} {
		least := time.Duration(float64(idle[replica]) * took.Seconds() / idleTime.Seconds())
		s.result.time(replica+": CPU in an idle minute", time.Duration(float64(idle[replica])*float64(time.Minute)/float64(idleTime)))
		s.result.microTime(replica+": CPU for each change", (busy[replica]-least)/time.Duration(changes))
	}
	return nil
}

// spent is how much CPU each process took while something was done.
func spent(processes map[string]int, do func() error) (map[string]time.Duration, error) {
	out := map[string]time.Duration{}
	for name, pid := range processes {
		before, err := usageOf(pid)
		if err != nil {
			return nil, err
		}
		out[name] = -before.cpu
	}
	if err := do(); err != nil {
		return nil, err
	}
	for name, pid := range processes {
		after, err := usageOf(pid)
		if err != nil {
			return nil, err
		}
		out[name] += after.cpu
	}
	return out, nil
}

// createCrowd creates namespaces, owners and pods, and returns how many bytes one pod has.
func (s *stage) createCrowd(ctx context.Context, c *crowd) (size int, err error) {
	for _, object := range c.places() {
		if err := s.bed.Client.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
			return 0, fmt.Errorf("creating %T %s: %w", object, object.GetName(), err)
		}
		c.see(object)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(sideBySide)
	for i := range c.pods {
		if (i+1)%5000 == 0 {
			s.Say("  %d pods", i+1)
		}
		group.Go(func() error {
			pod := c.pod(i)
			err := s.bed.Client.Create(ctx, pod)
			if i == 0 {
				size = pod.Size()
			}
			return err
		})
	}
	return size, group.Wait()
}

// change has that many changes be made, each of the changing pods in turn.
func (s *stage) change(ctx context.Context, c *crowd, changes int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(sideBySide)
	ticker := time.NewTicker(time.Second / unrelatedChanges)
	defer ticker.Stop()
	for i := range changes {
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), group.Wait())
		case <-ticker.C:
		}
		group.Go(func() error {
			pod, patch := c.change(i)
			return s.bed.Client.Status().Patch(ctx, pod, patch)
		})
	}
	return group.Wait()
}
