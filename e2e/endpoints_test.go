// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

func TestPodsOfEveryKindOfServiceGetTraffic(t *testing.T) {
	byName := func(binding *v1beta1.TargetGroupBinding) { binding.Spec.ServiceRef.Port = intstr.FromString("http") }
	tests := map[string]struct {
		service func(*corev1.Service)
		binding func(*v1beta1.TargetGroupBinding)
	}{
		"port by name":   {binding: byName},
		"nameless port":  {service: func(s *corev1.Service) { s.Spec.Ports[0].Name = "" }},
		"second port":    {service: addPortBefore, binding: byName},
		"headless":       {service: func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone }},
		"node port":      {service: func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort }},
		"not-ready ones": {service: func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = true }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they share nothing
			app := newApp("kind-" + strings.ReplaceAll(name, " ", "-"))
			app.Service, app.Change = tc.service, tc.binding
			deploy(t, app)
			awaitRolled(t, app)
			stop := underLoad(t, app)
			awaitConverged(t, app)
			stop()
		})
	}
}

// addPortBefore gives the Service one more port, in front, that the app does not answer.
func addPortBefore(s *corev1.Service) {
	s.Spec.Ports = append([]corev1.ServicePort{{Name: "metrics", Port: 9090, TargetPort: intstr.FromInt32(9090)}}, s.Spec.Ports...)
}

// While the template's port changes, the Service has two slices: one for each number that the port's name stands for.
func TestRolloutToAnotherPortNumberOfTheSameNameLosesNoRequest(t *testing.T) {
	app := newApp("renumbered")
	app.Template = func(template *corev1.PodTemplateSpec) { namePort(&template.Spec.Containers[0], 8080) }
	app.Service = func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromString("web") }
	deploy(t, app)
	awaitRolled(t, app)
	stop := underLoad(t, app)
	change(t, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: app.Name, Name: app.Name}}, func(d *appsv1.Deployment) {
		namePort(&d.Spec.Template.Spec.Containers[0], 8081)
	})
	awaitRolled(t, app)
	awaitHealthy(t, app, keysOf(pods(t, app), 8081)...)
	stop()
	assertOnlyLeaversDeregistered(t, app)
}

// namePort calls the container's only port web.
func namePort(container *corev1.Container, number int32) {
	container.Ports = []corev1.ContainerPort{{Name: "web", ContainerPort: number}}
	container.ReadinessProbe.HTTPGet.Port = intstr.FromString("web")
}

// The same pods are other targets then. The app answers on both ports, so nobody should notice.
func TestChangeOfTheServicesTargetPortLosesNoRequest(t *testing.T) {
	app := newApp("moved")
	app.Template = func(template *corev1.PodTemplateSpec) {
		container := &template.Spec.Containers[0]
		container.Ports = append(container.Ports, corev1.ContainerPort{ContainerPort: 9090})
	}
	deploy(t, app)
	awaitRolled(t, app)
	stop := underLoad(t, app)
	before, after := keysOf(pods(t, app), 8080), keysOf(pods(t, app), 9090)
	changed := time.Now()
	changeService(t, app, func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromInt32(9090) })
	awaitHealthy(t, app, after...)
	stop()
	assertLeftAfterHealthy(t, app, before, after, changed)
}

// A not-ready pod whose Service publishes it is a target before its readiness probe passes, and only then.
func TestUnreadyContainerIsNoTargetUnlessPublished(t *testing.T) {
	hidden, published := newApp("hidden"), newApp("published")
	published.Service = func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = true }
	for _, app := range []*testbed.App{hidden, published} {
		app.Replicas, app.Env = 1, map[string]string{"READY": "false"}
		deploy(t, app)
	}
	eventually(t, "the published pod to be a healthy target", func() error {
		list := pods(t, published)
		if len(list) == 0 {
			return errors.New("no pod yet")
		}
		return onlyHealthy(published, keySet(keysOf(list, 8080)))
	})
	throughout(t, time.Second, "an unready pod was registered", func() error { return wantTargets(hidden) })
	for _, pod := range pods(t, hidden) {
		handle, _ := bed.Kubelet.App(hidden.Name, pod.Name)
		handle.SetReady(true)
	}
	awaitRolled(t, hidden)
	if pod := pods(t, published)[0]; testbed.IsReady(&pod) {
		t.Error("the published pod is Ready although its container is not")
	}
}

