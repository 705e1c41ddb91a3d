// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package incumbent

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

const (
	finalizer           = "elbv2.k8s.aws/resources"
	checkpoint          = "elbv2.k8s.aws/checkpoint"
	checkpointTimestamp = "elbv2.k8s.aws/checkpoint-timestamp"
)

// Reconcile is one pass over a binding. An error has it tried again after the back-off.
func (c *passes) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var binding v1beta1.TargetGroupBinding
	if err := c.client.Get(ctx, req.NamespacedName, &binding); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !binding.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, c.finish(ctx, &binding)
	}
	if err := c.addFinalizer(ctx, &binding); err != nil {
		c.warn(&binding, "FailedAddFinalizer", "Failed add finalizer due to "+err.Error())
		return ctrl.Result{}, err
	}
	again, settled, err := c.bringTargets(ctx, &binding)
	if err != nil || again > 0 || settled {
		return ctrl.Result{RequeueAfter: again}, err
	}
	return ctrl.Result{}, c.observe(ctx, &binding)
}

// finish ends its work on a binding that is being deleted; one without its finalizer is none of its business.
func (c *passes) finish(ctx context.Context, binding *v1beta1.TargetGroupBinding) error {
	if !controllerutil.ContainsFinalizer(binding, finalizer) {
		return nil
	}
	if err := c.cleanUp(ctx, binding); err != nil {
		return err
	}
	return c.changeFinalizers(ctx, binding, controllerutil.RemoveFinalizer)
}

// cleanUp deregisters all targets, if there is still a group, and opens all gates.
func (c *passes) cleanUp(ctx context.Context, binding *v1beta1.TargetGroupBinding) error {
	group := binding.Spec.TargetGroupARN
	listed, err := c.targets.list(ctx, group)
	if err == nil {
		err = c.targets.deregister(ctx, group, keys(listed))
	}
	if gone := (*elbv2types.TargetGroupNotFoundException)(nil); err != nil && !errors.As(err, &gone) {
		return err
	}
	return c.openGates(ctx, binding)
}

// addFinalizer comes before everything else, and does nothing where the cache shows the finalizer.
func (c *passes) addFinalizer(ctx context.Context, binding *v1beta1.TargetGroupBinding) error {
	return c.changeFinalizers(ctx, binding, controllerutil.AddFinalizer)
}

// changeFinalizers makes an optimistic patch if there is something to change.
func (c *passes) changeFinalizers(
	ctx context.Context, binding *v1beta1.TargetGroupBinding, change func(client.Object, string) bool,
) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := c.client.Get(ctx, client.ObjectKeyFromObject(binding), binding); err != nil {
			return err
		}
		before := binding.DeepCopy()
		if !change(binding, finalizer) {
			return nil
		}
		return c.client.Patch(ctx, binding, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
}

// bringTargets has the group hold the endpoints. Again is when to look again, because pods wait; settled says that nothing has changed
// since the checkpoint.
func (c *passes) bringTargets(ctx context.Context, binding *v1beta1.TargetGroupBinding) (again time.Duration, settled bool, _ error) {
	if binding.Spec.TargetType == nil {
		return 0, false, fmt.Errorf("targetType is not specified: %s/%s", binding.Namespace, binding.Name)
	}
	found, waits, err := c.endpointsOf(ctx, binding)
	if client.IgnoreNotFound(err) != nil {
		return 0, false, err
	}
	if err != nil {
		c.warn(binding, "BackendNotFound", err.Error())
		return 0, false, c.cleanUp(ctx, binding)
	}
	fresh, err := checkpointOf(found, &binding.Spec)
	if err != nil {
		return 0, false, err
	}
	if !waits && binding.Annotations[checkpoint] == fresh {
		return 0, true, nil
	}
	unhealthy, err := c.changeTargets(ctx, binding, found)
	if err != nil {
		return 0, false, err
	}
	if unhealthy || waits {
		return c.probe, false, nil
	}
	return 0, false, c.writeCheckpoint(ctx, binding, fresh)
}

// changeTargets deregisters what is no endpoint, registers the endpoints that are no targets, and writes their pods' conditions. It
// empties the checkpoint first, so that a pass that fails is not forgotten.
func (c *passes) changeTargets(ctx context.Context, binding *v1beta1.TargetGroupBinding, found []endpoint) (unhealthy bool, _ error) {
	group := binding.Spec.TargetGroupARN
	listed, err := c.targets.list(ctx, group)
	if err != nil {
		return false, err
	}
	comers, leavers := compare(found, listed)
	if len(comers)+len(leavers) > 0 {
		if err := c.writeCheckpoint(ctx, binding, ""); err != nil {
			return false, err
		}
	}
	if err := c.targets.deregister(ctx, group, leavers); err != nil {
		return false, err
	}
	if err := c.targets.register(ctx, group, comers); err != nil {
		return false, err
	}
	return c.writeConditions(ctx, gateOf(binding), found, listed)
}

func (c *passes) writeCheckpoint(ctx context.Context, binding *v1beta1.TargetGroupBinding, text string) error {
	if binding.Annotations[checkpoint] == text {
		return nil
	}
	before := binding.DeepCopy()
	if binding.Annotations == nil {
		binding.Annotations = map[string]string{}
	}
	binding.Annotations[checkpoint] = text
	binding.Annotations[checkpointTimestamp] = strconv.FormatInt(time.Now().Unix(), 10)
	return c.client.Patch(ctx, binding, client.MergeFrom(before))
}

// observe tells that the pass has seen the binding's generation.
func (c *passes) observe(ctx context.Context, binding *v1beta1.TargetGroupBinding) error {
	if seen := binding.Status.ObservedGeneration; seen != nil && *seen == binding.Generation {
		return nil
	}
	before := binding.DeepCopy()
	binding.Status.ObservedGeneration = &binding.Generation
	return c.client.Status().Patch(ctx, binding, client.MergeFrom(before))
}

func (c *passes) warn(binding *v1beta1.TargetGroupBinding, reason, text string) {
	c.recorder.Eventf(binding, nil, corev1.EventTypeWarning, reason, "Reconcile", "%s", text)
}
