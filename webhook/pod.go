// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// The failure policy is Ignore: a pod without a gate is better than no pod, and is reported afterwards. We are asked
// again when a later webhook changed the pod, as it may have added a container. We are not asked about pods that no
// Service can select, nor about mirrors of static pods, which the kubelet runs as they are in its files, without gates.
//
// +kubebuilder:webhook:path=/mutate-v1-pod,serviceName=targetgate-webhook,serviceNamespace=targetgate-system,mutating=true,failurePolicy=ignore,sideEffects=None,groups="",resources=pods,verbs=create,versions=v1,name=mpod.elbv2.k8s.aws,admissionReviewVersions=v1,timeoutSeconds=3,reinvocationPolicy=IfNeeded,patch=`{"namespaceSelector":{"matchExpressions":[{"key":"elbv2.k8s.aws/pod-readiness-gate-inject","operator":"In","values":["enabled"]}]},"objectSelector":{"matchExpressions":[{"key":"app.kubernetes.io/name","operator":"NotIn","values":["targetgate"]}]},"matchConditions":[{"name":"labelled","expression":"has(object.metadata.labels) && size(object.metadata.labels) > 0"},{"name":"no-mirror","expression":"!has(object.metadata.annotations) || !('kubernetes.io/config.mirror' in object.metadata.annotations)"}]}`

// podMutator adds the readiness gates of the bindings that cover a pod, and gives it time to leave.
type podMutator struct {
	index      *index
	off        bool     // pods are admitted as they are
	namespaces []string // that are watched; all when empty
	protector  *protector
}

// podAnswer is what is changed in a pod, and what its author is told.
type podAnswer struct {
	patch    []operation
	warnings []string
}

// decide about one pod. The namespace is the request's: the object's may not be filled in yet.
func (m *podMutator) decide(ctx context.Context, req *podRequest) (podAnswer, error) {
	watched := len(m.namespaces) == 0 || slices.Contains(m.namespaces, req.Namespace)
	if m.off || !watched || req.Operation != admissionv1.Create {
		return podAnswer{}, nil
	}
	covering, err := m.index.cover(ctx, req.Namespace, req.Object.Metadata.Labels)
	if err != nil {
		return podAnswer{}, fmt.Errorf("finding bindings that cover the pod: %w", err)
	}
	if len(covering.bindings) == 0 {
		return podAnswer{warnings: ungated(covering.service)}, nil
	}
	if err := req.Object.check(); err != nil {
		return podAnswer{}, err
	}
	return m.gate(&req.Object, covering.bindings), nil
}

// gate adds the gates of the bindings, and gives the pod time to leave.
func (m *podMutator) gate(pod *podView, covering []coveringBinding) podAnswer {
	gates, protocols := make([]corev1.PodConditionType, len(covering)), make([]v1beta1.Protocol, len(covering))
	for i, binding := range covering {
		gates[i], protocols[i] = binding.gate, binding.protocol
	}
	injection := readiness.Inject(pod.Spec.ReadinessGates, gates)
	gatesInjected.Add(float64(len(injection.Add)))
	protection := m.protector.protect(pod, protocols)
	return podAnswer{
		patch:    append(gatePatch(injection, len(pod.Spec.ReadinessGates)), protectionPatch(pod, protection)...),
		warnings: protection.warnings,
	}
}

// ungated warns when a Service selects the pod: the user has labelled the namespace, so a gate was expected.
func ungated(service string) []string {
	if service == "" {
		return nil
	}
	return []string{fmt.Sprintf(
		"Service %q selects the pod, but no TargetGroupBinding of type ip is in force for it: the pod gets no readiness gate", service)}
}