// A job's pod that serves for a while has the labels of the others.
func TestPodThatHasEndedIsNoTarget(t *testing.T) {
	app := newApp("ends")
	deploy(t, app)
	awaitRolled(t, app)
	stay := keysOf(pods(t, app), 8080)
	job := app.Pod("job")
	job.Spec.RestartPolicy = corev1.RestartPolicyNever
	job.Spec.Containers[0].Env = append(job.Spec.Containers[0].Env, corev1.EnvVar{Name: "EXIT_AFTER", Value: "4s"})
	create(t, job)
	eventually(t, "the job's pod to be a target", func() error {
		must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(job), job))
		return wantTargets(app, append(slices.Clone(stay), targetOf(job.Status.PodIP))...)
	})
	eventually(t, "the job's pod to end", func() error {
		must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(job), job))
		if job.Status.Phase != corev1.PodSucceeded {
			return fmt.Errorf("it is %s", job.Status.Phase)
		}
		return nil
	})
	ended := time.Now()
	awaitTargets(t, app, stay...)
	if took := time.Since(ended); took > 3*time.Second {
		t.Errorf("the ended pod was deregistered after %s", took)
	}
	writeSlice(t, app, "stale", sliceEndpoint(job)) // somebody has not noticed
	throughout(t, 2*time.Second, "an ended pod was registered again", func() error { return wantTargets(app, stay...) })
}

// A Service without a selector: whoever writes its slices says which pods there are.
func TestHandWrittenSlicesDecideWhichPodsAreTargets(t *testing.T) {
	app := newApp("hand")
	app.Service = func(s *corev1.Service) { s.Spec.Selector = nil }
	deploy(t, app)
	awaitRolled(t, app)
	list := pods(t, app)
	ghost := list[2]
	ghost.Name, ghost.UID, ghost.Status.PodIP = "ghost", "0", "10.63.255.1"
	writeSlice(t, app, "one", sliceEndpoint(&list[0]), sliceEndpoint(&list[1]), sliceEndpoint(&ghost))
	writeSlice(t, app, "two", sliceEndpoint(&list[2]), sliceEndpoint(&list[1]))
	awaitHealthy(t, app, keysOf(list, 8080)...)
	throughout(t, time.Second, "an endpoint without a pod was registered", func() error {
		return wantTargets(app, keysOf(list, 8080)...)
	})
	writeSlice(t, app, "one", sliceEndpoint(&list[0]))
	writeSlice(t, app, "two", sliceEndpoint(&list[2]))
	awaitTargets(t, app, targetOf(list[0].Status.PodIP), targetOf(list[2].Status.PodIP))
}

// A reference to a pod need not have a UID, and people do not write one.
func TestHandWrittenSliceNeedsNoUIDs(t *testing.T) {
	app := newApp("nouid")
	app.Service = func(s *corev1.Service) { s.Spec.Selector = nil }
	deploy(t, app)
	awaitRolled(t, app)
	list := pods(t, app)
	var endpoints []discoveryv1.Endpoint
	for i := range list {
		endpoints = append(endpoints, sliceEndpoint(&list[i]))
		endpoints[i].TargetRef.UID = ""
	}
	writeSlice(t, app, "one", endpoints...)
	awaitHealthy(t, app, keysOf(list, 8080)...)
}

