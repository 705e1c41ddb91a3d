// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package incumbent

import (
	"context"
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

// The waits of the Ingress controller, between two looks and at most. While one load balancer waits, none of the others is worked on.
const (
	lookEvery  = 200 * time.Millisecond
	waitAtMost = time.Minute
)

// Provision makes the binding as the template, which is of the Ingress controller's own making: spec, labels and annotations, but for
// the checkpoint's. It creates without waiting; after a patch it waits until the generation was observed. Wrote says that there was
// something to do.
func (i *Incumbent) Provision(ctx context.Context, template *v1beta1.TargetGroupBinding) (wrote bool, _ error) {
	key := client.ObjectKeyFromObject(template)
	binding := &v1beta1.TargetGroupBinding{}
	err := i.client.Get(ctx, key, binding)
	if apierrors.IsNotFound(err) {
		return true, i.client.Create(ctx, template.DeepCopy())
	}
	if err != nil || isAs(binding, template) {
		return false, err
	}
	before := binding.DeepCopy()
	binding.Spec, binding.Labels = *template.Spec.DeepCopy(), maps.Clone(template.Labels)
	binding.Annotations = withCheckpoint(template.Annotations, before.Annotations)
	if err := i.client.Patch(ctx, binding, client.MergeFrom(before)); err != nil {
		return true, err
	}
	return true, i.await(ctx, "the binding's generation to be observed", func(ctx context.Context) (bool, error) {
		var now v1beta1.TargetGroupBinding
		if err := i.client.Get(ctx, key, &now); err != nil {
			return false, err
		}
		seen := now.Status.ObservedGeneration
		return seen != nil && *seen >= binding.Generation, nil
	})
}

// Deprovision deletes the binding, and waits until it is gone.
func (i *Incumbent) Deprovision(ctx context.Context, binding *v1beta1.TargetGroupBinding) error {
	if err := i.client.Delete(ctx, binding); err != nil {
		return err
	}
	return i.await(ctx, "the binding to be gone", func(ctx context.Context) (bool, error) {
		err := i.client.Get(ctx, client.ObjectKeyFromObject(binding), &v1beta1.TargetGroupBinding{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

func (i *Incumbent) await(ctx context.Context, what string, check wait.ConditionWithContextFunc) error {
	if err := wait.PollUntilContextTimeout(ctx, lookEvery, waitAtMost, true, check); err != nil {
		return fmt.Errorf("waiting for %s: %w", what, err)
	}
	return nil
}

// isAs says that the binding needs no patch.
func isAs(binding, template *v1beta1.TargetGroupBinding) bool {
	return equality.Semantic.DeepEqual(binding.Spec, template.Spec) && equality.Semantic.DeepEqual(binding.Labels, template.Labels) &&
		maps.Equal(binding.Annotations, withCheckpoint(template.Annotations, binding.Annotations))
}

// withCheckpoint are the wanted annotations, and of those that are there the checkpoint's.
func withCheckpoint(wanted, there map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, wanted)
	for _, name := range []string{checkpoint, checkpointTimestamp} {
		if text, ok := there[name]; ok {
			out[name] = text
		}
	}
	return out
}
