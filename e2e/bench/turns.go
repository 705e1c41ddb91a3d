// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/e2e/run"
)

const (
	otherNamed = "one of another namespace: name in the status"
	otherRight = "one of another namespace: right"
)

// inTurns measures how long one Ingress of a namespace waits for many of another, of which AWS's limits let few be made a second.
func inTurns(ctx context.Context, e *estate) error {
	const count, each, meanwhile = 30, 10, 30 * time.Second
	other, err := e.newEstate(ctx, "other")
	if err != nil {
		return err
	}
	one, err := other.serve(ctx, "one", 1)
	if err != nil {
		return err
	}
	list := make([]*networkingv1.Ingress, count*each)
	for i := range list {
		if list[i], err = e.serve(ctx, fmt.Sprintf("member-%04d", i), 1, fmt.Sprintf("group.name=group-%02d", i/each)); err != nil {
			return err
		}
	}
	many, err := e.create(ctx, 0, list...)
	if err := errors.Join(err, run.Pause(ctx, meanwhile)); err != nil {
		return err
	}
	created, err := other.create(ctx, 0, one)
	if err != nil {
		return err
	}
	took, err := other.awaitRight(ctx, created)
	if err != nil {
		return err
	}
	e.result.time(otherNamed, took.named[0])
	e.result.time(otherRight, took.right[0])
	all, err := e.awaitRight(ctx, many)
	if err != nil {
		return err
	}
	e.result.time("the many: right, last", slices.Max(all.right))
	return nil
}
