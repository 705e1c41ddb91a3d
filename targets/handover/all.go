// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// pause is between two looks at what is left.
const pause = 2 * time.Second

// All gives back all bindings of the cluster, and prints what it did to out. First it takes the label from the namespaces, so that a
// targetgate that runs takes none again, and can end its calls to AWS and give back by itself. It tries until nothing is left, or ctx
// ends; its error names what is left then, and why.
func All(ctx context.Context, c client.Client, out io.Writer) error {
	for {
		removed, err := unlabel(ctx, c, out)
		if removed {
			wait(ctx)
		}
		left := errors.Join(err, giveBackAll(ctx, c, out))
		if left == nil || ctx.Err() != nil {
			return left
		}
		if wait(ctx); ctx.Err() != nil {
			return left
		}
	}
}

func wait(ctx context.Context) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// unlabel reports whether any namespace had the label.
func unlabel(ctx context.Context, c client.Client, out io.Writer) (removed bool, _ error) {
	var list corev1.NamespaceList
	if err := c.List(ctx, &list, client.MatchingLabels{ownership.RegisterLabel: ownership.Enabled}); err != nil {
		return false, fmt.Errorf("listing namespaces: %w", err)
	}
	var left []error
	for i := range list.Items {
		ns := &list.Items[i]
		before := ns.DeepCopy()
		delete(ns.Labels, ownership.RegisterLabel)
		if err := c.Patch(ctx, ns, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
			left = append(left, fmt.Errorf("namespace %s still has label %s: %w", ns.Name, ownership.RegisterLabel, err))
			continue
		}
		fmt.Fprintf(out, "removed label %s from namespace %s\n", ownership.RegisterLabel, ns.Name)
		removed = true
	}
	return removed, errors.Join(left...)
}

func giveBackAll(ctx context.Context, c client.Client, out io.Writer) error {
	var list v1beta1.TargetGroupBindingList
	if err := c.List(ctx, &list); err != nil {
		return fmt.Errorf("listing bindings: %w", err)
	}
	var left []error
	for i := range list.Items {
		binding := &list.Items[i]
		switch {
		case !controllerutil.ContainsFinalizer(binding, v1beta1.BesideFinalizer):
			continue
		case !binding.DeletionTimestamp.IsZero():
			left = append(left, fmt.Errorf("%s/%s is being deleted, and targetgate has to deregister its targets first",
				binding.Namespace, binding.Name))
			continue
		}
		given, err := GiveBack(ctx, c, binding)
		if err != nil {
			left = append(left, fmt.Errorf("%s/%s: %w", binding.Namespace, binding.Name, err))
			continue
		}
		if given {
			fmt.Fprintf(out, "gave back %s/%s\n", binding.Namespace, binding.Name)
		}
	}
	return errors.Join(left...)
}
