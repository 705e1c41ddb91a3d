// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/e2e/run"
)

// faults break a member, each in another way.
var faults = map[string]func(*networkingv1.Ingress){
	"missing Service":    func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Backend = backendOf("none") },
	"missing port":       func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Port.Number = 99 },
	"bad JSON":           func(i *networkingv1.Ingress) { i.Annotations[annotation+"listen-ports"] = "{" },
	"bad number":         func(i *networkingv1.Ingress) { i.Annotations[annotation+"healthcheck-interval-seconds"] = "often" },
	"another scheme":     func(i *networkingv1.Ingress) { i.Annotations[annotation+"scheme"] = "internet-facing" },
	"no certificate":     func(i *networkingv1.Ingress) { i.Annotations[annotation+"listen-ports"] = `[{"HTTPS":443}]` },
	"a rule AWS refuses": func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Path = "/" + strings.Repeat("a", 200) },
}

// brokenMember measures, for each fault of one member, a change of another and a new member.
func brokenMember(ctx context.Context, e *estate) error {
	list, err := e.members(ctx, 10)
	if err != nil {
		return err
	}
	if err := e.created(ctx, "created", 0, list...); err != nil {
		return err
	}
	for n, fault := range slices.Sorted(maps.Keys(faults)) {
		if err := e.broken(ctx, fault, list[0], list[1], n); err != nil {
			return fmt.Errorf("%s: %w", fault, err)
		}
	}
	return nil
}

// brokenFor is how long the calls are counted while a member is broken, as they were for the incumbent.
const brokenFor = 28 * time.Second

func (e *estate) broken(ctx context.Context, fault string, bad, other *networkingv1.Ingress, number int) error {
	whole, before := bad.DeepCopy(), len(e.bed.AWS.Calls(0))
	added, err := e.serve(ctx, fmt.Sprintf("new-%d", number), 1, "group.name=all", "scheme=internal")
	if err := errors.Join(err, e.edit(ctx, bad, faults[fault])()); err != nil {
		return err
	}
	end := time.Now().Add(brokenFor)
	if err := run.Pause(ctx, watched); err != nil {
		return err
	}
	path := fmt.Sprintf("/changed-%d", number)
	begin := time.Now()
	if err := e.edit(ctx, other, func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Path = path })(); err != nil {
		return err
	}
	changed, err := e.awaitRight(ctx, map[*networkingv1.Ingress]time.Time{other: begin})
	if err != nil {
		return err
	}
	created, err := e.create(ctx, 0, added)
	if err != nil {
		return err
	}
	served, err := e.awaitRight(ctx, created)
	e.result.time(fault+": change of another", slices.Max(append(changed.right, 0)))
	e.result.time(fault+": new member", slices.Max(append(served.right, 0)))
	if err := errors.Join(err, run.Pause(ctx, time.Until(end))); err != nil {
		return err
	}
	calls := e.callsSince(before)
	e.result.count(fault+": AWS calls in 28 s", len(calls))
	e.note(fault, calls)
	err = e.edit(ctx, bad, func(i *networkingv1.Ingress) { i.Spec, i.Annotations = whole.Spec, whole.Annotations })()
	return errors.Join(err, e.settle(ctx))
}
