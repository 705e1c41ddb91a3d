// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package rollouts

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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/suite"
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
			app := suite.NewApp("kind-" + strings.ReplaceAll(name, " ", "-"))
			app.Service, app.Change = tc.service, tc.binding
			bed.Deploy(t, app)
			bed.AwaitRolled(t, app)
			stop := bed.UnderLoad(t, app)
			bed.AwaitConverged(t, app)
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
	app := suite.NewApp("renumbered")
	app.Template = func(template *corev1.PodTemplateSpec) { namePort(&template.Spec.Containers[0], 8080) }
	app.Service = func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromString("web") }
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	stop := bed.UnderLoad(t, app)
	suite.Change(t, bed, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: app.Name, Name: app.Name}}, func(d *appsv1.Deployment) {
		namePort(&d.Spec.Template.Spec.Containers[0], 8081)
	})
	bed.AwaitRolled(t, app)
	bed.AwaitHealthy(t, app, suite.KeysOf(bed.Pods(t, app), 8081)...)
	stop()
	bed.AssertOnlyLeaversDeregistered(t, app)
}

// namePort calls the container's only port web.
func namePort(container *corev1.Container, number int32) {
	container.Ports = []corev1.ContainerPort{{Name: "web", ContainerPort: number}}
	container.ReadinessProbe.HTTPGet.Port = intstr.FromString("web")
}

// The same pods are other targets then. The app answers on both ports, so nobody should notice.
func TestChangeOfTheServicesTargetPortLosesNoRequest(t *testing.T) {
	app := suite.NewApp("moved")
	app.Template = func(template *corev1.PodTemplateSpec) {
		container := &template.Spec.Containers[0]
		container.Ports = append(container.Ports, corev1.ContainerPort{ContainerPort: 9090})
	}
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	stop := bed.UnderLoad(t, app)
	before, after := suite.KeysOf(bed.Pods(t, app), 8080), suite.KeysOf(bed.Pods(t, app), 9090)
	changed := time.Now()
	bed.ChangeService(t, app, func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromInt32(9090) })
	bed.AwaitHealthy(t, app, after...)
	stop()
	assertLeftAfterHealthy(t, app, before, after, changed)
}

// A not-ready pod whose Service publishes it is a target before its readiness probe passes, and only then.
func TestUnreadyContainerIsNoTargetUnlessPublished(t *testing.T) {
	hidden, published := suite.NewApp("hidden"), suite.NewApp("published")
	published.Service = func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = true }
	for _, app := range []*testbed.App{hidden, published} {
		app.Replicas, app.Env = 1, map[string]string{"READY": "false"}
		bed.Deploy(t, app)
	}
	suite.Eventually(t, "the published pod to be a healthy target", func() error {
		list := bed.Pods(t, published)
		if len(list) == 0 {
			return errors.New("no pod yet")
		}
		return bed.WantHealthy(published, suite.KeysOf(list, 8080)...)
	})
	suite.Throughout(t, time.Second, "an unready pod was registered", func() error { return bed.WantTargets(hidden) })
	for _, pod := range bed.Pods(t, hidden) {
		handle, _ := bed.Kubelet.App(hidden.Name, pod.Name)
		handle.SetReady(true)
	}
	bed.AwaitRolled(t, hidden)
	if pod := bed.Pods(t, published)[0]; testbed.IsReady(&pod) {
		t.Error("the published pod is Ready although its container is not")
	}
}

// A job's pod that serves for a while has the labels of the others.
func TestPodThatHasEndedIsNoTarget(t *testing.T) {
	app := suite.NewApp("ends")
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	stay := suite.KeysOf(bed.Pods(t, app), 8080)
	job := app.Pod("job")
	job.Spec.RestartPolicy = corev1.RestartPolicyNever
	job.Spec.Containers[0].Env = append(job.Spec.Containers[0].Env, corev1.EnvVar{Name: "EXIT_AFTER", Value: "4s"})
	bed.Create(t, job)
	suite.Eventually(t, "the job's pod to be a target", func() error {
		suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(job), job))
		return bed.WantTargets(app, append(slices.Clone(stay), suite.TargetOf(job.Status.PodIP))...)
	})
	suite.Eventually(t, "the job's pod to end", func() error {
		suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(job), job))
		if job.Status.Phase != corev1.PodSucceeded {
			return fmt.Errorf("it is %s", job.Status.Phase)
		}
		return nil
	})
	ended := time.Now()
	bed.AwaitTargets(t, app, stay...)
	if took := time.Since(ended); took > 3*time.Second {
		t.Errorf("the ended pod was deregistered after %s", took)
	}
	bed.WriteSlice(t, app, "stale", suite.SliceEndpoint(job)) // somebody has not noticed
	suite.Throughout(t, 2*time.Second, "an ended pod was registered again", func() error { return bed.WantTargets(app, stay...) })
}

