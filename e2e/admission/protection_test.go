// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package admission

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// leave is how a pod will go: its grace period, and the preStop sleep of each container, -1 for another preStop.
type leave struct {
	Grace  int64
	Sleeps map[string]int64
}

func leaveOf(pod *corev1.Pod) leave {
	l := leave{ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, 0), map[string]int64{}}
	for _, c := range pod.Spec.Containers {
		switch {
		case c.Lifecycle == nil || c.Lifecycle.PreStop == nil:
		case c.Lifecycle.PreStop.Sleep != nil:
			l.Sleeps[c.Name] = c.Lifecycle.PreStop.Sleep.Seconds
		default:
			l.Sleeps[c.Name] = -1
		}
	}
	return l
}

func TestPodsAreGivenTimeToLeave(t *testing.T) {
	alb, nlb := suite.NewApp("leave-alb"), suite.NewApp("leave-nlb")
	nlb.Balancer = func(s *emulator.Service) { s.Type = state.Network }
	for _, app := range []*testbed.App{alb, nlb} {
		app.Replicas = 0
		bed.Deploy(t, app)
		bed.AwaitGated(t, app)
	}
	own := &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sleep", "20"}}}}
	tests := map[string]struct {
		app    *testbed.App
		change func(*corev1.Pod)
		want   leave
	}{
		"ALB": {alb, func(*corev1.Pod) {}, leave{60, map[string]int64{"web": 30}}},
		"NLB": {nlb, func(*corev1.Pod) {}, leave{240, map[string]int64{"web": 210}}},
		"own preStop": {alb, func(p *corev1.Pod) { p.Spec.Containers[0].Lifecycle = own },
			leave{30, map[string]int64{"web": -1}}},
		"one of two has its own": {alb, func(p *corev1.Pod) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "log", Image: "log", Lifecycle: own})
		}, leave{60, map[string]int64{"web": 30, "log": -1}}},
		"asks for another delay": {alb, func(p *corev1.Pod) {
			p.Annotations = map[string]string{"targetgate.dev/termination-delay": "1m"}
		}, leave{90, map[string]int64{"web": 60}}},
		"asks for none": {alb, func(p *corev1.Pod) {
			p.Annotations = map[string]string{"targetgate.dev/termination-delay": "0"}
		}, leave{30, map[string]int64{}}},
		"with a native sidecar": {alb, func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "mesh", Image: "mesh", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)}}
		}, leave{60, map[string]int64{"web": 30}}},
		"not covered": {alb, func(p *corev1.Pod) { p.Labels = map[string]string{"app": "other"} }, leave{30, map[string]int64{}}},
		"grace period beyond all bounds": {alb, func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = ptr.To[int64](1<<63 - 1) },
			leave{1<<63 - 1, map[string]int64{"web": 30}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := suite.BarePod(tc.app.Name, map[string]string{"app": tc.app.Name})
			tc.change(pod)
			suite.Must(t, bed.Client.Create(t.Context(), pod, client.DryRunAll))
			if diff := cmp.Diff(tc.want, leaveOf(pod)); diff != "" {
				t.Errorf("pod (-want +got):\n%s", diff)
			}
			for _, c := range pod.Spec.InitContainers {
				if c.Lifecycle != nil {
					t.Errorf("the sidecar got %+v, want it left alone", c.Lifecycle)
				}
			}
		})
	}
}

// The kubelet ends the sleep of a container that fails a probe when the pod's original grace period is over. The API server takes none of 0 s
// for a probe.
func TestProbesKeepTheGracePeriod(t *testing.T) {
	app := suite.NewApp("probed")
	app.Replicas = 0
	bed.Deploy(t, app)
	bed.AwaitGated(t, app)
	check := corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(8080)}}
	for grace, want := range map[int64][]*int64{
		30: {ptr.To[int64](30), ptr.To[int64](7), nil, ptr.To[int64](60)},
		0:  {ptr.To[int64](1), ptr.To[int64](7), nil, ptr.To[int64](30)},
	} {
		pod := suite.BarePod(app.Name, map[string]string{"app": app.Name})
		pod.Spec.TerminationGracePeriodSeconds = ptr.To(grace)
		web := &pod.Spec.Containers[0]
		web.LivenessProbe, web.ReadinessProbe = &corev1.Probe{ProbeHandler: check}, &corev1.Probe{ProbeHandler: check}
		web.StartupProbe = &corev1.Probe{ProbeHandler: check, TerminationGracePeriodSeconds: ptr.To[int64](7)}
		suite.Must(t, bed.Client.Create(t.Context(), pod, client.DryRunAll))
		web = &pod.Spec.Containers[0]
		got := []*int64{web.LivenessProbe.TerminationGracePeriodSeconds, web.StartupProbe.TerminationGracePeriodSeconds,
			web.ReadinessProbe.TerminationGracePeriodSeconds, pod.Spec.TerminationGracePeriodSeconds}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("grace periods of liveness, startup and readiness probe and of the pod, which had %d s (-want +got):\n%s", grace, diff)
		}
	}
}
