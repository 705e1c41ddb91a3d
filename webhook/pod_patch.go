// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/readiness"
)

// operation is one of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"` // never null where there has to be one
}

// gatePatch turns an injection into the fewest JSON patch operations; existing is the length of the pod's list.
func gatePatch(injection readiness.Injection, existing int) []operation {
	var out []operation
	for _, at := range slices.Backward(injection.Remove) { // from the end, so that the other positions hold
		out = append(out, operation{Op: "remove", Path: fmt.Sprintf("/spec/readinessGates/%d", at)})
	}
	if existing == 0 {
		return append(out, add("/spec/readinessGates", gateList(injection.Add)))
	}
	for _, gate := range injection.Add {
		out = append(out, add("/spec/readinessGates/-", corev1.PodReadinessGate{ConditionType: gate}))
	}
	return out
}

func gateList(gates []corev1.PodConditionType) []corev1.PodReadinessGate {
	list := make([]corev1.PodReadinessGate, len(gates))
	for i, gate := range gates {
		list[i].ConditionType = gate
	}
	return list
}

// protectionPatch are the operations that give the pod its protection.
func protectionPatch(pod *podView, p protection) []operation {
	var out []operation
	hook := corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: p.sleep}}
	for _, at := range p.containers {
		path := fmt.Sprintf("/spec/containers/%d/lifecycle", at)
		if pod.containers()[at].Lifecycle == nil {
			out = append(out, add(path, corev1.Lifecycle{PreStop: &hook}))
		} else {
			out = append(out, add(path+"/preStop", hook))
		}
	}
	if p.first {
		out = append(out, add("/spec/terminationGracePeriodSeconds", p.grace),
			annotationPatch(pod, protectionAnnotation, fmt.Sprintf("%ds", p.sleep)))
	}
	return out
}

func annotationPatch(pod *podView, key, value string) operation {
	if pod.annotations() == nil {
		return add("/metadata/annotations", map[string]string{key: value})
	}
	return add("/metadata/annotations/"+strings.ReplaceAll(key, "/", "~1"), value)
}

// add puts the value there, in the place of what may be there.
func add(path string, value any) operation {
	return operation{Op: "add", Path: path, Value: value}
}