// A Service without a selector: whoever writes its slices says which pods there are.
func TestHandWrittenSlicesDecideWhichPodsAreTargets(t *testing.T) {
	app := suite.NewApp("hand")
	app.Service = func(s *corev1.Service) { s.Spec.Selector = nil }
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	list := bed.Pods(t, app)
	ghost := list[2]
	ghost.Name, ghost.UID, ghost.Status.PodIP = "ghost", "0", "10.63.255.1"
	bed.WriteSlice(t, app, "one", suite.SliceEndpoint(&list[0]), suite.SliceEndpoint(&list[1]), suite.SliceEndpoint(&ghost))
	bed.WriteSlice(t, app, "two", suite.SliceEndpoint(&list[2]), suite.SliceEndpoint(&list[1]))
	bed.AwaitHealthy(t, app, suite.KeysOf(list, 8080)...)
	suite.Throughout(t, time.Second, "an endpoint without a pod was registered", func() error {
		return bed.WantTargets(app, suite.KeysOf(list, 8080)...)
	})
	bed.WriteSlice(t, app, "one", suite.SliceEndpoint(&list[0]))
	bed.WriteSlice(t, app, "two", suite.SliceEndpoint(&list[2]))
	bed.AwaitTargets(t, app, suite.TargetOf(list[0].Status.PodIP), suite.TargetOf(list[2].Status.PodIP))
}

// A reference to a pod need not have a UID, and people do not write one.
func TestHandWrittenSliceNeedsNoUIDs(t *testing.T) {
	app := suite.NewApp("nouid")
	app.Service = func(s *corev1.Service) { s.Spec.Selector = nil }
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	list := bed.Pods(t, app)
	var endpoints []discoveryv1.Endpoint
	for i := range list {
		endpoints = append(endpoints, suite.SliceEndpoint(&list[i]))
		endpoints[i].TargetRef.UID = ""
	}
	bed.WriteSlice(t, app, "one", endpoints...)
	bed.AwaitHealthy(t, app, suite.KeysOf(list, 8080)...)
}

func TestPodsBehindAnIPv6GroupAreRegisteredByTheirIPv6Address(t *testing.T) {
	app := suite.NewApp("six")
	app.Replicas, app.Gated = 0, false
	app.Service = func(s *corev1.Service) { s.Spec.Selector = nil }
	app.Balancer = func(s *emulator.Service) { s.AddressType = state.IPv6 }
	bed.Deploy(t, app)
	addresses := []string{"2001:db8:1200::1", "2001:db8:1200::2", "2001:db8:1200::3", "10.62.9.1"}
	list := bed.PretendPods(t, app, len(addresses), func(i int) string { return addresses[i] })
	six, want := suite.SliceEndpoints(list[:3]), suite.KeysOf(list[:3], 8080)
	bed.WriteSlice(t, app, "four", suite.SliceEndpoint(&list[3]))
	bed.WriteSliceOf(t, app, "six", discoveryv1.AddressTypeIPv6, six...)
	bed.AwaitTargets(t, app, want...)
	bed.DeletePod(t, &list[0], client.GracePeriodSeconds(0))
	bed.WriteSliceOf(t, app, "six", discoveryv1.AddressTypeIPv6, six[1:]...)
	bed.AwaitTargets(t, app, want[1:]...)
}

// assertLeftAfterHealthy fails when one of the old targets was deregistered before all the new ones were healthy, or not
// at all.
func assertLeftAfterHealthy(t *testing.T, app *testbed.App, before, after []state.Key, since time.Time) {
	t.Helper()
	last := time.Time{}
	for _, key := range after {
		at, err := becameHealthy(app, key, since)
		suite.Must(t, err)
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
