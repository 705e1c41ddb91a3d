// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/kubelet"
	"github.com/targetgate/targetgate/e2e/load"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// patience is how long a test waits for what should come within seconds, on a busy machine with the race detector.
const patience = 90 * time.Second

// eventually polls until check returns nil.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited %s for %s: %v", patience, what, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// throughout polls for d that check returns nil all the time.
func throughout(t *testing.T, d time.Duration, what string, check func() error) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err := check(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// deploy creates the app and has its namespace deleted at the end of the test.
func deploy(t *testing.T, app *testbed.App) {
	t.Helper()
	must(t, bed.Deploy(t.Context(), app))
	t.Cleanup(func() {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: app.Name}}
		if err := bed.Client.Delete(context.Background(), namespace); err != nil {
			t.Errorf("deleting namespace %s: %v", app.Name, err)
		}
	})
}

func awaitRolled(t *testing.T, app *testbed.App) {
	t.Helper()
	must(t, bed.AwaitRolled(t.Context(), app, patience))
}

// newApp is a gated app of three pods that sleeps 25 s before SIGTERM, 2.5 s on the test bed: longer than the load
// balancer goes on sending.
func newApp(name string) *testbed.App {
	return &testbed.App{Name: name, Replicas: 3, Gated: true, PreStopSeconds: 25}
}

// underLoad sends requests to the app until stop, which fails the test when one of them failed.
func underLoad(t *testing.T, app *testbed.App) (stop func()) {
	t.Helper()
	return underLoadOf(t, app, 100)
}

// underLoadOf is underLoad with so many requests a second.
func underLoadOf(t *testing.T, app *testbed.App, rate float64) (stop func()) {
	t.Helper()
	l, err := load.Start(t.Context(), load.Options{URL: app.URL, Rate: rate})
	must(t, err)
	return func() {
		t.Helper()
		result := l.Stop()
		if result.Failed > 0 || result.Requests == 0 {
			t.Errorf("%d of %d requests to %s failed: %v%s", result.Failed, result.Requests, app.Name, result.ByStatus, postMortem(app))
		}
	}
}

// postMortem tells of the first request that failed at a target: when, and what had happened to the target.
func postMortem(app *testbed.App) string {
	for _, request := range bed.AWS.Requests(0) {
		if request.Group != app.TargetGroup || request.Status < 500 || request.Target.ID == "" {
			continue
		}
		text := fmt.Sprintf("; the first one at %s at %s, whose pod:", request.Target, request.Start.UTC())
		for _, m := range bed.Kubelet.Moments() {
			if m.Namespace == app.Name && m.IP == request.Target.ID {
				text += fmt.Sprintf("\n%s %s", m.At.UTC(), m.Event)
			}
		}
		for _, call := range append(calls(app, "RegisterTargets"), calls(app, "DeregisterTargets")...) {
			if slices.Contains(call.Targets, request.Target) {
				text += fmt.Sprintf("\n%s %s (%d)", call.Received.UTC(), call.Operation, call.Status)
			}
		}
		return text
	}
	return ""
}

func pods(t *testing.T, app *testbed.App) []corev1.Pod {
	t.Helper()
	list, err := bed.Pods(t.Context(), app)
	must(t, err)
	return list
}

func getBinding(t *testing.T, app *testbed.App) *v1beta1.TargetGroupBinding {
	t.Helper()
	var binding v1beta1.TargetGroupBinding
	must(t, bed.Client.Get(t.Context(), app.Key(), &binding))
	return &binding
}

// gateOf is the status of the gate's condition, empty when the pod has none.
func gateOf(pod *corev1.Pod, app *testbed.App) corev1.ConditionStatus {
	if c := readiness.Condition(pod, app.Gate()); c != nil {
		return c.Status
	}
	return ""
}

// calls are the answered AWS calls of an operation for the app's target group.
func calls(app *testbed.App, operation string) []wire.Call {
	var out []wire.Call
	for _, call := range bed.AWS.Calls(0) {
		if call.Operation == operation && call.TargetGroup == app.TargetGroup {
			out = append(out, call)
		}
	}
	return out
}

// callsSince are those that were received after since.
func callsSince(app *testbed.App, operation string, since time.Time) []wire.Call {
	return slices.DeleteFunc(calls(app, operation), func(c wire.Call) bool { return !c.Received.After(since) })
}

// callFor is the first call of the operation that names the pod's target and was received after since.
func callFor(app *testbed.App, operation, ip string, since time.Time) (wire.Call, error) {
	for _, call := range calls(app, operation) {
		if call.Received.After(since) && slices.Contains(call.Targets, targetOf(ip)) {
			return call, nil
		}
	}
	return wire.Call{}, fmt.Errorf("no %s for %s", operation, ip)
}

func targetOf(ip string) state.Key { return state.Key{ID: ip, Port: 8080} }

// turned is when the load balancer first showed the pod's target in that state.
func turned(app *testbed.App, ip, to string) (time.Time, error) {
	for _, event := range bed.AWS.Journal(0) {
		if event.Group == app.TargetGroup && event.Target.Key == targetOf(ip) && event.Kind == state.Changed && string(event.To.State) == to {
			return event.Time, nil
		}
	}
	return time.Time{}, fmt.Errorf("target %s was never %s", ip, to)
}

