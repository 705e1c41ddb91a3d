// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// GiveBack clears our part of the binding's status, and then replaces our finalizer by the incumbent's: until then the binding is ours,
// and GiveBack may be repeated. The locks are optimistic. Given is false, without an error, when the binding is gone. One that is being
// deleted cannot be given back.
func GiveBack(ctx context.Context, c client.Client, binding *v1beta1.TargetGroupBinding) (given bool, err error) {
	next := binding.DeepCopy()
	if s := &next.Status; len(s.Conditions) > 0 || s.Targets != nil || s.Pods != nil || s.TargetGroup != nil {
		s.Conditions, s.Targets, s.Pods, s.TargetGroup = nil, nil, nil, nil
		if err := c.Status().Patch(ctx, next, locked(binding)); err != nil {
			return false, failed("clearing the status", err)
		}
	}
	before := next.DeepCopy()
	ownership.GiveBack(next)
	err = c.Patch(ctx, next, locked(before))
	return err == nil, failed("replacing the finalizer", err)
}

func locked(before client.Object) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}

func failed(what string, err error) error {
	if client.IgnoreNotFound(err) == nil {
		return nil
	}
	return fmt.Errorf("giving the binding back: %s: %w", what, err)
}
