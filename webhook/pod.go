// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"gomodules.xyz/jsonpatch/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/targetgate/targetgate/readiness"
)

// The failure policy is Ignore: a pod without a gate is better than no pod, and is reported afterwards.
//
// +kubebuilder:webhook:path=/mutate-v1-pod,serviceName=targetgate-webhook,serviceNamespace=targetgate-system,mutating=true,failurePolicy=ignore,sideEffects=None,groups="",resources=pods,verbs=create,versions=v1,name=mpod.elbv2.k8s.aws,admissionReviewVersions=v1,timeoutSeconds=3,patch=`{"namespaceSelector":{"matchExpressions":[{"key":"elbv2.k8s.aws/pod-readiness-gate-inject","operator":"In","values":["enabled"]}]},"objectSelector":{"matchExpressions":[{"key":"app.kubernetes.io/name","operator":"NotIn","values":["targetgate"]}]}}`

// podMutator adds the readiness gates of the bindings that cover a pod.
type podMutator struct {
	reader     client.Reader
	namespaces []string // that are watched; all when empty
}

// podView is the part of a pod that is read. The rest is never decoded, so it cannot be lost.
type podView struct {
	Metadata struct {
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		ReadinessGates []corev1.PodReadinessGate `json:"readinessGates"`
	} `json:"spec"`
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
	gates, err := coveringGates(ctx, m.reader, req.Namespace, podLabels)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	if len(gates) == 0 {
		return m.admitUngated(ctx, req.Namespace, podLabels)
	}
	injection := readiness.Inject(pod.Spec.ReadinessGates, gates)
	gatesInjected.Add(float64(len(injection.Add)))
	return admission.Patched("", patches(injection, len(pod.Spec.ReadinessGates))...)
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

// patches turn an injection into the fewest JSON patch operations; existing is the length of the pod's list.
func patches(injection readiness.Injection, existing int) []jsonpatch.JsonPatchOperation {
	var out []jsonpatch.JsonPatchOperation
	for _, at := range slices.Backward(injection.Remove) { // from the end, so that the other positions hold
		out = append(out, jsonpatch.NewOperation("remove", fmt.Sprintf("/spec/readinessGates/%d", at), nil))
	}
	if existing == 0 {
		return append(out, wholeList(injection.Add)...)
	}
	for _, gate := range injection.Add {
		out = append(out, jsonpatch.NewOperation("add", "/spec/readinessGates/-", corev1.PodReadinessGate{ConditionType: gate}))
	}
	return out
}

func wholeList(gates []corev1.PodConditionType) []jsonpatch.JsonPatchOperation {
	list := make([]corev1.PodReadinessGate, len(gates))
	for i, gate := range gates {
		list[i].ConditionType = gate
	}
	return []jsonpatch.JsonPatchOperation{jsonpatch.NewOperation("add", "/spec/readinessGates", list)}
}