// momentOf is when the pod came to an event for the first time.
func momentOf(uid types.UID, event kubelet.Event) (time.Time, error) {
	for _, moment := range bed.Kubelet.Moments() {
		if moment.UID == uid && moment.Event == event {
			return moment.At, nil
		}
	}
	return time.Time{}, fmt.Errorf("pod %s has not come to %s", uid, event)
}

// assertOnlyLeaversDeregistered fails when a target was deregistered whose pod nobody had deleted and that was ready.
func assertOnlyLeaversDeregistered(t *testing.T, app *testbed.App) {
	t.Helper()
	lives := map[string][]kubelet.Moment{}
	for _, moment := range bed.Kubelet.Moments() {
		if moment.Namespace == app.Name {
			lives[moment.IP] = append(lives[moment.IP], moment)
		}
	}
	for _, call := range calls(app, "DeregisterTargets") {
		for _, target := range call.Targets {
			if life := lives[target.ID]; !mayLeave(life, call.Received) {
				t.Errorf("live target %s was deregistered at %s; its pod: %v", target, call.Received, life)
			}
		}
	}
}

// mayLeave reports whether the pod of these moments was deleted at some time, or had been unready for several seconds: on a
// machine with too little CPU for its probes a pod may be, and then rule 6 lets it go.
func mayLeave(life []kubelet.Moment, at time.Time) bool {
	unready := false
	for _, moment := range life {
		switch moment.Event {
		case kubelet.DeletionSeen, kubelet.Gone:
			return true
		case kubelet.ContainersNotReady:
			unready = unready || moment.At.Before(at.Add(-5*time.Second))
		case kubelet.ContainersReady:
			unready = unready && moment.At.After(at.Add(-5*time.Second))
		}
	}
	return unready
}

// deletePod deletes the pod as kubectl does.
func deletePod(t *testing.T, pod *corev1.Pod, options ...client.DeleteOption) {
	t.Helper()
	must(t, bed.Client.Delete(t.Context(), pod, options...))
}

// oldestPod is the one that was created first.
func oldestPod(t *testing.T, app *testbed.App) *corev1.Pod {
	t.Helper()
	list := pods(t, app)
	slices.SortFunc(list, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return &list[0]
}

// registeredTargets are the targets of the app's group that do not drain.
func registeredTargets(t *testing.T, app *testbed.App) []state.Key {
	t.Helper()
	lines, err := bed.AWS.State().Describe(app.TargetGroup, nil)
	must(t, err)
	var out []state.Key
	for _, line := range lines {
		if line.State != "draining" {
			out = append(out, line.Key)
		}
	}
	return out
}

// awaitConverged waits until exactly the targets of the app's live pods are registered, all healthy, and the binding
// says so.
func awaitConverged(t *testing.T, app *testbed.App) {
	t.Helper()
	eventually(t, "exactly the live pods to be registered and healthy", func() error {
		want := map[state.Key]bool{}
		for _, pod := range pods(t, app) {
			if pod.DeletionTimestamp == nil {
				want[targetOf(pod.Status.PodIP)] = true
			}
		}
		return onlyHealthy(app, want)
	})
	awaitSettled(t, app)
}

// onlyHealthy is an error when the targets that do not drain are not the wanted ones, all of them healthy.
func onlyHealthy(app *testbed.App, want map[state.Key]bool) error {
	lines, err := bed.AWS.State().Describe(app.TargetGroup, nil)
	if err != nil {
		return err
	}
	healthy := 0
	for _, line := range lines {
		switch {
		case line.State == state.Draining:
		case line.State != state.Healthy || !want[line.Key]:
			return fmt.Errorf("target %s is %s, of a live pod: %v", line.Key, line.State, want[line.Key])
		default:
			healthy++
		}
	}
	if healthy != len(want) {
		return fmt.Errorf("%d targets are healthy, want %d", healthy, len(want))
	}
	return nil
}

// assertGatesOpenedByHealth fails when a pod was Ready before its own target was healthy. It needs addresses that are
// not used twice.
func assertGatesOpenedByHealth(t *testing.T, app *testbed.App) {
	t.Helper()
	for _, moment := range bed.Kubelet.Moments() {
		if moment.Namespace != app.Name || moment.Event != kubelet.Ready {
			continue
		}
		if healthy, err := turned(app, moment.IP, "healthy"); err != nil || moment.At.Before(healthy) {
			t.Errorf("pod %s was Ready at %s, its target healthy at %s (%v)", moment.Pod, moment.At, healthy, err)
		}
	}
}

// assertFewEvents fails when targetgate told of the binding, or of any pod, more often than a reader can bear.
func assertFewEvents(t *testing.T, app *testbed.App) {
	t.Helper()
	const handful = 6
	var list eventsv1.EventList
	must(t, bed.Client.List(t.Context(), &list, client.InNamespace(app.Name)))
	count, notes := map[string]int{}, map[string][]string{}
	for _, event := range list.Items {
		if event.ReportingController != "targetgate" {
			continue
		}
		object := event.Regarding.Kind + " " + event.Regarding.Name
		notes[object] = append(notes[object], event.Reason+": "+event.Note)
		count[object]++
	}
	for object, n := range count {
		if n > handful {
			t.Errorf("%d events about %s, want at most %d: %q", n, object, handful, notes[object])
		}
	}
}
