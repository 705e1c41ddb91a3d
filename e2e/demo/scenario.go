// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/load"
	"github.com/targetgate/targetgate/e2e/run"
	"github.com/targetgate/targetgate/e2e/testbed"
)

const (
	replicas      = 6
	rate          = 120.0 // requests a second to each app
	serviceTime   = 15 * time.Millisecond
	startup       = 4 * time.Second // of the app, scaled
	checkInterval = 10              // seconds between health checks, scaled
	deployTimeout = time.Minute
)

// scenario is a run under way.
type scenario struct {
	options
	bed          *testbed.Bed
	progress     *run.Progress
	seen         *roster
	gated, plain *testbed.App
	loads        map[*testbed.App]*load.Load // of the current act
}

// play runs the whole scenario and leaves nothing behind, however it ends.
func play(ctx context.Context, opts options, p *run.Progress) (r report, err error) {
	bedOptions := testbed.Options{
		Scale: opts.scale, SecurityGroups: true, Provisioning: true, Progress: func(step string) { p.Say("starting: %s", step) },
	}
	err = opts.OnBed(ctx, bedOptions, func(bed *testbed.Bed) (err error) {
		defer p.Say("stopping everything")
		s := &scenario{options: opts, bed: bed, progress: p, seen: newRoster(), loads: map[*testbed.App]*load.Load{}}
		stop, err := run.WatchPods(ctx, bed.Cluster.AdminConfig(), s.seen, nil)
		if err != nil {
			return err
		}
		defer stop()
		if err = s.openNodes(); err == nil {
			r, err = s.playActs(ctx)
		}
		if err != nil {
			return errors.Join(err, bed.Targetgate.Failure())
		}
		return nil
	})
	return r, err
}

// openNodes lets the load balancers of both apps, which stand for those of others, reach all pods.
func (s *scenario) openNodes() error {
	all := ec2.Rule{Protocol: "-1", Source: ec2.Source{CIDR: netip.MustParsePrefix("0.0.0.0/0")}}
	return s.bed.AWS.EC2.AuthorizeIngress("", s.bed.NodeSecurityGroup, []ec2.Permission{{Rule: all}})
}

func (s *scenario) playActs(ctx context.Context) (r report, err error) {
	s.progress.Say("deploying an Ingress with two paths, whose load balancer is made meanwhile")
	shop, err := s.deployShop(ctx)
	if err != nil {
		return r, err
	}
	if err := s.deploy(ctx); err != nil {
		return r, err
	}
	if r, err = s.perform(ctx); err != nil {
		return r, err
	}
	s.progress.Say("act 3: changing the Ingress under load: another port of its Service, and a rule in the middle")
	r.Third, err = shop.act(ctx)
	return r, err
}

// deploy brings both apps up, until their load balancers send requests to every pod.
func (s *scenario) deploy(ctx context.Context) error {
	s.progress.Say("deploying the same app twice: `gated` in a namespace with the label, `plain` in one without")
	s.gated, s.plain = s.app("gated"), s.app("plain")
	s.gated.Gated = true
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
	return s.progress.Await(ctx, s.bed, deployTimeout, func() (bool, string) {
		targets, err := s.bed.AWS.ELB.Describe(app.TargetGroup, nil)
		if err != nil {
			return false, fmt.Sprintf("describing the targets of %s: %v", app.Name, err)
		}
		count := 0
		for _, target := range targets {
			if target.State == state.Healthy {
				count++
			}
		}
		return count == replicas, fmt.Sprintf("%d of %d targets of %s are healthy", count, replicas, app.Name)
	})
}
