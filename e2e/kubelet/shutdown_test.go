// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/e2e/kubelet/status"
)

const ample = 300 * time.Second

func beginShutdown(t *testing.T, k *Kubelet, period, critical time.Duration) {
	t.Helper()
	if err := k.BeginShutdown(t.Context(), "node-1", ShutdownGrace{Period: period, CriticalPods: critical}); err != nil {
		t.Fatal(err)
	}
}

// isEnded is a pod that has ended and stays in the API.
func isEnded(p *corev1.Pod) bool { return p != nil && isOver(p) }

func withPriority(priority int32) podOption {
	return func(p *corev1.Pod) { p.Spec.Priority = &priority }
}

func TestShutdownEndsPodsAndDeletesNone(t *testing.T) {
	cases := map[string]struct {
		onSigterm       string
		phase           corev1.PodPhase
		reason, message string
		readyReason     string
	}{
		"exits with 0": {"graceful", corev1.PodSucceeded, "", "", "PodCompleted"},
		"exits with 143": {
			"exit", corev1.PodFailed, "Terminated", "Pod was terminated in response to imminent node shutdown.", "PodFailed",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			k, a := startTest(t)
			a.create(newPod("web-1", withPreStop(10), withEnv("ON_SIGTERM", tc.onSigterm)))
			p := a.wait("web-1", "ready", isReady)
			beginShutdown(t, k, ample, 0)
			moment(t, k, "web-1", PreStopStart)
			for !happened(k, "web-1", PreStopEnd) {
				serves, now := get(t.Context(), urlOf(p, "/")), a.pod("web-1")
				early := now.Status.Phase != corev1.PodRunning || !isReady(now) || status.Condition(now.Status.Conditions, corev1.DisruptionTarget) != nil
				if !happened(k, "web-1", PreStopEnd) && (serves != "200" || early) {
					t.Fatalf("in its preStop it answers %s, with status %+v", serves, now.Status)
				}
			}
			p = a.wait("web-1", "ended", isEnded)
			if p.DeletionTimestamp != nil || p.Status.Phase != tc.phase || p.Status.Reason != tc.reason || p.Status.Message != tc.message {
				t.Errorf("deleted at %v, %s, %q, %q; want %+v", p.DeletionTimestamp, p.Status.Phase, p.Status.Reason, p.Status.Message, tc)
			}
			target := status.Condition(p.Status.Conditions, corev1.DisruptionTarget)
			if target == nil || target.Status != corev1.ConditionTrue || target.Reason != "TerminationByKubelet" {
				t.Errorf("condition DisruptionTarget: %+v", target)
			}
			if c := status.Condition(p.Status.Conditions, corev1.ContainersReady); c.Status != corev1.ConditionFalse || c.Reason != tc.readyReason {
				t.Errorf("condition ContainersReady: %+v", c)
			}
			if slept := moment(t, k, "web-1", SIGTERM).Sub(moment(t, k, "web-1", PreStopStart)); slept < time.Second {
				t.Errorf("SIGTERM %v after the beginning of a preStop of 1 s", slept)
			}
			a.remove("web-1", nil)
			a.wait("web-1", "gone", isGone)
		})
	}
}

func TestShutdownIsInTheNodesCondition(t *testing.T) {
	k, a := startTest(t, func(o *Options) { o.HeartbeatInterval = 10 * time.Millisecond })
	says := func(status corev1.ConditionStatus, reason, message string) {
		t.Helper()
		if c := conditionOf(t, a, corev1.NodeReady); c.Status != status || c.Reason != reason || c.Message != message {
			t.Errorf("condition %+v, want %s, %s, %s", c, status, reason, message)
		}
	}
	beginShutdown(t, k, ample, 0)
	says(corev1.ConditionFalse, "KubeletNotReady", "node is shutting down")
	other := []byte(`{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`)
	_, err := a.client.CoreV1().Nodes().Patch(t.Context(), "node-1", types.StrategicMergePatchType, other, metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "not ready again", func() bool { return conditionOf(t, a, corev1.NodeReady).Status == corev1.ConditionFalse })
	says(corev1.ConditionFalse, "KubeletNotReady", "node is shutting down")
	for _, status := range []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionTrue} {
		if err := k.SetNodeReady(t.Context(), "node-1", status); err != nil {
			t.Fatal(err)
		}
		if status == corev1.ConditionFalse {
			says(corev1.ConditionFalse, "KubeletNotReady", "[container runtime is down, node is shutting down]")
		}
	}
	says(corev1.ConditionFalse, "KubeletNotReady", "node is shutting down")
	if err := k.CancelShutdown(t.Context(), "node-1"); err != nil {
		t.Fatal(err)
	}
	says(corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status")
}

