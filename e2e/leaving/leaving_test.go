// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package leaving

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/kubelet"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// Rule 5: each pod of two is evicted in turn, or both at once, and nobody asks for more pods than two.
func TestEvictedPodsStayUntilTheyAreReplaced(t *testing.T) {
	for _, balancer := range []string{state.Application, state.Network} {
		for _, together := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, together %t", balancer, together), func(t *testing.T) {
				t.Parallel()
				app := newApp(fmt.Sprintf("evicted-%s-%t", balancer[:3], together), balancer)
				begun, stop := begin(t, app)
				old := bed.Pods(t, app)
				for i := range old {
					evict(t, &old[i])
					if !together {
						bed.AwaitRolled(t, app)
					}
				}
				bed.AwaitRolled(t, app)
				stop()
				assertLeftInTime(t, app, begun, old, balancer)
				assertStayed(t, app, begun, balancer)
			})
		}
	}
}

// The owner of a pod may have it leave at once.
func TestPodLeavesAtOnceWhereItsOwnerSaysSo(t *testing.T) {
	t.Parallel()
	app := newApp("at-once", state.Application)
	app.Template = func(template *corev1.PodTemplateSpec) {
		template.Annotations = map[string]string{"targetgate.dev/keep-until-replaced": "false"}
	}
	begun, stop := begin(t, app)
	pod := bed.OldestPod(t, app)
	evict(t, pod)
	call := awaitDeregistration(t, app, pod, begun)
	if took := call.Answered.Sub(deletion(t, pod)); took > 2*time.Second {
		t.Errorf("deregistered %s after the deletion, want at once", took)
	}
	bed.AwaitRolled(t, app)
	stop()
}

// A second deletion, with less time, moves the deadline; the grace period of that one is shorter than the sleep.
func TestSecondDeletionMovesTheDeadline(t *testing.T) {
	t.Parallel()
	app := newApp("sooner", state.Application)
	begun, stop := begin(t, app)
	pod := bed.OldestPod(t, app)
	bed.DeletePod(t, pod)
	bed.DeletePod(t, pod, client.GracePeriodSeconds(6))
	call := awaitDeregistration(t, app, pod, begun)
	if took := call.Answered.Sub(deletion(t, pod)); took > 3*time.Second {
		t.Errorf("deregistered %s after the deletion, want 3 s before SIGTERM after 6", took)
	}
	bed.AwaitRolled(t, app)
	stop()
	assertLeftInTime(t, app, begun, []corev1.Pod{*pod}, state.Application)
}

// Karpenter's taint comes first, and its pods are replaced only when they are evicted: until then they stay.
func TestPodsStayOnANodeThatWillEnd(t *testing.T) {
	app := newApp("consolidated", state.Application)
	begun, stop := begin(t, app)
	pod := bed.OldestPod(t, app)
	bed.Disrupt(t, pod.Spec.NodeName)
	t.Cleanup(func() { undisrupt(t, pod.Spec.NodeName) })
	suite.Throughout(t, 3*time.Second, "both pods to serve", func() error { return bed.WantServing(app, 2) })
	evict(t, pod)
	bed.AwaitRolled(t, app)
	stop()
	assertLeftInTime(t, app, begun, []corev1.Pod{*pod}, state.Application)
	assertStayed(t, app, begun, state.Application)
}

// A new process knows nothing of those who leave but what the cluster and AWS say. It keeps the deadlines all the same.
func TestDeadlinesHoldAfterAKill(t *testing.T) {
	app := newApp("killed", state.Application)
	begun, stop := begin(t, app)
	pod := bed.OldestPod(t, app)
	evict(t, pod)
	suite.Eventually(t, "the pod to leave", func() error { _, err := bed.MomentOf(pod.UID, kubelet.DeletionSeen); return err })
	bed.Targetgate.Kill()
	suite.Must(t, bed.Targetgate.Restart(t.Context()))
	bed.AwaitRolled(t, app)
	stop()
	assertLeftInTime(t, app, begun, []corev1.Pod{*pod}, state.Application)
}

