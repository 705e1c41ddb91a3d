// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/e2e/kubelet/status"
)

func containerStatus(p *corev1.Pod) corev1.ContainerStatus {
	if p == nil || len(p.Status.ContainerStatuses) == 0 {
		return corev1.ContainerStatus{}
	}
	return p.Status.ContainerStatuses[0]
}

func TestCrashLoopBacksOff(t *testing.T) {
	k, a := startTest(t)
	a.create(newPod("web-1", withEnv("CRASH_AFTER", "50ms")))
	p := a.wait("web-1", "in back-off", func(p *corev1.Pod) bool { return containerStatus(p).State.Waiting != nil })
	got := containerStatus(p)
	if got.State.Waiting.Reason != "CrashLoopBackOff" || got.RestartCount != 1 || got.Ready || *got.Started {
		t.Errorf("got %+v", got)
	}
	if last := got.LastTerminationState.Terminated; last == nil || last.ExitCode != 1 || last.Reason != "Error" {
		t.Errorf("got last state %+v", last)
	}
	if p.Status.Phase != corev1.PodRunning || status.Condition(p.Status.Conditions, corev1.PodReady).Reason != "ContainersNotReady" {
		t.Errorf("got phase %s, conditions %+v", p.Status.Phase, p.Status.Conditions)
	}
	a.wait("web-1", "restarted after it", func(p *corev1.Pod) bool { return containerStatus(p).RestartCount == 2 })
	if n := times(k, "web-1", Started); n < 3 {
		t.Errorf("its container has run %d times, want 3 or more", n)
	}
}

func TestPodInBackOffIsDeletedAtOnce(t *testing.T) {
	k, a := startTest(t, func(o *Options) { o.Scale = 10 })
	a.create(newPod("web-1", withEnv("CRASH_AFTER", "1ms"), withPreStop(60)))
	p := a.wait("web-1", "in back-off", func(p *corev1.Pod) bool { return containerStatus(p).State.Waiting != nil })
	phase := lastPhase(a, p)
	a.remove("web-1", nil)
	a.wait("web-1", "gone", isGone)
	if got := phase(); got != corev1.PodFailed {
		t.Errorf("ended %s", got)
	}
	if happened(k, "web-1", PreStopStart) {
		t.Error("preStop ran in a container that does not run")
	}
}

func TestCrashedAppComesBack(t *testing.T) {
	k, a := startTest(t)
	a.create(newPod("web-1", withReadiness(corev1.Probe{PeriodSeconds: 1})))
	p := a.wait("web-1", "ready", isReady)
	app, _ := k.App(namespace, "web-1")
	app.SetStatus(503)
	if !app.Crash() {
		t.Fatal("no process to crash")
	}
	a.wait("web-1", "restarted", func(p *corev1.Pod) bool { return containerStatus(p).RestartCount == 1 })
	a.wait("web-1", "ready", isReady)
	answers(t, p, "/", "503")
}

func TestBadEnvIsACrashLoop(t *testing.T) {
	cases := map[string][]string{
		"duration": {"STARTUP_DELAY", "soon"}, "status": {"STATUS", "99"}, "signal": {"ON_SIGTERM", "maybe"}, "bool": {"READY", "hardly"},
	}
	for name, env := range cases {
		t.Run(name, func(t *testing.T) {
			_, a := startTest(t)
			a.create(newPod("web-1", withEnv(env...)))
			p := a.wait("web-1", "crashed", func(p *corev1.Pod) bool { return containerStatus(p).LastTerminationState.Terminated != nil })
			if last := containerStatus(p).LastTerminationState.Terminated; last.ExitCode != 2 || last.Message == "" {
				t.Errorf("got %+v", last)
			}
		})
	}
}

func TestRestartPolicy(t *testing.T) {
	cases := map[string]struct {
		policy    corev1.RestartPolicy
		env       []string
		wantPhase corev1.PodPhase
		wantCond  string
	}{
		"job done":          {corev1.RestartPolicyNever, []string{"EXIT_AFTER", "0s"}, corev1.PodSucceeded, "PodCompleted"},
		"job failed":        {corev1.RestartPolicyNever, []string{"CRASH_AFTER", "0s"}, corev1.PodFailed, "PodFailed"},
		"on failure, done":  {corev1.RestartPolicyOnFailure, []string{"EXIT_AFTER", "0s"}, corev1.PodSucceeded, "PodCompleted"},
		"never, unparsable": {corev1.RestartPolicyNever, []string{"LATENCY", "x"}, corev1.PodFailed, "PodFailed"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, a := startTest(t)
			a.create(newPod("job-1", withEnv(tc.env...), func(p *corev1.Pod) { p.Spec.RestartPolicy = tc.policy }))
			p := a.wait("job-1", "over", isOver)
			if got := status.Condition(p.Status.Conditions, corev1.PodReady); p.Status.Phase != tc.wantPhase || got.Reason != tc.wantCond {
				t.Errorf("got %s, %+v", p.Status.Phase, got)
			}
		})
	}
}

func TestBackoffDoubles(t *testing.T) {
	var b backoff
	var got []time.Duration
	for range 8 {
		got = append(got, b.next(time.Second))
	}
	got = append(got, b.next(11*time.Minute), b.next(time.Second))
	s := time.Second
	want := []time.Duration{0, 10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 300 * s, 300 * s, 0, 10 * s}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}

func TestPreStopLength(t *testing.T) {
	exec := func(command ...string) *corev1.LifecycleHandler {
		return &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: command}}
	}
	cases := map[string]struct {
		hook    *corev1.LifecycleHandler
		want    time.Duration
		wantAny bool
	}{
		"none":         {},
		"sleep action": {&corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 7}}, 7 * time.Second, true},
		"exec":         {exec("sleep", "5"), 5 * time.Second, true},
		"path":         {exec("/bin/sleep", "2.5"), 2500 * time.Millisecond, true},
		"shell":        {exec("/bin/sh", "-c", "echo bye; sleep 15; nginx -s quit"), 15 * time.Second, true},
		"unit":         {exec("sleep", "3s"), 3 * time.Second, true},
		"other":        {exec("nginx", "-s", "quit"), 0, true},
		"empty":        {exec(), 0, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, found := preStop(corev1.Container{Lifecycle: &corev1.Lifecycle{PreStop: tc.hook}})
			if got != tc.want || found != tc.wantAny {
				t.Errorf("got %v, %v", got, found)
			}
		})
	}
}
