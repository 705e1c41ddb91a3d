// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/targetgate/targetgate/aws/elbv2"
)

// templateHashes are the labels whose value the name of a pod's ReplicaSet ends in, behind that of the Deployment, or of Argo's Rollout.
var templateHashes = []string{"pod-template-hash", "rollouts-pod-template-hash"}

// Workload names what makes the pods that replace a pod: its controller, and instead of a ReplicaSet the Deployment that rolls it. It is
// empty for a pod without a controller, which nobody replaces.
func Workload(pod *corev1.Pod) string {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return ""
	}
	for _, label := range templateHashes {
		if hash := pod.Labels[label]; hash != "" {
			if name, ok := strings.CutSuffix(owner.Name, "-"+hash); ok {
				return keptName(owner.Kind + "s of " + name)
			}
		}
	}
	return keptName(owner.Kind + " " + owner.Name)
}

func workloads(pod *corev1.Pod) []string {
	if name := Workload(pod); name != "" {
		return []string{name}
	}
	return nil
}

// findWorkloads finds the pods of the workloads of which pods are being deleted: those that live may replace them.
func (r resolving) findWorkloads() {
	for _, ep := range r.res.Endpoints {
		if ep.State != Terminating || ep.Pod == nil || ep.Pod.DeletionTimestamp == nil {
			continue
		}
		name := Workload(ep.Pod)
		if _, known := r.res.Workloads[name]; known || name == "" {
			continue
		}
		if r.res.Workloads == nil {
			r.res.Workloads = map[string][]*corev1.Pod{}
		}
		live := []*corev1.Pod{}
		for _, pod := range r.PodByWorkload.At(r.binding.Namespace, name) {
			if !IsTerminating(pod) {
				live = append(live, pod)
			}
		}
		r.res.Workloads[name] = live
	}
}

// PastSelectors are those that the Service of a binding has had since passes look, the last one first. They are not to be changed.
type PastSelectors []map[string]string

// maxPastSelectors is how many are remembered.
const maxPastSelectors = 4

// with are these and the Service's own.
func (s PastSelectors) with(service *corev1.Service) PastSelectors {
	if service == nil || len(service.Spec.Selector) == 0 || len(s) > 0 && sameLabels(s[0], service.Spec.Selector) {
		return s
	}
	return append(PastSelectors{service.Spec.Selector}, s[:min(len(s), maxPastSelectors-1)]...)
}

func sameLabels(a, b map[string]string) bool { return len(a) == len(b) && matches(a, b) }

// matches reports whether the labels have all entries of the selector.
func matches(selector, labels map[string]string) bool {
	for key, value := range selector { // as it is: a labels.Selector costs more than it saves for one pod
		if has, there := labels[key]; !there || has != value {
			return false
		}
	}
	return true
}

// unlistedEndpoint is the pod's that no slice lists, as far as the pod itself says what is wanted of it.
func (r resolving) unlistedEndpoint(target elbv2.Target, pod *corev1.Pod, node nodeFacts) Endpoint {
	ep := r.endpoint(target, pod, node)
	if ep.Held == NotHeld && r.wasRelabelled(pod, r.group.Owner(target) == pod.UID) {
		ep.Held = HeldByLabels
	}
	return ep
}

// wasRelabelled reports whether the Service does not select the pod because somebody has changed the pod's labels, and not the Service's
// selector: no selector that it had while we looked matches the pod, which was a target by one of them. Of a pod that was registered before
// our time it is the case if the Service selects others of the same controller.
func (r resolving) wasRelabelled(pod *corev1.Pod, seenSelected bool) bool {
	service := r.res.Service
	if r.res.Missing != "" || len(service.Spec.Selector) == 0 || Selects(service, pod) {
		return false
	}
	if !seenSelected {
		return r.selectsSibling(pod)
	}
	return !slices.ContainsFunc(r.res.Selectors, func(selector map[string]string) bool { return matches(selector, pod.Labels) })
}

// selectsSibling reports whether the Service selects another pod of the same controller.
func (r resolving) selectsSibling(pod *corev1.Pod) bool {
	controller := metav1.GetControllerOfNoCopy(pod)
	if controller == nil {
		return false
	}
	return slices.ContainsFunc(r.PodByWorkload.At(r.binding.Namespace, Workload(pod)), func(other *corev1.Pod) bool {
		same := metav1.GetControllerOfNoCopy(other)
		return same != nil && same.UID == controller.UID && !IsTerminating(other) && Selects(r.res.Service, other)
	})
}
