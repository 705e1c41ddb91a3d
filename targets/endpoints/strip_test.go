// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/readiness"
)

func TestStripPodKeepsWhatIsRead(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = ptr.To(metav1.NewTime(noon)), ptr.To[int64](30)
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", Controller: ptr.To(true)}}
	pod.Spec.NodeName, pod.Status.Phase = "node-1", corev1.PodRunning
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: testGate, Status: corev1.ConditionTrue},
		corev1.PodCondition{Type: readiness.MayLeave, Status: corev1.ConditionFalse})
	pod.Annotations = map[string]string{PodENIAnnotation: `[{"eniId":"eni-0a"}]`}
	want := pod.DeepCopy()
	pod.Annotations["big"] = "text"
	pod.Spec.Containers = []corev1.Container{{Name: "web"}}
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled})
	stripped, err := StripPod(pod)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, stripped); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
}

func TestStripPodKeepsTheShortestSleep(t *testing.T) {
	bare := corev1.Container{Name: "bare"}
	with := func(handler corev1.LifecycleHandler) corev1.Container {
		return corev1.Container{Name: "web", Image: "web", Lifecycle: &corev1.Lifecycle{PreStop: &handler}}
	}
	sleep := func(seconds int64) corev1.Container {
		return with(corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: seconds}})
	}
	sidecar := func(c corev1.Container) *corev1.Container {
		c.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
		return &c
	}
	tests := map[string]struct {
		containers []corev1.Container
		init       *corev1.Container
		want       int64
	}{
		"none":                     {},
		"bare":                     {containers: []corev1.Container{bare}},
		"sleeps":                   {containers: []corev1.Container{sleep(30)}, want: 30},
		"two":                      {containers: []corev1.Container{sleep(30), sleep(5)}, want: 5},
		"beside a sidecar":         {containers: []corev1.Container{sleep(30)}, init: sidecar(bare), want: 30},
		"beside one that drains":   {containers: []corev1.Container{sleep(30)}, init: sidecar(with(corev1.LifecycleHandler{Exec: &corev1.ExecAction{}}))},
		"beside one that is asked": {containers: []corev1.Container{sleep(30)}, init: sidecar(with(corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{}}))},
		// It serves until the containers have ended, however short its sleep.
		"beside one that sleeps":     {containers: []corev1.Container{sleep(30)}, init: sidecar(sleep(5)), want: 30},
		"after one that set them up": {containers: []corev1.Container{sleep(30)}, init: ptr.To(with(corev1.LifecycleHandler{Exec: &corev1.ExecAction{}})), want: 30},
		"sleeps for no time":         {containers: []corev1.Container{sleep(30), sleep(0)}},
		"a hook of its own":          {containers: []corev1.Container{with(corev1.LifecycleHandler{Exec: &corev1.ExecAction{}})}},
		"one of two":                 {containers: []corev1.Container{sleep(30), bare}},
		"lifecycle without preStop":  {containers: []corev1.Container{{Lifecycle: &corev1.Lifecycle{}}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := newPod("web-0", "10.0.0.1")
			pod.Spec.Containers = tc.containers
			if tc.init != nil {
				pod.Spec.InitContainers = []corev1.Container{*tc.init}
			}
			for range 2 { // stripping twice is stripping once
				stripped, err := StripPod(pod)
				if err != nil {
					t.Fatal(err)
				}
				pod = stripped.(*corev1.Pod)
				if got := shortestSleep(pod); got != tc.want {
					t.Errorf("got %d s, want %d s", got, tc.want)
				}
			}
			if tc.want > 0 && pod.Spec.Containers[0].Image != "" {
				t.Errorf("the container itself is kept: %v", pod.Spec.Containers)
			}
		})
	}
}

func TestPodServesUntilItsSleepOrGracePeriodEnds(t *testing.T) {
	tests := map[string]struct {
		sleep, grace int64
		change       func(*corev1.Pod)
		sleepless    bool
		want         time.Duration // after the deletion; 0 is not known
	}{
		"the sleep ends first":            {sleep: 30, grace: 60, want: 30 * time.Second},
		"a drain with its own grace":      {sleep: 30, grace: 10, want: 10 * time.Second},
		"no sleep":                        {grace: 60},
		"forced":                          {sleep: 30},
		"not deleted":                     {sleep: 30, grace: 60, change: func(pod *corev1.Pod) { pod.DeletionTimestamp = nil }},
		"its grace period is not known":   {sleep: 30, grace: 60, change: func(pod *corev1.Pod) { pod.DeletionGracePeriodSeconds = nil }},
		"it has ended":                    {sleep: 30, grace: 60, change: func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed }},
		"its containers are not ready":    {sleep: 30, grace: 60, change: func(pod *corev1.Pod) { pod.Status.Conditions = nil }},
		"its kubelet does not sleep":      {sleep: 30, grace: 60, sleepless: true},
		"a sleep below 0 is nobody's yet": {sleep: -5, grace: 60},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := newPod("web-0", "10.0.0.1")
			if tc.sleep != 0 {
				pod.Spec.Containers = []corev1.Container{{Lifecycle: &corev1.Lifecycle{
					PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: tc.sleep}},
				}}}
			}
			pod.DeletionTimestamp = ptr.To(metav1.NewTime(noon.Add(time.Duration(tc.grace) * time.Second)))
			pod.DeletionGracePeriodSeconds = &tc.grace
			if tc.change != nil {
				tc.change(pod)
			}
			want := time.Time{}
			if tc.want > 0 {
				want = noon.Add(tc.want)
			}
			if got := servesUntil(pod, nodeFacts{sleepless: tc.sleepless}); !got.Equal(want) {
				t.Errorf("until %s, want %s", got, want)
			}
		})
	}
}

