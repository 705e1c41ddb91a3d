// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/run"
)

// groups measures many groups within AWS's limits, then changes that come all the time, and a restart. With so many target groups the
// registrar compares some of them all the time: nothing here waits until AWS is not called.
func groups(ctx context.Context, e *estate) error {
	const count, each = 100, 10
	list := make([]*networkingv1.Ingress, count*each)
	for i := range list {
		var err error
		if list[i], err = e.serve(ctx, fmt.Sprintf("member-%04d", i), 1, fmt.Sprintf("group.name=group-%02d", i/each)); err != nil {
			return err
		}
	}
	before := len(e.bed.AWS.Calls(0))
	created, err := e.create(ctx, 0, list...)
	if err != nil {
		return err
	}
	took, err := e.awaitRight(ctx, created)
	if err != nil {
		return err
	}
	calls := e.callsSince(before)
	e.result.time("created: name in the status, median", quantile(took.named, 0.5))
	e.result.time("created: right, last", slices.Max(took.right))
	least := leastFor(calls, e.Changes)
	e.result.time("created: the least that AWS's limits allow", least)
	e.result.count(overLeast, int(math.Round(100*float64(slices.Max(took.right)-least)/float64(least))))
	e.result.count("created: AWS calls", len(calls))
	e.result.count("created: throttled calls", matching(calls, isThrottled))
	if err := e.memoryFigure(memory); err != nil {
		return err
	}
	if err := e.churned(ctx, list); err != nil {
		return err
	}
	return e.restartedAmongMany(ctx)
}

// leastFor is the time that the limit of creations allows, which is one for all kinds.
func leastFor(calls []wire.Call, limit wire.Limit) time.Duration {
	creations := 0
	for _, what := range []string{"LoadBalancer", "TargetGroup", "Listener", "Rule"} {
		creations += matching(calls, isOf("Create"+what))
	}
	return time.Duration(max(0, float64(creations-limit.Capacity)/limit.Refill) * float64(time.Second))
}

// churned measures changes of one path each, 10 a minute.
func (e *estate) churned(ctx context.Context, list []*networkingv1.Ingress) error {
	const changes, pause = 20, 6 * time.Second
	var took []time.Duration
	for n := range changes {
		ingress, begin := list[n*len(list)/changes], time.Now()
		newPath := func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Path = "/changed" }
		if err := e.edit(ctx, ingress, newPath)(); err != nil {
			return err
		}
		one, err := e.awaitRight(ctx, map[*networkingv1.Ingress]time.Time{ingress: begin})
		if err != nil {
			return err
		}
		took = append(took, one.right...)
		if err := run.Pause(ctx, pause-time.Since(begin)); err != nil {
			return err
		}
	}
	e.result.time("10 changes a minute: right, median", quantile(took, 0.5))
	e.result.time("10 changes a minute: right, last", slices.Max(took))
	return nil
}

// restartedAmongMany measures what a restart changes in two minutes.
func (e *estate) restartedAmongMany(ctx context.Context) (err error) {
	before := len(e.bed.AWS.Calls(0))
	e.bed.Targetgate.Kill()
	if err := errors.Join(e.bed.Targetgate.Restart(ctx), run.Pause(ctx, 2*time.Minute)); err != nil {
		return err
	}
	if e.pid, err = childCalled("targetgate"); err != nil {
		return err
	}
	calls := e.callsSince(before)
	e.result.count(restartCalls, len(calls))
	e.result.count(restartWrites, matching(calls, isWrite))
	return e.memoryFigure(memoryRestarted)
}
