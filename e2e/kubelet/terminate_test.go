// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

func TestPreStopKeepsServing(t *testing.T) {
	k, a := startTest(t)
	a.create(newPod("web-1", withPreStop(10), withReadiness(corev1.Probe{PeriodSeconds: 1})))
	p := a.wait("web-1", "ready", isReady)
	a.remove("web-1", nil)
	moment(t, k, "web-1", PreStopStart)
	for !happened(k, "web-1", PreStopEnd) {
		if got := get(t.Context(), urlOf(p, "/")); got != "200" && !happened(k, "web-1", PreStopEnd) {
			t.Fatalf("got %s during preStop", got)
		}
	}
	a.wait("web-1", "gone", isGone)
	if slept := moment(t, k, "web-1", PreStopEnd).Sub(moment(t, k, "web-1", PreStopStart)); slept < time.Second {
		t.Errorf("preStop of 10 s at scale %v took %v", testScale, slept)
	}
	if happened(k, "web-1", SIGKILL) {
		t.Error("a graceful app was killed")
	}
}

func TestReadinessIsProbedWhileTerminating(t *testing.T) {
	k, a := startTest(t)
	a.create(newPod("web-1", withPreStop(20), withReadiness(corev1.Probe{PeriodSeconds: 1, FailureThreshold: 2})))
	a.wait("web-1", "ready", isReady)
	a.remove("web-1", nil)
	moment(t, k, "web-1", PreStopStart)
	app, _ := k.App(namespace, "web-1")
	app.SetReady(false)
	a.wait("web-1", "unready", isUnready)
	if happened(k, "web-1", PreStopEnd) {
		t.Error("it took the end of preStop to notice")
	}
}

// slowRequest sends a request that takes a while and returns a channel with what came back, once the app has it.
func slowRequest(t *testing.T, k *Kubelet, p *corev1.Pod) <-chan string {
	t.Helper()
	app, _ := k.App(p.Namespace, p.Name)
	answer := make(chan string, 1)
	go func() { answer <- get(t.Context(), urlOf(p, "/")) }()
	eventually(t, "the request is in flight", func() bool { return app.Requests() == 1 })
	return answer
}

func TestSigtermBehaviour(t *testing.T) {
	cases := map[string]struct {
		latency     string
		wantInside  string // what the request in flight gets
		wantRefused bool   // whether new connections are refused while it is in flight
		wantKilled  bool
		wantPhase   corev1.PodPhase
	}{
		"graceful": {latency: "1s", wantInside: "200", wantRefused: true, wantPhase: corev1.PodSucceeded},
		"exit":     {latency: "1s", wantInside: "error", wantRefused: true, wantPhase: corev1.PodFailed},
		"ignore":   {latency: "60s", wantInside: "error", wantKilled: true, wantPhase: corev1.PodFailed},
	}
	for mode, tc := range cases {
		t.Run(mode, func(t *testing.T) {
			k, a := startTest(t)
			a.create(newPod("web-1", withGrace(20), withEnv("ON_SIGTERM", mode, "LATENCY", tc.latency)))
			p := a.wait("web-1", "ready", isReady)
			answers(t, p, "/healthz", "200")
			inside := slowRequest(t, k, p)
			phase := lastPhase(a, p)
			a.remove("web-1", nil)
			moment(t, k, "web-1", SIGTERM)
			if tc.wantRefused {
				answers(t, p, "/healthz", "error")
			} else if got := get(t.Context(), urlOf(p, "/healthz")); got != "200" {
				t.Errorf("new request after SIGTERM got %s", got)
			}
			if got := <-inside; got != tc.wantInside {
				t.Errorf("request in flight got %s, want %s", got, tc.wantInside)
			}
			a.wait("web-1", "gone", isGone)
			if got := happened(k, "web-1", SIGKILL); got != tc.wantKilled {
				t.Errorf("killed: %v", got)
			}
			if got := phase(); got != tc.wantPhase {
				t.Errorf("ended %s, want %s", got, tc.wantPhase)
			}
		})
	}
}

// lastPhase watches the pod and returns a function that tells the last phase it had.
func lastPhase(a *api, p *corev1.Pod) func() corev1.PodPhase {
	watcher, err := a.client.Tracker().Watch(podResource, p.Namespace)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(watcher.Stop)
	return func() corev1.PodPhase {
		var phase corev1.PodPhase
		for {
			select {
			case event := <-watcher.ResultChan():
				phase = event.Object.(*corev1.Pod).Status.Phase
			default:
				return phase
			}
		}
	}
}

