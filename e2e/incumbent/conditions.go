// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package incumbent

import (
	"context"
	"slices"

	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

func gateOf(binding *v1beta1.TargetGroupBinding) corev1.PodConditionType {
	return corev1.PodConditionType("target-health.elbv2.k8s.aws/" + binding.Name)
}

func hasGate(pod *corev1.Pod, gate corev1.PodConditionType) bool {
	return slices.ContainsFunc(pod.Spec.ReadinessGates, func(g corev1.PodReadinessGate) bool { return g.ConditionType == gate })
}

func conditionOf(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

func isTrue(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	c := conditionOf(pod, kind)
	return c != nil && c.Status == corev1.ConditionTrue
}

// writeConditions tells the pods of all endpoints what the reading says of their targets; of one that was no target, that it is being
// registered, whatever its condition said before. It reports whether a pod waits for its target.
func (c *passes) writeConditions(
	ctx context.Context, gate corev1.PodConditionType, found []endpoint, listed []target,
) (unhealthy bool, _ error) {
	for _, e := range found {
		if !hasGate(e.pod, gate) {
			continue
		}
		wanted := corev1.PodCondition{
			Type: gate, Status: corev1.ConditionFalse,
			Reason: "Elb.RegistrationInProgress", Message: "Target registration is in progress",
		}
		for _, t := range listed {
			if t.key == e.key && !t.isIn(elbv2types.TargetHealthStateEnumDraining) {
				wanted = conditionFor(gate, t.health)
			}
		}
		if err := c.writeCondition(ctx, e.pod, wanted); err != nil {
			return false, err
		}
		unhealthy = unhealthy || wanted.Status != corev1.ConditionTrue
	}
	return unhealthy, nil
}

func conditionFor(gate corev1.PodConditionType, health *elbv2types.TargetHealth) corev1.PodCondition {
	c := corev1.PodCondition{Type: gate, Status: corev1.ConditionUnknown}
	if health == nil {
		return c
	}
	c.Status, c.Reason = corev1.ConditionFalse, string(health.Reason)
	if health.State == elbv2types.TargetHealthStateEnumHealthy {
		c.Status = corev1.ConditionTrue
	}
	if health.Description != nil {
		c.Message = *health.Description
	}
	return c
}

func (c *passes) writeCondition(ctx context.Context, pod *corev1.Pod, wanted corev1.PodCondition) error {
	before, after := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}, &corev1.Pod{}
	if old := conditionOf(pod, wanted.Type); old != nil {
		if old.Status == wanted.Status && old.Reason == wanted.Reason && old.Message == wanted.Message {
			return nil
		}
		before.Status.Conditions = []corev1.PodCondition{*old}
	}
	before.DeepCopyInto(after)
	after.UID = pod.UID // in the patch, so that it changes no other pod of that name
	wanted.LastTransitionTime = metav1.Now()
	after.Status.Conditions = []corev1.PodCondition{wanted}
	return client.IgnoreNotFound(c.client.Status().Patch(ctx, after, client.StrategicMergeFrom(before)))
}

// openGates opens those of a binding that is being deleted.
func (c *passes) openGates(ctx context.Context, binding *v1beta1.TargetGroupBinding) error {
	var list corev1.PodList
	if err := c.client.List(ctx, &list, client.InNamespace(binding.Namespace)); err != nil {
		return err
	}
	for i := range list.Items {
		if pod := &list.Items[i]; hasGate(pod, gateOf(binding)) {
			opened := corev1.PodCondition{Type: gateOf(binding), Status: corev1.ConditionTrue, Message: "Target Group Binding is deleted"}
			if err := c.writeCondition(ctx, pod, opened); err != nil {
				return err
			}
		}
	}
	return nil
}