// AWS throttles every call for some seconds while Deployments roll, within its limits of calls: none of their pods leaves late, and no
// request fails.
func TestNoDeadlineIsMissedWhileAWSThrottles(t *testing.T) {
	const apps = 12
	var all []*testbed.App
	var begun time.Time
	var stops []func()
	old := map[*testbed.App][]corev1.Pod{}
	for i := range apps {
		app := newApp(fmt.Sprintf("throttled-%02d", i), state.Application)
		bed.Deploy(t, app)
		all = append(all, app)
	}
	for _, app := range all {
		bed.AwaitRolled(t, app)
		old[app] = bed.Pods(t, app)
		stops = append(stops, bed.UnderLoadOf(t, app, 20))
	}
	begun = time.Now()
	for _, app := range all {
		suite.Must(t, bed.Roll(t.Context(), app, "2", nil))
	}
	suite.Eventually(t, "a pod to leave", func() error {
		for _, app := range all {
			for _, pod := range bed.Pods(t, app) {
				if pod.DeletionTimestamp != nil {
					return nil
				}
			}
		}
		return errors.New("none does")
	})
	bed.AWS.Inject(wire.Fault{Code: "Throttling", Message: "Rate exceeded", For: 8 * time.Second})
	for _, app := range all {
		bed.AwaitRolled(t, app)
	}
	for i, app := range all {
		stops[i]()
		assertLeftInTime(t, app, begun, old[app], state.Application)
	}
	late, err := bed.MetricLines(t, "targetgate_deregistrations_late_total")
	suite.Must(t, err)
	if diff := strings.Join(late, "\n"); diff != "targetgate_deregistrations_late_total 0" {
		t.Errorf("late deregistrations: %q, want none", diff)
	}
}

// begin deploys the app, and sends it requests until stop.
func begin(t *testing.T, app *testbed.App) (begun time.Time, stop func()) {
	t.Helper()
	bed.Deploy(t, app)
	app.URL = strings.Replace(app.URL, "tcp:", "http:", 1)
	bed.AwaitRolled(t, app)
	return time.Now(), bed.UnderLoadOf(t, app, 50)
}

func evict(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	suite.Eventually(t, "the eviction of "+pod.Name, func() error { return bed.Evict(t, pod) })
}

func deletion(t *testing.T, pod *corev1.Pod) time.Time {
	t.Helper()
	at, err := bed.MomentOf(pod.UID, kubelet.DeletionSeen)
	suite.Must(t, err)
	return at
}

func awaitDeregistration(t *testing.T, app *testbed.App, pod *corev1.Pod, since time.Time) (call wire.Call) {
	t.Helper()
	suite.Eventually(t, "the deregistration of "+pod.Name, func() (err error) {
		call, err = bed.CallFor(app, "DeregisterTargets", pod.Status.PodIP, since)
		return err
	})
	return call
}

// assertLeftInTime fails the test where the load balancer may have sent to one of the pods after SIGTERM.
func assertLeftInTime(t *testing.T, app *testbed.App, begun time.Time, pods []corev1.Pod, balancer string) {
	t.Helper()
	for i := range pods {
		pod := &pods[i]
		call := awaitDeregistration(t, app, pod, begun)
		suite.Eventually(t, "SIGTERM of "+pod.Name, func() error { _, err := bed.MomentOf(pod.UID, kubelet.SIGTERM); return err })
		told, err := bed.MomentOf(pod.UID, kubelet.SIGTERM)
		suite.Must(t, err)
		if left := told.Sub(call.Answered); left < stops[balancer] {
			t.Errorf("pod %s was deregistered %s before SIGTERM", pod.Name, left)
		}
	}
}

// assertStayed fails the test where a target went while fewer than all replicas were left healthy, although its pod had time.
func assertStayed(t *testing.T, app *testbed.App, begun time.Time, balancer string) {
	t.Helper()
	healthy := map[state.Key]bool{}
	for _, event := range bed.AWS.Journal(0) {
		if event.Group != app.TargetGroup || event.Kind != state.Changed {
			continue
		}
		key := event.Target.Key
		wasHealthy := healthy[key]
		healthy[key] = event.To.State == state.Healthy
		if event.Time.Before(begun) || !wasHealthy || event.To.State != state.Draining {
			continue
		}
		left := 0
		for _, is := range healthy {
			if is {
				left++
			}
		}
		// What is left of the sleep at the deadline, and a second of the API server's clock, and one for the call.
		due := time.Duration(sleep)*time.Second - stops[balancer] - 500*time.Millisecond - 2*time.Second
		if stayed := event.Time.Sub(deletionOf(t, key.ID)); left < int(app.Replicas) && stayed < due {
			t.Errorf("target %s went %s after the deletion of its pod, when %d targets were left", key.ID, stayed, left)
		}
	}
}

// deletionOf is when the pod with that address was deleted.
func deletionOf(t *testing.T, ip string) time.Time {
	t.Helper()
	for _, moment := range bed.Kubelet.Moments() {
		if moment.IP == ip && moment.Event == kubelet.DeletionSeen {
			return moment.At
		}
	}
	t.Fatalf("the pod at %s was not deleted", ip)
	return time.Time{}
}

func undisrupt(t *testing.T, name string) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	suite.Must(t, bed.Client.Patch(context.Background(), node, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"taints":null}}`))))
}