func TestPodsBehindAnIPv6GroupAreRegisteredByTheirIPv6Address(t *testing.T) {
	app := newApp("six")
	app.Replicas, app.Gated = 0, false
	app.Service = func(s *corev1.Service) { s.Spec.Selector = nil }
	app.Balancer = func(s *emulator.Service) { s.AddressType = state.IPv6 }
	deploy(t, app)
	addresses := []string{"2001:db8:1200::1", "2001:db8:1200::2", "2001:db8:1200::3", "10.62.9.1"}
	list := pretendPods(t, app, len(addresses), func(i int) string { return addresses[i] })
	six, want := sliceEndpoints(list[:3]), keysOf(list[:3], 8080)
	writeSlice(t, app, "four", sliceEndpoint(&list[3]))
	writeSliceOf(t, app, "six", discoveryv1.AddressTypeIPv6, six...)
	awaitTargets(t, app, want...)
	deletePod(t, &list[0], client.GracePeriodSeconds(0))
	writeSliceOf(t, app, "six", discoveryv1.AddressTypeIPv6, six[1:]...)
	awaitTargets(t, app, want[1:]...)
}

// keysOf are the pods' targets at that port.
func keysOf(list []corev1.Pod, port int) []state.Key {
	var out []state.Key
	for _, pod := range list {
		out = append(out, state.Key{ID: pod.Status.PodIP, Port: port})
	}
	return out
}

func keySet(keys []state.Key) map[state.Key]bool {
	out := map[state.Key]bool{}
	for _, key := range keys {
		out[key] = true
	}
	return out
}

// awaitHealthy waits until exactly these targets are registered, all healthy; others may drain.
func awaitHealthy(t *testing.T, app *testbed.App, want ...state.Key) {
	t.Helper()
	eventually(t, "these targets to be healthy and no others there", func() error { return onlyHealthy(app, keySet(want)) })
}

// awaitTargets waits until exactly these targets are registered, whatever their health.
func awaitTargets(t *testing.T, app *testbed.App, want ...state.Key) {
	t.Helper()
	eventually(t, "exactly these targets", func() error { return wantTargets(app, want...) })
}

// wantTargets is an error when the registered targets, but for those that drain, are not these.
func wantTargets(app *testbed.App, want ...state.Key) error {
	lines, err := bed.AWS.State().Describe(app.TargetGroup, nil)
	if err != nil {
		return err
	}
	got := map[state.Key]bool{}
	for _, line := range lines {
		if line.State != state.Draining {
			got[line.Key] = true
		}
	}
	for _, key := range want {
		if !got[key] {
			return fmt.Errorf("%s is not registered, want %v", key, want)
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("targets %v are registered, want %v", got, want)
	}
	return nil
}

// assertLeftAfterHealthy fails when one of the old targets was deregistered before all the new ones were healthy, or not
// at all.
func assertLeftAfterHealthy(t *testing.T, app *testbed.App, before, after []state.Key, since time.Time) {
	t.Helper()
	last := time.Time{}
	for _, key := range after {
		at, err := becameHealthy(app, key, since)
		must(t, err)
		if at.After(last) {
			last = at
		}
	}
	for _, key := range before {
		call := awaitCall(t, app, "DeregisterTargets", key, since)
		if call.Received.Before(last) {
			t.Errorf("%s was deregistered at %s, the last of the new targets was healthy at %s", key, call.Received, last)
		}
	}
}

// writeSlice writes an EndpointSlice of the app's Service by hand, IPv4, as one does to the Service's only port.
func writeSlice(t *testing.T, app *testbed.App, name string, endpoints ...discoveryv1.Endpoint) {
	t.Helper()
	writeSliceOf(t, app, name, discoveryv1.AddressTypeIPv4, endpoints...)
}

func writeSliceOf(t *testing.T, app *testbed.App, name string, family discoveryv1.AddressType, endpoints ...discoveryv1.Endpoint) {
	t.Helper()
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: app.Name, Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: app.Name},
		},
		AddressType: family,
		Endpoints:   endpoints,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To[int32](8080)}},
	}
	err := bed.Client.Update(t.Context(), slice)
	if client.IgnoreNotFound(err) == nil && err != nil {
		err = bed.Client.Create(t.Context(), slice)
	}
	must(t, err)
}

func sliceEndpoint(pod *corev1.Pod) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{
		Addresses:  []string{pod.Status.PodIP},
		Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)},
		TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
	}
}