func TestStripPodKeepsThatItLeavesAtOnce(t *testing.T) {
	for value, want := range map[string]bool{"false": true, "0": true, "true": false, "": false, "no": false} {
		pod := newPod("web-0", "10.0.0.1")
		pod.Annotations = map[string]string{"targetgate.dev/keep-until-replaced": value, PodENIAnnotation: "eni"}
		for range 2 {
			stripped, err := StripPod(pod)
			if err != nil {
				t.Fatal(err)
			}
			pod = stripped.(*corev1.Pod)
			if got := leavesAtOnce(pod); got != want || pod.Annotations[PodENIAnnotation] != "eni" {
				t.Errorf("%q: leaves at once %t, want %t; annotations %v", value, got, want, pod.Annotations)
			}
		}
	}
}

func TestStripPodKeepsNamedPorts(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	always := corev1.ContainerRestartPolicyAlways
	pod.Spec.Containers = []corev1.Container{
		{Name: "web", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, HostPort: 80}, {ContainerPort: 9}}},
		{Name: "other", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 1}, {Name: "http", ContainerPort: 3, Protocol: "UDP"}, {Name: "admin", ContainerPort: 8081}}},
	}
	pod.Spec.InitContainers = []corev1.Container{
		{Name: "setup", Ports: []corev1.ContainerPort{{Name: "setup", ContainerPort: 2}}},
		{Name: "proxy", Ports: []corev1.ContainerPort{{Name: "proxy", ContainerPort: 15001}}, RestartPolicy: &always},
	}
	want := []corev1.ContainerPort{
		{Name: "http", ContainerPort: 8080}, {Name: "http", ContainerPort: 3, Protocol: "UDP"}, {Name: "admin", ContainerPort: 8081}, {Name: "proxy", ContainerPort: 15001},
	}
	var seen []*corev1.Container
	for range 3 { // twice of a pod is once; the third pod is like the first
		stripped, err := StripPod(pod)
		if err != nil {
			t.Fatal(err)
		}
		containers := stripped.(*corev1.Pod).Spec.Containers
		if diff := cmp.Diff(want, containers[0].Ports); diff != "" || len(containers) != 1 {
			t.Fatalf("named ports of %d containers (-want +got):\n%s", len(containers), diff)
		}
		seen = append(seen, &containers[0])
		if len(seen) == 1 {
			pod = stripped.(*corev1.Pod)
		}
	}
	if seen[0] != seen[2] {
		t.Error("pods of a kind do not share their container")
	}
	waiting := pod.DeepCopy()
	waiting.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 5}}}
	stripped, err := StripPod(waiting)
	if err != nil || shortestSleep(stripped.(*corev1.Pod)) != 5 || shortestSleep(pod) != 0 {
		t.Errorf("a pod that sleeps shares the container of one that does not: %v", err)
	}
}

// hugePod is as large as a pod may be, at gates of that many bindings.
func hugePod(gates int) *corev1.Pod {
	pod := newPod("huge", "10.0.0.66")
	pod.Labels = map[string]string{"app": "huge"}
	for i := range gates {
		gate := readiness.GateFor(fmt.Sprint(i))
		pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: gate})
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: gate}, corev1.PodCondition{Type: gate})
		pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{Name: fmt.Sprint(i)})
	}
	return pod
}

// What is kept of a pod is small, whatever its owner has put into it.
func TestStripPodBoundsWhatItKeeps(t *testing.T) {
	pod := hugePod(40_000)
	for i := range MaxLabels {
		pod.Labels[fmt.Sprint(i)] = ""
	}
	pod.Annotations = map[string]string{PodENIAnnotation: strings.Repeat("x", maxPodENI+1)}
	for i := range 40_000 {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Ports: []corev1.ContainerPort{{Name: fmt.Sprint(i)}}})
	}
	got, err := StripPod(pod)
	if err != nil {
		t.Fatal(err)
	}
	stripped := got.(*corev1.Pod)
	if size, most := stripped.Size(), 100*(readiness.MaxKept+10); size > most {
		t.Errorf("%d bytes are kept of %d, want at most %d", size, pod.Size(), most)
	}
	if !readiness.HasTooMany(stripped) || len(stripped.Labels) > 0 || len(stripped.Status.Conditions) > readiness.MaxKept+2 {
		t.Errorf("too many gates: %v, %d labels, %d conditions", readiness.HasTooMany(stripped), len(stripped.Labels), len(stripped.Status.Conditions))
	}
}

