// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package incumbent

import (
	"testing"

	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

const gate = "target-health.elbv2.k8s.aws/web"

func newPod(containersReady corev1.ConditionStatus) *corev1.Pod {
	return &corev1.Pod{
		Spec:   corev1.PodSpec{ReadinessGates: []corev1.PodReadinessGate{{ConditionType: gate}}},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.ContainersReady, Status: containersReady}}},
	}
}

func TestWantsEndpointsThatOnlyTheirGatesKeepFromBeingReady(t *testing.T) {
	ready, unready := discoveryv1.EndpointConditions{Ready: ptr.To(true)}, discoveryv1.EndpointConditions{Ready: ptr.To(false)}
	leaving := discoveryv1.EndpointConditions{Ready: ptr.To(false), Terminating: ptr.To(true)}
	tests := map[string]struct {
		conditions discoveryv1.EndpointConditions
		pod        *corev1.Pod
		unknown    bool
		now, later bool
	}{
		"ready":                          {conditions: ready, pod: newPod(corev1.ConditionTrue), now: true},
		"ready but for its gates":        {conditions: unready, pod: newPod(corev1.ConditionTrue), now: true},
		"containers not ready":           {conditions: unready, pod: newPod(corev1.ConditionFalse), later: true},
		"containers not ready, no gate":  {conditions: unready, pod: &corev1.Pod{}},
		"terminating":                    {conditions: leaving, pod: newPod(corev1.ConditionTrue)},
		"a pod that is not in the cache": {conditions: ready, pod: &corev1.Pod{}, unknown: true, later: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			now, later := wants(&tc.conditions, tc.pod, !tc.unknown, gate)
			if now != tc.now || later != tc.later {
				t.Errorf("wants it now: %v, later: %v; want %v, %v", now, later, tc.now, tc.later)
			}
		})
	}
}

func TestCompareRegistersDrainingTargetsAgain(t *testing.T) {
	here, there, drains := key{"10.0.0.1", 80}, key{"10.0.0.2", 80}, key{"10.0.0.3", 80}
	found := []endpoint{{key: here}, {key: drains}}
	listed := []target{{key: here}, {key: there}, {drains, &elbv2types.TargetHealth{State: elbv2types.TargetHealthStateEnumDraining}}}
	comers, leavers := compare(found, listed)
	if diff := cmp.Diff([]string{drains.String(), there.String()}, []string{comers[0].String(), leavers[0].String()}); diff != "" {
		t.Errorf("comers and leavers (-want +got):\n%s", diff)
	}
}

func TestIngressControllerExcusesTheCheckpointAlone(t *testing.T) {
	template := &v1beta1.TargetGroupBinding{}
	tests := map[string]struct {
		change func(*v1beta1.TargetGroupBinding)
		want   bool
	}{
		"as it was":  {func(*v1beta1.TargetGroupBinding) {}, true},
		"checkpoint": {func(b *v1beta1.TargetGroupBinding) { b.Annotations = map[string]string{checkpoint: "a"} }, true},
		"finalizer":  {func(b *v1beta1.TargetGroupBinding) { b.Finalizers = []string{"a"} }, true},
		"annotation": {func(b *v1beta1.TargetGroupBinding) { b.Annotations = map[string]string{"a": "b"} }, false},
		"label":      {func(b *v1beta1.TargetGroupBinding) { b.Labels = map[string]string{"a": "b"} }, false},
		"spec.vpcID": {func(b *v1beta1.TargetGroupBinding) { b.Spec.VpcID = "vpc-01234567" }, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			binding := template.DeepCopy()
			tc.change(binding)
			if got := isAs(binding, template); got != tc.want {
				t.Errorf("needs no patch: %v, want %v", got, tc.want)
			}
		})
	}
}
