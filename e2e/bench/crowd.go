// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	crowdNamespaces = 20
	// alike is how many pods have one template, as those of a Deployment do.
	alike = 10
)

// crowd are pods without gates, Services or nodes, as other teams' pods are to targetgate. Each has some 8 kB: two containers, with what
// a service mesh and a pipeline add. It makes them one by one, and keeps none.
type crowd struct {
	pods   int
	began  metav1.Time
	digits string                           // that pods take long values from
	owners map[string]metav1.OwnerReference // by namespace
}

func newCrowd(pods int) *crowd {
	source := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	for range 1000 {
		fmt.Fprintf(&text, "%016x", source.Uint64())
	}
	return &crowd{
		pods: pods, began: metav1.NewTime(time.Now().Truncate(time.Second)), digits: text.String(), owners: map[string]metav1.OwnerReference{},
	}
}

func (c *crowd) namespace(pod int) string {
	return fmt.Sprintf("crowd-%02d", pod/alike%crowdNamespaces)
}

// places are the namespaces, with the account that pods need, and what owns them: a cluster removes pods of owners that do not exist.
func (c *crowd) places() []client.Object {
	var out []client.Object
	for i := range crowdNamespaces {
		name := c.namespace(i * alike)
		out = append(out, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
			&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "default"}},
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "owner"}})
	}
	return out
}

// see takes in what is there now.
func (c *crowd) see(place client.Object) {
	if owner, ok := place.(*corev1.ConfigMap); ok {
		c.owners[owner.Namespace] = metav1.OwnerReference{
			APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
		}
	}
}

// text is a value of that many bytes, another one for each pod.
func (c *crowd) text(pod, size int) string {
	from := pod * 16 % (len(c.digits) - size)
	return c.digits[from : from+size]
}

// pod is one that nothing schedules, for lack of such a scheduler.
func (c *crowd) pod(number int) *corev1.Pod {
	template := number / alike
	name := fmt.Sprintf("service-%04d", template)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.namespace(number), Name: c.name(number), GenerateName: name + "-7d4b9c6f5d-", Labels: map[string]string{
				"app.kubernetes.io/name": name, "app.kubernetes.io/instance": name, "app.kubernetes.io/version": "1.2.3",
				"app.kubernetes.io/managed-by": "Helm", "pod-template-hash": fmt.Sprintf("%010x", template),
			},
			Annotations: map[string]string{
				"checksum/config": c.text(template, 64), "mesh.example.com/status": c.text(template, 700),
				"prometheus.io/scrape": "true", "prometheus.io/port": "9090", "pipeline.example.com/commit": c.text(template, 40),
			},
			OwnerReferences: []metav1.OwnerReference{c.owners[c.namespace(number)]},
		},
		Spec: corev1.PodSpec{SchedulerName: "none", ServiceAccountName: "default", TerminationGracePeriodSeconds: ptr.To[int64](60)},
	}
	for _, container := range []string{"app", "proxy"} {
		pod.Spec.Containers = append(pod.Spec.Containers, c.container(container, template))
	}
	return pod
}

func (c *crowd) name(pod int) string {
	return fmt.Sprintf("service-%04d-7d4b9c6f5d-%05d", pod/alike, pod)
}

func (c *crowd) container(name string, template int) corev1.Container {
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(8080)}}}
	container := corev1.Container{
		Name: name, Image: "123456789012.dkr.ecr.eu-west-1.amazonaws.com/team/" + name + ":" + c.text(template, 12),
		LivenessProbe: probe, ReadinessProbe: probe,
		Ports: []corev1.ContainerPort{{Name: "http-" + name, ContainerPort: 8080}},
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi"),
		}},
		Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 30}}},
	}
	for i := range 15 {
		container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", i), Value: c.text(template+i, 30)})
	}
	return container
}

// change is one of the changing pods, in turn, and a patch of its status: first it gets an address and is Ready. From then on only
// the restart count of a container grows, which nobody here reads.
func (c *crowd) change(turn int) (*corev1.Pod, client.Patch) {
	number := turn % min(changing, c.pods)
	status := corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: crowdAddress(number), PodIPs: []corev1.PodIP{{IP: crowdAddress(number)}}, StartTime: &c.began,
	}
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: c.began})
	}
	for _, name := range []string{"app", "proxy"} {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: name, Image: name, ImageID: "sha256:" + c.text(number, 64), ContainerID: "containerd://" + c.text(number, 64),
			Ready: true, Started: ptr.To(true), RestartCount: int32(time.Since(c.began.Time).Milliseconds()),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: c.began}},
		})
	}
	text, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		panic(err) // values of this function
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace(number), Name: c.name(number)}}
	return pod, client.RawPatch(types.MergePatchType, text)
}

// crowdAddress is no address of a node's pods.
func crowdAddress(pod int) string { return fmt.Sprintf("10.200.%d.%d", pod/250, pod%250+1) }