func TestConditionOfAShutdownIsAsOldAsTheShutdown(t *testing.T) {
	k, a := startTest(t)
	n, _ := k.node("node-1")
	begun := time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 2 { // the second time nothing changes
		if err := n.update(t.Context(), func() { n.shutdown.Store(&shutdown{}) }, begun.Add(time.Duration(i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if since := conditionOf(t, a, corev1.NodeReady).LastTransitionTime; !since.Time.Equal(begun) {
			t.Errorf("not ready since %v, want %v", since, begun)
		}
	}
}

func TestShutdownShortensGracePeriods(t *testing.T) {
	cases := map[string]struct {
		pod      []podOption
		period   time.Duration
		deleted  *int64        // with that grace period, before the shutdown
		min, max time.Duration // from the shutdown to SIGTERM, a tenth of what is said
	}{
		"the pod's is shorter": {[]podOption{withGrace(10), withPreStop(60)}, ample, nil, time.Second, 1900 * time.Millisecond},
		"the shutdown's is":    {[]podOption{withGrace(300), withPreStop(60)}, 10 * time.Second, nil, time.Second, 1900 * time.Millisecond},
		"the pod leaves already": {
			[]podOption{withGrace(300), withPreStop(60)}, 10 * time.Second, ptr.To[int64](300), time.Second, 1900 * time.Millisecond,
		},
		"and has less than that": {[]podOption{withGrace(300), withPreStop(60)}, ample, ptr.To[int64](10), 0, 1900 * time.Millisecond},
		"it leaves critical ones 0 s": {
			[]podOption{withGrace(300), withPreStop(60), withPriority(criticalPriority)}, ample, nil, 90 * time.Millisecond, time.Second,
		},
		"the preStop is short": {[]podOption{withGrace(300), withPreStop(10)}, ample, nil, time.Second, 1900 * time.Millisecond},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			k, a := startTest(t)
			a.create(newPod("web-1", tc.pod...))
			a.wait("web-1", "ready", isReady)
			if tc.deleted != nil {
				a.remove("web-1", tc.deleted)
				moment(t, k, "web-1", PreStopStart)
			}
			begun := time.Now()
			beginShutdown(t, k, tc.period, 0)
			if took := moment(t, k, "web-1", SIGTERM).Sub(begun); took < tc.min || took > tc.max {
				t.Errorf("SIGTERM after %v, want %v to %v", took, tc.min, tc.max)
			}
			if tc.deleted != nil {
				a.wait("web-1", "gone", isGone)
			}
		})
	}
}

func TestShutdownEndsCriticalPodsLast(t *testing.T) {
	cases := map[string]struct {
		preStop int64 // of the regular pod, which ignores SIGTERM: it has 2 s to end after that at least
		period  time.Duration
		late    bool // it is still there when the critical one begins to end
	}{
		"when the regular ones have ended":     {1, ample, false},
		"when the regular ones had their time": {9, 20 * time.Second, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			k, a := startTest(t, func(o *Options) { o.Scale = 0.3 })
			a.create(newPod("web-1", withGrace(10), withPreStop(tc.preStop), withEnv("ON_SIGTERM", "ignore")))
			a.create(newPod("dns-1", withPreStop(1), withPriority(criticalPriority), func(p *corev1.Pod) { p.Spec.Containers[0].Ports = nil }))
			a.wait("web-1", "ready", isReady)
			a.wait("dns-1", "ready", isReady)
			beginShutdown(t, k, tc.period, 10*time.Second)
			a.wait("dns-1", "ended", isEnded)
			a.wait("web-1", "ended", isEnded)
			critical := moment(t, k, "dns-1", PreStopStart)
			if late := moment(t, k, "web-1", Exited).After(critical); late != tc.late {
				t.Errorf("the regular pod was still there: %v, want %v", late, tc.late)
			}
			if moment(t, k, "web-1", SIGTERM).After(critical) {
				t.Error("the critical pod began to end before the regular one got SIGTERM")
			}
		})
	}
}

