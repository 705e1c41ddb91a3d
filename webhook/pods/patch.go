// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apimachineryvalidation "k8s.io/apimachinery/pkg/api/validation"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/webhook/review"
)

// gatePatch turns an injection into as few JSON patch operations as possible. existing is the length of the pod's list.
func gatePatch(injection readiness.Injection, existing int) []review.Operation {
	var out []review.Operation
	for _, at := range slices.Backward(injection.Remove) { // from the end, so that the other positions stay valid
		out = append(out, review.Operation{Op: "remove", Path: fmt.Sprintf("/spec/readinessGates/%d", at)})
	}
	if existing == 0 {
		return append(out, review.Add("/spec/readinessGates", gateList(injection.Add)))
	}
	for _, gate := range injection.Add {
		out = append(out, review.Add("/spec/readinessGates/-", corev1.PodReadinessGate{ConditionType: gate}))
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

// protectionPatch returns the operations that give the pod its protection.
func protectionPatch(pod *podView, p protection) []review.Operation {
	var out []review.Operation
	hook := corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: p.sleep}}
	for _, at := range p.containers {
		path := fmt.Sprintf("/spec/containers/%d/lifecycle", at)
		if pod.containers()[at].Lifecycle == nil {
			out = append(out, review.Add(path, corev1.Lifecycle{PreStop: &hook}))
		} else {
			out = append(out, review.Add(path+"/preStop", hook))
		}
	}
	if p.raised {
		out = append(out, probePatches(pod, p.before)...)
	}
	if p.first {
		out = append(out, review.Add("/spec/terminationGracePeriodSeconds", p.grace))
		out = append(out, annotationPatch(pod, protectionAnnotation, fmt.Sprintf("%ds", p.sleep))...)
	}
	return out
}

// probePatches gives all liveness and startup probes the pod's original grace period, in seconds, unless they have one: a container that
// fails such a probe would have the raised one.
func probePatches(pod *podView, before int64) []review.Operation {
	var out []review.Operation
	for i := range pod.containers() {
		out = append(out, probePatch(&pod.containers()[i], fmt.Sprintf("/spec/containers/%d", i), before)...)
	}
	for _, at := range pod.sidecars() {
		out = append(out, probePatch(&pod.initContainers()[at], fmt.Sprintf("/spec/initContainers/%d", at), before)...)
	}
	return out
}

// probePatch does that for the container at a path. The grace period ends the preStop sleep; after it come SIGTERM and at least 2 s. API
// servers refuse the field in readiness probes.
func probePatch(c *containerView, path string, before int64) []review.Operation {
	var out []review.Operation
	patch := func(name string, probe *probeView) {
		if probe != nil && probe.TerminationGracePeriodSeconds == nil {
			out = append(out, review.Add(path+"/"+name+"/terminationGracePeriodSeconds", max(before, 1))) // API servers refuse 0 here
		}
	}
	patch("livenessProbe", c.LivenessProbe)
	patch("startupProbe", c.StartupProbe)
	return out
}

// annotationPatch returns no operation if one more annotation would make the pod invalid.
func annotationPatch(pod *podView, key, value string) []review.Operation {
	size := len(key) + len(value)
	for k, v := range pod.annotations() {
		if k != key {
			size += len(k) + len(v)
		}
	}
	switch {
	case size > apimachineryvalidation.TotalAnnotationSizeLimitB:
		return nil
	case pod.annotations() == nil:
		return []review.Operation{review.Add("/metadata/annotations", map[string]string{key: value})}
	default:
		return []review.Operation{review.Add("/metadata/annotations/"+strings.ReplaceAll(key, "/", "~1"), value)}
	}
}
