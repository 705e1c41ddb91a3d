// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"errors"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/webhook/review"
)

// The failure policy is Ignore: a pod without a gate is better than no pod, and is reported afterwards. API servers call us
// again if a later webhook changed the pod, because that may have added a container. They do not call us for pods without
// labels, which no Service can select, nor for mirrors of static pods, which the kubelet runs from files, without gates.
//
// +kubebuilder:webhook:path=/mutate-v1-pod,serviceName=targetgate-webhook,serviceNamespace=targetgate-system,mutating=true,failurePolicy=ignore,sideEffects=None,groups="",resources=pods,verbs=create,versions=v1,name=mpod.elbv2.k8s.aws,admissionReviewVersions=v1,timeoutSeconds=3,reinvocationPolicy=IfNeeded,patch=`{"namespaceSelector":{"matchExpressions":[{"key":"elbv2.k8s.aws/pod-readiness-gate-inject","operator":"In","values":["enabled"]}]},"objectSelector":{"matchExpressions":[{"key":"app.kubernetes.io/name","operator":"NotIn","values":["targetgate"]}]},"matchConditions":[{"name":"labelled","expression":"has(object.metadata.labels) && size(object.metadata.labels) > 0"},{"name":"no-mirror","expression":"!has(object.metadata.annotations) || !('kubernetes.io/config.mirror' in object.metadata.annotations)"}]}`

// mutator adds the readiness gates of the bindings that cover a pod, and its termination delay.
type mutator struct {
	index      *bindingIndex
	off        bool     // pods are admitted as they are
	namespaces []string // the watched ones; empty means all
	protector  *protector

	protectsOnly bool // pods get no gate: the incumbent registers them, and adds its own
}

// decide returns the answer for one pod. It uses the request's namespace, because the object's may not be set yet.
func (m *mutator) decide(ctx context.Context, req *podRequest) (review.Answer, error) {
	watched := len(m.namespaces) == 0 || slices.Contains(m.namespaces, req.Namespace)
	if m.off || !watched || req.Operation != admissionv1.Create {
		return review.Answer{}, nil
	}
	if req.Object.Metadata.Labels.TooLong {
		return m.tooLong("labels"), nil
	}
	covering, err := m.index.cover(ctx, req.Namespace, req.Object.Metadata.Labels.Value)
	if err != nil {
		return review.Answer{}, fmt.Errorf("finding bindings that cover the pod: %w", err)
	}
	if len(covering.bindings) == 0 {
		return review.Answer{Warnings: m.ungated(covering)}, nil
	}
	if list := req.Object.tooLong(); list != "" {
		return m.tooLong(list), nil
	}
	if req.Object.Spec == nil {
		return review.Answer{}, errors.New("the pod has no spec")
	}
	if m.protectsOnly {
		return m.protect(&req.Object, covering.bindings), nil
	}
	out := m.gate(&req.Object, covering.bindings)
	out.Warnings = append(out.Warnings, withoutName(covering)...)
	return out, nil
}

// gate adds the gates of the bindings, and the pod's termination delay.
func (m *mutator) gate(pod *podView, covering []coveringBinding) review.Answer {
	gates := make([]corev1.PodConditionType, len(covering))
	for i, binding := range covering {
		gates[i] = binding.gate
	}
	injection := readiness.Inject(pod.gates(), gates)
	gatesInjected.Add(float64(len(injection.Add)))
	protection := m.protect(pod, covering)
	warnings := append(protection.Warnings, pod.keepUnclear()...)
	return review.Answer{
		Patch:    append(gatePatch(injection, len(pod.gates())), protection.Patch...),
		Warnings: append(warnings, leftOut(injection.LeftOut)...),
	}
}

// protect adds the pod's termination delay.
func (m *mutator) protect(pod *podView, covering []coveringBinding) review.Answer {
	protocols := make([]v1beta1.Protocol, len(covering))
	for i, binding := range covering {
		protocols[i] = binding.protocol
	}
	protection := m.protector.protect(pod, protocols)
	return review.Answer{Patch: protectionPatch(pod, protection), Warnings: protection.warnings}
}

// leftOut warns about gates that the pod does not get.
func leftOut(count int) []string {
	if count == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d TargetGroupBindings that select the pod get no readiness gate in it: a pod has at most %d",
		count, readiness.MaxGates)}
}

// tooLong returns the answer for a pod that no node would run. The API server may reject it; we do not.
func (m *mutator) tooLong(list string) review.Answer {
	lost := "readiness gate"
	if m.protectsOnly {
		lost = "preStop sleep"
	}
	warning := fmt.Sprintf("the pod has more than %d %s, so it gets no %s", review.LongestList, list, lost)
	return review.Answer{Warnings: []string{warning}}
}

// ungated warns if a Service selects the pod: the user has labelled the namespace, and so expects a gate.
func (m *mutator) ungated(covering coverage) []string {
	switch {
	case m.protectsOnly:
		return nil
	case covering.nameless != "":
		return withoutName(covering)
	case covering.service == "":
		return nil
	default:
		return []string{fmt.Sprintf("Service %q selects the pod, but has no active TargetGroupBinding of type ip: "+
			"the pod gets no readiness gate", covering.service)}
	}
}

// withoutName warns about a binding whose name is too long for a gate: with that gate, the API server would reject the pod.
func withoutName(covering coverage) []string {
	if covering.nameless == "" {
		return nil
	}
	return []string{fmt.Sprintf("the pod gets no readiness gate for TargetGroupBinding %q, whose name is longer than %d characters: "+
		"re-create the binding with a shorter name", review.CutTo(covering.nameless, longestQuotedName), v1beta1.MaxBindingName)}
}

// longestQuotedName, in bytes, keeps a warning short enough for API servers to pass it on whole.
const longestQuotedName = 80