func TestNodeInShutdownRejectsPods(t *testing.T) {
	k, a := startTest(t)
	a.create(newPod("done", withEnv("CRASH_AFTER", "1ms"), func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyNever }))
	a.wait("done", "ended", isEnded)
	beginShutdown(t, k, ample, 0)
	a.create(newPod("web-1"))
	p := a.wait("web-1", "ended", isEnded)
	if p.Status.Phase != corev1.PodFailed || p.Status.Reason != "NodeShutdown" || p.Status.PodIP != "" {
		t.Errorf("got status %+v", p.Status)
	}
	if happened(k, "web-1", Started) {
		t.Error("its container was started")
	}
	if got := a.pod("done").Status; got.Reason != "" || status.Condition(got.Conditions, corev1.DisruptionTarget) != nil {
		t.Errorf("a pod that had ended before got status %+v", got)
	}
	a.remove("web-1", nil)
	a.wait("web-1", "gone", isGone)
}

func TestCancelledShutdownEndsItsPodsFirst(t *testing.T) {
	k, a := startTest(t)
	a.create(newPod("web-1", withPreStop(5)))
	a.wait("web-1", "ready", isReady)
	beginShutdown(t, k, ample, 0)
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if k.CancelShutdown(impatient, "node-1") == nil {
		t.Error("a shutdown was cancelled before its pods had ended")
	}
	if err := k.CancelShutdown(t.Context(), "node-1"); err != nil {
		t.Fatal(err)
	}
	if c := conditionOf(t, a, corev1.NodeReady); c.Status != corev1.ConditionTrue {
		t.Errorf("got condition %+v", c)
	}
	moment(t, k, "web-1", Exited)
	a.wait("web-1", "ended", isEnded)
	a.create(newPod("web-2"))
	a.wait("web-2", "ready", isReady)
	beginShutdown(t, k, ample, 0) // once more
	a.wait("web-2", "ended", isEnded)
}

func TestShutdownOfWhatIsNotThere(t *testing.T) {
	k, _ := startTest(t)
	fine := ShutdownGrace{Period: ample}
	if k.BeginShutdown(t.Context(), "nosuchnode", fine) == nil || k.CancelShutdown(t.Context(), "nosuchnode") == nil {
		t.Error("a node that does not exist shuts down")
	}
	if k.CancelShutdown(t.Context(), "node-1") == nil {
		t.Error("a shutdown that has not begun was cancelled")
	}
	for _, grace := range []ShutdownGrace{{}, {Period: time.Second, CriticalPods: time.Minute}, {Period: time.Second, CriticalPods: -1}} {
		if k.BeginShutdown(t.Context(), "node-1", grace) == nil {
			t.Errorf("%+v was taken", grace)
		}
	}
	if err := k.BeginShutdown(t.Context(), "node-1", fine); err != nil {
		t.Fatal(err)
	}
	if k.BeginShutdown(t.Context(), "node-1", fine) == nil {
		t.Error("a node shuts down twice")
	}
}

func TestShutdownOfANodeThatIsCutOff(t *testing.T) {
	k, _ := startTest(t)
	k.StopHeartbeat("node-1")
	if k.BeginShutdown(t.Context(), "node-1", ShutdownGrace{Period: ample}) == nil {
		t.Error("a node that is cut off said something")
	}
}

func TestShutdownEndsWithTheNode(t *testing.T) {
	k, a := startTest(t)
	a.create(newPod("web-1", withGrace(600), withPreStop(600)))
	a.wait("web-1", "ready", isReady)
	beginShutdown(t, k, 10*ample, 0)
	moment(t, k, "web-1", PreStopStart)
	if err := k.RemoveNode(t.Context(), "node-1"); err != nil {
		t.Fatal(err)
	}
	if !happened(k, "web-1", Exited) {
		t.Error("a pod runs on a machine that is gone")
	}
	if k.CancelShutdown(t.Context(), "node-1") == nil {
		t.Error("the shutdown of a machine that is gone was cancelled")
	}
}
