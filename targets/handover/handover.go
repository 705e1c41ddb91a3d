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
// and GiveBack may be repeated. The locks are optimistic; a binding that is gone is no error. One that is being deleted cannot be given
// back.
func GiveBack(ctx context.Context, c client.Client, binding *v1beta1.TargetGroupBinding) error {
	given := binding.DeepCopy()
	if s := &given.Status; len(s.Conditions) > 0 || s.Targets != nil || s.Pods != nil {
		s.Conditions, s.Targets, s.Pods = nil, nil, nil
		if err := c.Status().Patch(ctx, given, locked(binding)); err != nil {
			return failed("clearing the status", err)
		}
	}
	before := given.DeepCopy()
	ownership.GiveBack(given)
	return failed("replacing the finalizer", c.Patch(ctx, given, locked(before)))
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