func BenchmarkStripPod(b *testing.B) {
	for _, gates := range []int{1, 1_000, 10_000, 40_000} {
		b.Run(fmt.Sprint(gates), func(b *testing.B) {
			pod := hugePod(gates)
			for b.Loop() {
				if _, err := StripPod(pod); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestStripNodeKeepsWhatIsRead(t *testing.T) {
	node := newNode("node-1", "i-01", corev1.ConditionFalse)
	node.Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler"}}
	node.DeletionTimestamp = ptr.To(metav1.NewTime(time.Unix(1, 0)))
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.9"}}
	node.Status.NodeInfo.KubeletVersion = "v1.29.15-eks-abc1234"
	node.Status.Images = []corev1.ContainerImage{{Names: []string{"web"}}}
	want := node.DeepCopy()
	want.Status.Images = nil
	node.Status.NodeInfo.KernelVersion = "6.1.0"
	node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: "1.2.3.4"})
	stripped, err := StripNode(node)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, stripped); diff != "" {
		t.Errorf("node (-want +got):\n%s", diff)
	}
}

// What is kept of a slice is small, whatever its writer has put into it.
func TestStripSliceBoundsWhatItKeeps(t *testing.T) {
	long, slice := strings.Repeat("x", 10_000), newSlice("web-1", newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2"))
	for i := range 20_000 {
		port := discoveryv1.EndpointPort{Name: ptr.To(fmt.Sprint(i)), Port: ptr.To(int32(i)), AppProtocol: &long}
		slice.Ports = append(slice.Ports, port)
	}
	for i := range 100 {
		slice.Endpoints[0].Addresses = append(slice.Endpoints[0].Addresses, fmt.Sprintf("10.0.1.%d", i))
	}
	slice.Endpoints[0].Zone, slice.Endpoints[1].TargetRef.Name = &long, long
	got, err := StripSlice(slice)
	if err != nil {
		t.Fatal(err)
	}
	stripped := got.(*discoveryv1.EndpointSlice)
	if size, most := stripped.Size(), 20*MaxPorts; size > most {
		t.Errorf("%d bytes are kept of %d, want at most %d", size, slice.Size(), most)
	}
	first := stripped.Endpoints[0]
	if first.TargetRef.Name != "web-0" || first.Addresses[0] != "10.0.0.1" || len(stripped.Ports) != MaxPorts+1 {
		t.Errorf("%d ports are kept, of a sound endpoint %v", len(stripped.Ports), first)
	}
}

func TestStripSliceKeepsWhatIsRead(t *testing.T) {
	first, second := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")
	slice := newSlice("web-1", first, second)
	for i := range slice.Endpoints {
		slice.Endpoints[i].Zone = ptr.To("eu-west-1a")
	}
	second.Namespace = "other"
	slice.Endpoints[1].TargetRef.Namespace = "other"
	slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.0.0.3"}}) // is no pod's, and in no zone
	want := slice.DeepCopy()
	want.Endpoints[0].TargetRef.Namespace = "" // the slice's own
	want.Endpoints[2].Conditions.Ready = ptr.To(true)
	slice.Labels["endpointslice.kubernetes.io/skip-mirror"] = "true"
	slice.Endpoints[0].NodeName = ptr.To("node-1")
	slice.Endpoints[0].Conditions.Serving = ptr.To(true)
	slice.Endpoints[0].Hints = &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: "eu-west-1a"}}}
	got, err := StripSlice(slice)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("slice (-want +got):\n%s", diff)
	}
	if stripped := got.(*discoveryv1.EndpointSlice); stripped.Endpoints[0].Zone != stripped.Endpoints[1].Zone {
		t.Error("the zone is kept twice")
	}
}

func TestStripBindingKeepsTheLabelsOfItsIngresses(t *testing.T) {
	binding := newBinding()
	binding.Annotations = map[string]string{"elbv2.k8s.aws/checkpoint": "x"}
	binding.Labels = map[string]string{
		"ingress.k8s.aws/stack": "edge", "ingress.k8s.aws/stack-namespace": "shop", "ingress.k8s.aws/stack-name": "web",
	}
	binding.Finalizers = []string{"elbv2.k8s.aws/resources"}
	want := binding.DeepCopy()
	binding.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	for i := range 70_000 {
		binding.Labels[fmt.Sprint(i)] = ""
	}
	for range 2 {
		got, err := StripBinding(binding)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("binding (-want +got), %v:\n%s", err, diff)
		}
	}
}
