// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/run"
	"github.com/targetgate/targetgate/e2e/testbed"
)

const (
	deployTimeout = 4 * time.Minute // for fewPods
	// settledAfter is how long AWS must not be called until everything is settled and all token buckets are full again:
	// the largest takes 5 s.
	settledAfter  = 6 * time.Second
	settleTimeout = 4 * time.Minute
	// sideBySide is how many Deployments are created or patched at a time.
	sideBySide = 16
)

// stage is a test bed with the apps of one scenario.
type stage struct {
	scenario
	*run.Progress
	bed    *testbed.Bed
	seen   *roster
	apps   []*testbed.App
	pid    int // of targetgate
	result *result
}

// perform runs a scenario and leaves nothing behind, however it ends.
func perform(ctx context.Context, opts options, s scenario, p *run.Progress, r *result) error {
	return opts.OnBed(ctx, s.bedOptions(), func(bed *testbed.Bed) error {
		st := &stage{scenario: s, Progress: p, bed: bed, seen: newRoster(), apps: s.apps(), result: r}
		return errors.Join(st.perform(ctx), opts.keepLog(bed, s))
	})
}

func (s *stage) perform(ctx context.Context) (err error) {
	if s.pid, err = childCalled("targetgate"); err != nil {
		return err
	}
	stop, err := run.WatchPods(ctx, s.bed.Cluster.AdminConfig(), s.seen, strip)
	if err != nil {
		return err
	}
	defer stop()
	switch {
	case s.Ingresses != nil:
		return s.provision(ctx)
	case s.Growth:
		return s.grow(ctx)
	case s.Admission:
		return s.admit(ctx)
	case s.Unrelated:
		return s.watchUnrelated(ctx)
	default:
		return s.replace(ctx)
	}
}

// bedOptions are of the bed that the scenario runs on.
func (s scenario) bedOptions() testbed.Options {
	o := testbed.Options{Timings: timings(), Nodes: s.nodes(), Args: []string{"--deregistration-lead-alb=" + stopsSending.String()}}
	if s.Ingresses != nil {
		s.provisioning(&o)
	}
	if s.Admission {
		o.Limits, o.Args = &wire.Limits{}, append(o.Args, unlimited)
	}
	if most := 2 * s.Replicas; s.Bindings == 1 && most > state.DefaultQuotas().TargetsPerGroup { // old and new ones in one group
		quotas := state.DefaultQuotas()
		quotas.TargetsPerGroup, quotas.TargetsPerALB = most, most
		o.Quotas = &quotas
	}
	return o
}

// keepLog copies targetgate's log if that is asked for, before the bed removes it.
func (o options) keepLog(bed *testbed.Bed, s scenario) error {
	if o.logs == "" {
		return nil
	}
	text, err := os.ReadFile(bed.Targetgate.LogFile())
	if err != nil {
		return fmt.Errorf("keeping targetgate's log: %w", err)
	}
	if err := os.MkdirAll(o.logs, 0o700); err != nil {
		return fmt.Errorf("keeping targetgate's log: %w", err)
	}
	if err := os.WriteFile(filepath.Join(o.logs, s.Name+".log"), text, 0o600); err != nil {
		return fmt.Errorf("keeping targetgate's log: %w", err)
	}
	return nil
}

// mark is a moment from which on things are counted.
type mark struct {
	at             time.Time
	calls, journal int
	usage          // of targetgate
	machine        machine
}

func (s *stage) mark() (m mark, err error) {
	used, err := usageOf(s.pid)
	if err != nil {
		return m, err
	}
	m = mark{calls: len(s.bed.AWS.Calls(0)), journal: len(s.bed.AWS.Journal(0)), usage: used}
	if m.machine, err = readMachine(); err != nil {
		return m, err
	}
	m.at = time.Now()
	return m, nil
}

// since is all that was seen since the mark.
func (s *stage) since(m mark) evidence {
	e := evidence{
		since: m.at, groups: map[string]string{}, pods: s.seen.sightings(),
		journal: s.bed.AWS.Journal(m.journal), calls: s.bed.AWS.Calls(m.calls),
	}
	for _, app := range s.apps {
		e.groups[app.Name] = app.TargetGroup
	}
	return e
}

// forAll does something for all apps, many at a time.
func (s *stage) forAll(ctx context.Context, do func(context.Context, *testbed.App) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(sideBySide)
	for _, app := range s.apps {
		group.Go(func() error { return do(ctx, app) })
	}
	return group.Wait()
}

// awaitPods returns when all pods are of the version and Ready, and no other is left.
func (s *stage) awaitPods(ctx context.Context, version string, timeout time.Duration) error {
	return s.await(ctx, timeout, func() (bool, string) {
		count := s.seen.count(version)
		return count.complete(s.pods()), count.String()
	})
}

// settle returns when AWS has not been called for a while.
func (s *stage) settle(ctx context.Context) error {
	calls, since := len(s.bed.AWS.Calls(0)), time.Now()
	return s.await(ctx, settleTimeout, func() (bool, string) {
		if now := len(s.bed.AWS.Calls(0)); now != calls {
			calls, since = now, time.Now()
		}
		return time.Since(since) >= settledAfter, fmt.Sprintf("settling, %d AWS calls so far", calls)
	})
}

// await is Progress.Await on the stage's bed.
func (s *stage) await(ctx context.Context, timeout time.Duration, done func() (bool, string)) error {
	return s.Await(ctx, s.bed, timeout, done)
}
