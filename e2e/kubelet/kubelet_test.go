// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"github.com/targetgate/targetgate/e2e/kubelet/status"
)

func TestPodRunsAndAnswers(t *testing.T) {
	k, a := startTest(t)
	a.create(newPod("web-1", withEnv("VERSION", "v7", "HEALTH_STATUS", "500", "READY", "false")))
	p := a.wait("web-1", "ready", isReady)
	if p.Status.Phase != corev1.PodRunning || p.Status.HostIP == "" || p.Status.PodIPs[0].IP != p.Status.PodIP {
		t.Errorf("got status %+v", p.Status)
	}
	answers(t, p, "/", "200")
	answers(t, p, "/healthz", "500")
	answers(t, p, "/ready", "503")
	response, err := http.Get(urlOf(p, "/"))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, _ := io.ReadAll(response.Body); string(body) != "web-1 v7\n" {
		t.Errorf("got body %q", body)
	}
	app, found := k.App(namespace, "web-1")
	if !found || app.Requests() < 2 || app.LastRequest().IsZero() {
		t.Errorf("got found %v, app %+v", found, app)
	}
	if n := len(a.patchesOf(p.UID)); n != 1 {
		t.Errorf("a pod that is ready at once took %d status patches", n)
	}
}

func TestConnectionsEndWhereTheAppSaysSo(t *testing.T) {
	_, a := startTest(t)
	for name, env := range map[string]string{"kept": "", "ended": "false"} {
		a.create(newPod(name, withEnv("KEEP_ALIVE", env)))
		p := a.wait(name, "ready", isReady)
		answers(t, p, "/", "200")
		response, err := http.Get(urlOf(p, "/"))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if want := name == "ended"; response.Close != want {
			t.Errorf("%s: the answer ends its connection: %v, want %v", name, response.Close, want)
		}
	}
}

func TestGateDecidesReady(t *testing.T) {
	k, a := startTest(t)
	a.create(newPod("web-1", withGate))
	p := a.wait("web-1", "unready", isUnready)
	want := corev1.PodCondition{
		Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ReadinessGatesNotReady", ObservedGeneration: 1,
		Message: `corresponding condition of pod readiness gate "target-health.elbv2.k8s.aws/web" does not exist.`,
	}
	got := *status.Condition(p.Status.Conditions, corev1.PodReady)
	got.LastTransitionTime = metav1.Time{}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Ready (-want +got):\n%s", diff)
	}
	if !isTrue(p, corev1.ContainersReady) {
		t.Error("containers are not ready")
	}
	a.setGate("web-1", corev1.ConditionFalse)
	a.wait("web-1", "says the gate is False", func(p *corev1.Pod) bool {
		return strings.HasSuffix(status.Condition(p.Status.Conditions, corev1.PodReady).Message, `is not "True", but False`)
	})
	a.setGate("web-1", corev1.ConditionTrue)
	p = a.wait("web-1", "ready", isReady)
	if c := status.Condition(p.Status.Conditions, corev1.PodReady); c.Reason != "" || c.Message != "" {
		t.Errorf("Ready keeps a former reason: %+v", c)
	}
	a.setGate("web-1", corev1.ConditionUnknown)
	a.wait("web-1", "unready", isUnready)
	if got := status.Condition(a.pod("web-1").Status.Conditions, gate).Status; got != corev1.ConditionUnknown {
		t.Errorf("the kubelet changed the gate to %s", got)
	}
	moment(t, k, "web-1", NotReady)
}

func TestReadyIsRestoredWhenOthersOverwriteIt(t *testing.T) {
	_, a := startTest(t)
	a.create(newPod("web-1"))
	a.wait("web-1", "ready", isReady)
	a.edit("web-1", func(p *corev1.Pod) {
		status.Condition(p.Status.Conditions, corev1.PodReady).Status = corev1.ConditionFalse
	})
	a.wait("web-1", "ready again", isReady)
}

func TestOlderStateIsIgnored(t *testing.T) {
	version := func(v string) *corev1.Pod { return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: v}} }
	p := &pod{latest: version("10"), wake: make(chan struct{}, 1)}
	for _, v := range []string{"9", "10", "11", "2"} {
		p.see(version(v))
	}
	if got := p.object().ResourceVersion; got != "11" {
		t.Errorf("got version %s", got)
	}
}

func TestStatusPatchIsRetried(t *testing.T) {
	_, a := startTest(t)
	refused := make(chan struct{}, 1)
	a.client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		select {
		case refused <- struct{}{}:
			return true, nil, apierrors.NewInternalError(context.DeadlineExceeded)
		default:
			return false, nil, nil
		}
	})
	a.create(newPod("web-1"))
	a.wait("web-1", "ready", isReady)
}

func TestRecreatedPodIsAnotherPod(t *testing.T) {
	k, a := startTest(t)
	a.create(newPod("db-0", withEnv("VERSION", "old")))
	old := a.wait("db-0", "ready", isReady)
	if err := k.ForceAddress(types.NamespacedName{Namespace: namespace, Name: "db-0"}, old.Status.PodIP); err != nil {
		t.Fatal(err)
	}
	a.remove("db-0", new(int64))
	moment(t, k, "db-0", Exited)
	next := newPod("db-0", withGate)
	next.UID = "another"
	a.create(next)
	p := a.wait("db-0", "running", isUnready)
	if p.Status.PodIP != old.Status.PodIP {
		t.Errorf("got address %s, want %s again", p.Status.PodIP, old.Status.PodIP)
	}
}

func TestPodThatEndedIsLeftAlone(t *testing.T) {
	_, a := startTest(t)
	done := newPod("job-1", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
	a.create(done)
	a.create(newPod("web-1"))
	a.wait("web-1", "ready", isReady)
	if got := a.patchesOf(done.UID); len(got) > 0 {
		t.Errorf("got patches %v", got)
	}
	a.remove("job-1", nil)
	a.wait("job-1", "gone", isGone)
}

func TestJournalTellsALife(t *testing.T) {
	k, a := startTest(t)
	unbound := newPod("web-1", withPreStop(1))
	unbound.Spec.NodeName = ""
	a.create(unbound)
	moment(t, k, "web-1", Created)
	a.edit("web-1", func(p *corev1.Pod) { p.Spec.NodeName = "node-1" })
	p := a.wait("web-1", "ready", isReady)
	a.remove("web-1", nil)
	moment(t, k, "web-1", Gone)
	want := []Event{
		Created, Bound, Started, ContainersReady, Ready, DeletionSeen, PreStopStart, PreStopEnd, SIGTERM, Exited,
		ContainersNotReady, NotReady, Gone,
	}
	var got []Event
	for _, m := range k.Moments() {
		got = append(got, m.Event)
		if m.UID != p.UID || m.Namespace != namespace || m.At.IsZero() {
			t.Errorf("got moment %+v", m)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if last := k.Moments()[len(got)-1]; last.IP != p.Status.PodIP || last.Node != "node-1" {
		t.Errorf("got last moment %+v", last)
	}
}
