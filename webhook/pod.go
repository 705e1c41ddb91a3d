// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// The failure policy is Ignore: a pod without a gate is better than no pod, and is reported afterwards. We are asked
// again when a later webhook changed the pod, as it may have added a container.
//
// +kubebuilder:webhook:path=/mutate-v1-pod,serviceName=targetgate-webhook,serviceNamespace=targetgate-system,mutating=true,failurePolicy=ignore,sideEffects=None,groups="",resources=pods,verbs=create,versions=v1,name=mpod.elbv2.k8s.aws,admissionReviewVersions=v1,timeoutSeconds=3,reinvocationPolicy=IfNeeded,patch=`{"namespaceSelector":{"matchExpressions":[{"key":"elbv2.k8s.aws/pod-readiness-gate-inject","operator":"In","values":["enabled"]}]},"objectSelector":{"matchExpressions":[{"key":"app.kubernetes.io/name","operator":"NotIn","values":["targetgate"]}]}}`

// podMutator adds the readiness gates of the bindings that cover a pod, and gives it time to leave.
type podMutator struct {
	reader     client.Reader
	namespaces []string // that are watched; all when empty
	protector  *protector
}

// Handle answers for one pod. The namespace is the request's: the object's may not be filled in yet.
func (m *podMutator) Handle(ctx context.Context, req admission.Request) admission.Response {
	if len(m.namespaces) > 0 && !slices.Contains(m.namespaces, req.Namespace) {
		return admission.Allowed("the namespace is not watched")
	}
	var pod podView
	if err := json.Unmarshal(req.Object.Raw, &pod); err != nil {
		return admission.Errored(http.StatusInternalServerError, fmt.Errorf("decoding pod: %w", err))
	}
	podLabels := labels.Set(pod.Metadata.Labels)
	covering, err := coveringBindings(ctx, m.reader, req.Namespace, podLabels)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	if len(covering) == 0 {
		return m.admitUngated(ctx, req.Namespace, podLabels)
	}
	return m.admitCovered(&pod, covering)
}

// admitCovered adds the gates of the bindings, and gives the pod time to leave.
func (m *podMutator) admitCovered(pod *podView, covering []coveringBinding) admission.Response {
	gates, protocols := make([]corev1.PodConditionType, len(covering)), make([]v1beta1.Protocol, len(covering))
	for i, binding := range covering {
		gates[i], protocols[i] = binding.gate, binding.protocol
	}
	injection := readiness.Inject(pod.Spec.ReadinessGates, gates)
	gatesInjected.Add(float64(len(injection.Add)))
	protection := m.protector.protect(pod, protocols)
	patch := append(gatePatch(injection, len(pod.Spec.ReadinessGates)), protectionPatch(pod, protection)...)
	return admission.Patched("", patch...).WithWarnings(protection.warnings...)
}

// admitUngated warns when a Service selects the pod: the user has labelled the namespace, so a gate was expected.
func (m *podMutator) admitUngated(ctx context.Context, namespace string, podLabels labels.Set) admission.Response {
	services, err := selectingServices(ctx, m.reader, namespace, podLabels)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	response := admission.Allowed("")
	if len(services) > 0 {
		response = response.WithWarnings(fmt.Sprintf(
			"Service %q selects the pod, but no TargetGroupBinding of type ip is in force for it: the pod gets no readiness gate", services[0]))
	}
	return response
}
