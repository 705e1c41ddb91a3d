// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/targetgate/targetgate/e2e/kubelet/status"
)

func TestReadinessFollowsTheProbe(t *testing.T) {
	tcp := corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(8080)}}}
	cases := map[string]struct {
		probe corev1.Probe
		env   []string
	}{
		"http": {corev1.Probe{PeriodSeconds: 1}, []string{"STARTUP_DELAY", "300ms"}},
		"tcp":  {tcp, []string{"STARTUP_DELAY", "300ms"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			k, a := startTest(t)
			tc.probe.PeriodSeconds = 1
			a.create(newPod("web-1", withReadiness(tc.probe), withEnv(tc.env...)))
			p := a.wait("web-1", "unready", isUnready)
			if c := status.Condition(p.Status.Conditions, corev1.PodReady); c.Message != "containers with unready status: [web]" {
				t.Errorf("got %+v", c)
			}
			a.wait("web-1", "ready", isReady)
			if took := moment(t, k, "web-1", Ready).Sub(moment(t, k, "web-1", Started)); took < 300*time.Millisecond {
				t.Errorf("ready %v after the start", took)
			}
			if n := len(a.patchesOf(p.UID)); n != 2 {
				t.Errorf("unready and ready took %d status patches", n)
			}
		})
	}
}

func TestReadinessIsLostAndWonBack(t *testing.T) {
	k, a := startTest(t)
	a.create(newPod("web-1", withReadiness(corev1.Probe{PeriodSeconds: 1, FailureThreshold: 1})))
	a.wait("web-1", "ready", isReady)
	app, _ := k.App(namespace, "web-1")
	app.SetReady(false)
	a.wait("web-1", "unready", isUnready)
	app.SetReady(true)
	a.wait("web-1", "ready", isReady)
	if app.Requests() != 0 {
		t.Errorf("probes were counted as requests: %d", app.Requests())
	}
}

func TestProbeTimesOut(t *testing.T) {
	k, a := startTest(t)
	probe := corev1.Probe{PeriodSeconds: 1, FailureThreshold: 1, TimeoutSeconds: 1}
	probe.HTTPGet = &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(8080)}
	a.create(newPod("web-1", withReadiness(probe)))
	a.wait("web-1", "ready", isReady)
	app, _ := k.App(namespace, "web-1")
	app.SetLatency(time.Minute)
	a.wait("web-1", "unready", isUnready)
}

func TestInitialDelaySkipsProbes(t *testing.T) {
	k, a := startTest(t)
	a.create(newPod("web-1", withReadiness(corev1.Probe{InitialDelaySeconds: 5, PeriodSeconds: 2})))
	a.wait("web-1", "ready", isReady)
	// Probes fall on 0, 2, 4, 6 s; the first one that counts is that at 6 s, 600 ms here.
	took := moment(t, k, "web-1", Ready).Sub(moment(t, k, "web-1", Started))
	if took < 590*time.Millisecond || took > 1500*time.Millisecond {
		t.Errorf("ready after %v", took)
	}
}

func TestProbesThatCannotBeRunFail(t *testing.T) {
	_, a := startTest(t)
	probe := corev1.Probe{PeriodSeconds: 1, FailureThreshold: 1}
	probe.Exec = &corev1.ExecAction{Command: []string{"true"}}
	a.create(newPod("web-1", withReadiness(probe)))
	named := corev1.Probe{PeriodSeconds: 1}
	named.HTTPGet = &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromString("nosuchport")}
	a.create(newPod("web-2", withReadiness(named)))
	a.create(newPod("web-3", withReadiness(corev1.Probe{PeriodSeconds: 3})))
	a.wait("web-3", "ready", isReady)
	for _, name := range []string{"web-1", "web-2"} {
		a.wait(name, "unready", isUnready)
	}
}
