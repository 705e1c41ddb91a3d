// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/e2e/run"
)

// groups measures many groups within AWS's limits, then changes that come all the time, and a restart.
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
	if err := e.created(ctx, "created", 0, list...); err != nil {
		return err
	}
	calls := e.callsSince(before)
	e.result.count("created: throttled calls", matching(calls, isThrottled))
	creations := 0 // one limit is for all of them
	for _, what := range []string{"LoadBalancer", "TargetGroup", "Listener", "Rule"} {
		creations += matching(calls, isOf("Create"+what))
	}
	least := float64(creations-mutating.Capacity) / mutating.Refill
	e.result.time("created: the least that AWS's limits allow", time.Duration(least*float64(time.Second)))
	if err := e.memoryFigure(memory); err != nil {
		return err
	}
	if err := e.churned(ctx, list); err != nil {
		return err
	}
	if err := e.restarted(ctx); err != nil {
		return err
	}
	return e.memoryFigure(memoryRestarted)
}

// churned measures changes of one path each, 10 a minute.
func (e *estate) churned(ctx context.Context, list []*networkingv1.Ingress) error {
	const changes, pause = 20, 6 * time.Second
	return e.counted(ctx, "10 changes a minute", func() error {
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
	})
}