func TestGracefulKeepAliveConnectionEndsAfterItsAnswer(t *testing.T) {
	k, a := startTest(t)
	a.create(newPod("web-1", withEnv("LATENCY", "500ms")))
	p := a.wait("web-1", "ready", isReady)
	answers(t, p, "/healthz", "200")
	connection, err := net.Dial("tcp", socket(p))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := fmt.Fprint(connection, "GET / HTTP/1.1\r\nHost: web\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	app, _ := k.App(namespace, "web-1")
	eventually(t, "the request is in flight", func() bool { return app.Requests() == 1 })
	a.remove("web-1", nil)
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK || !response.Close {
		t.Errorf("got %d, close %v", response.StatusCode, response.Close)
	}
}

func TestGracePeriodEndsInKill(t *testing.T) {
	cases := map[string]struct {
		options  []podOption
		min, max time.Duration // from the deletion to SIGKILL
	}{
		"grace period":                            {[]podOption{withGrace(10)}, time.Second, 2 * time.Second},
		"preStop counts against it":               {[]podOption{withGrace(10), withPreStop(6)}, time.Second, 2 * time.Second},
		"2 s remain after preStop ate all":        {[]podOption{withGrace(10), withPreStop(60)}, 1200 * time.Millisecond, 2 * time.Second},
		"2 s remain when preStop leaves one only": {[]podOption{withGrace(10), withPreStop(9)}, 1100 * time.Millisecond, 2 * time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			k, a := startTest(t)
			a.create(newPod("web-1", append(tc.options, withEnv("ON_SIGTERM", "ignore"))...))
			a.wait("web-1", "ready", isReady)
			a.remove("web-1", nil)
			took := moment(t, k, "web-1", SIGKILL).Sub(moment(t, k, "web-1", DeletionSeen))
			if took < tc.min || took > tc.max {
				t.Errorf("killed after %v, want %v to %v", took, tc.min, tc.max)
			}
			a.wait("web-1", "gone", isGone)
		})
	}
}

func TestGracePeriodOfTheDeleteWins(t *testing.T) {
	k, a := startTest(t)
	a.create(newPod("web-1", withGrace(3000), withEnv("ON_SIGTERM", "ignore")))
	a.wait("web-1", "ready", isReady)
	a.remove("web-1", ptr.To[int64](5))
	a.wait("web-1", "gone", isGone)
	if took := moment(t, k, "web-1", SIGKILL).Sub(moment(t, k, "web-1", DeletionSeen)); took < 500*time.Millisecond {
		t.Errorf("killed after %v", took)
	}
}

func TestSecondDeleteShortensTheGracePeriod(t *testing.T) {
	k, a := startTest(t)
	a.create(newPod("web-1", withGrace(3000), withPreStop(2000), withEnv("ON_SIGTERM", "ignore")))
	a.wait("web-1", "ready", isReady)
	a.remove("web-1", nil)
	moment(t, k, "web-1", PreStopStart)
	a.remove("web-1", ptr.To[int64](1))
	a.wait("web-1", "gone", isGone)
	moment(t, k, "web-1", SIGKILL)
}

func TestForcedDeleteCutsAtOnce(t *testing.T) {
	k, a := startTest(t)
	a.create(newPod("web-1", withPreStop(2000), withEnv("LATENCY", "60s")))
	p := a.wait("web-1", "ready", isReady)
	answers(t, p, "/healthz", "200")
	inside := slowRequest(t, k, p)
	a.remove("web-1", new(int64))
	if got := <-inside; got != "error" {
		t.Errorf("request in flight got %s", got)
	}
	moment(t, k, "web-1", Exited)
	if happened(k, "web-1", SIGTERM) || happened(k, "web-1", PreStopStart) {
		t.Error("the pod was stopped gently")
	}
	answers(t, p, "/healthz", "error")
}

func TestForcedDeleteCutsATerminatingPod(t *testing.T) {
	k, a := startTest(t)
	a.create(newPod("web-1", withPreStop(2000), withGrace(3000)))
	a.wait("web-1", "ready", isReady)
	a.remove("web-1", nil)
	moment(t, k, "web-1", PreStopStart)
	a.remove("web-1", new(int64))
	moment(t, k, "web-1", Exited)
}

func TestSidecarStopsAfterTheOthers(t *testing.T) {
	k, a := startTest(t)
	a.create(newPod("web-1", func(p *corev1.Pod) {
		always := corev1.ContainerRestartPolicyAlways
		p.Spec.InitContainers = []corev1.Container{
			{Name: "setup", Image: "setup:1"},
			{Name: "mesh", Image: "mesh:1", RestartPolicy: &always, Ports: []corev1.ContainerPort{{ContainerPort: 15000}}},
		}
	}, withPreStop(5)))
	p := a.wait("web-1", "ready", isReady)
	if s := p.Status.InitContainerStatuses; len(s) != 2 || s[0].State.Terminated == nil || s[1].State.Running == nil {
		t.Fatalf("got init containers %+v", s)
	}
	a.remove("web-1", nil)
	a.wait("web-1", "gone", isGone)
	var order []string
	for _, m := range k.Moments() {
		if m.Event == SIGTERM || m.Event == Exited {
			order = append(order, string(m.Event)+" "+m.Container)
		}
	}
	if got := fmt.Sprint(order); got != "[sigterm web exited web sigterm mesh exited mesh]" {
		t.Errorf("got %s", got)
	}
}
