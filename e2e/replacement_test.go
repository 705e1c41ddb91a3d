// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Rule 7. The green pods are ready, but of no Service's and so without gates, when the Service turns to them.
func TestBlueGreenSwitchLosesNoRequest(t *testing.T) {
	app := newApp("bluegreen")
	blue, green := deployBlueAndGreen(t, app)
	stop := underLoad(t, app)
	switched := time.Now()
	turnTo(t, app, "green")
	awaitHealthy(t, app, green...)
	stop()
	assertLeftAfterHealthy(t, app, blue, green, switched)

	back := time.Now()
	stop = underLoad(t, app)
	turnTo(t, app, "blue")
	awaitHealthy(t, app, blue...)
	stop()
	assertLeftAfterHealthy(t, app, green, blue, back)
}

func TestBlueGreenSwitchToSickPodsEndsAfterTheTimeout(t *testing.T) {
	const timeout = 8 * time.Second // a status that may pass is written after 5 s
	withFlags(t, "--replacement-timeout="+timeout.String())
	app := newApp("sickgreen")
	blue, green := deployBlueAndGreen(t, app)
	for _, pod := range pods(t, app) {
		if pod.Labels["color"] == "green" {
			handle, _ := bed.Kubelet.App(app.Name, pod.Name)
			handle.SetHealth(http.StatusInternalServerError)
			break
		}
	}
	stop := underLoad(t, app)
	switched := time.Now()
	turnTo(t, app, "green")
	eventually(t, "the status to say why blue stays", func() error { return wantReason(t, app, v1beta1.ReasonReconciling) })
	awaitTargets(t, app, green...)
	stop()
	for _, key := range blue {
		call := awaitCall(t, app, "DeregisterTargets", key, switched)
		if waited := call.Received.Sub(switched); waited < timeout {
			t.Errorf("%s was deregistered after %s, want no sooner than after %s", key, waited, timeout)
		}
	}
	eventually(t, "the event", func() error { return wantEvent(t, app, app.Name, corev1.EventTypeWarning, "ReplacementTimedOut") })
}

func TestServiceThatIsGoneForAWhileLosesNoRequest(t *testing.T) {
	for name, take := range takeAway {
		t.Run(name, func(t *testing.T) {
			app := newApp("gone-" + name)
			deploy(t, app)
			awaitRolled(t, app)
			awaitConverged(t, app)
			stop := underLoad(t, app)
			begun := time.Now()
			giveBack := take(t, app)
			eventually(t, "the status to say what is missing", func() error { return wantReason(t, app, v1beta1.ReasonBackendNotFound) })
			eventually(t, "the event", func() error {
				return wantEvent(t, app, app.Name, corev1.EventTypeWarning, v1beta1.ReasonBackendNotFound)
			})
			throughout(t, 2*time.Second, "a target went", func() error { return serving(app, int(app.Replicas)) })
			giveBack()
			eventually(t, "the status to say that all is well", func() error { return wantReason(t, app, v1beta1.ReasonReconciled) })
			throughout(t, time.Second, "a target went", func() error { return serving(app, int(app.Replicas)) })
			stop()
			assertUntouched(t, app, begun)
		})
	}
}

// Nobody knows whether a Service that is gone comes back. Pods that leave meanwhile do not wait for that.
func TestServiceThatIsGoneForGoodLosesItsTargets(t *testing.T) {
	const timeout = 6 * time.Second
	withFlags(t, "--replacement-timeout="+timeout.String())
	for name, take := range takeAway {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they spend their time waiting
			app := newApp("lost-" + name)
			deploy(t, app)
			awaitRolled(t, app)
			awaitConverged(t, app)
			leaver := oldestPod(t, app)
			stay := keysOf(slices.DeleteFunc(pods(t, app), func(p corev1.Pod) bool { return p.UID == leaver.UID }), 8080)
			gone := time.Now()
			take(t, app)
			eventually(t, "the status to say what is missing", func() error { return wantReason(t, app, v1beta1.ReasonBackendNotFound) })
			deletePod(t, leaver)
			eventually(t, "the deleted pod's target to go", func() error {
				_, err := callFor(app, "DeregisterTargets", leaver.Status.PodIP, gone)
				return err
			})
			must(t, wantTargets(app, stay...))
			awaitTargets(t, app)
			if waited := time.Since(gone); waited < timeout {
				t.Errorf("all targets were deregistered after %s, want no sooner than after %s", waited, timeout)
			}
		})
	}
}

// deployBlueAndGreen has the app's Service select its blue pods, and as many green ones beside them.
func deployBlueAndGreen(t *testing.T, app *testbed.App) (blue, green []state.Key) {
	t.Helper()
	app.Template = func(template *corev1.PodTemplateSpec) { template.Labels["color"] = "blue" }
	app.Service = func(s *corev1.Service) { s.Spec.Selector["color"] = "blue" }
	deploy(t, app)
	awaitRolled(t, app)
	awaitConverged(t, app)
	var d appsv1.Deployment
	must(t, bed.Client.Get(t.Context(), app.Key(), &d))
	second := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: app.Name, Name: app.Name + "-green"}, Spec: *d.Spec.DeepCopy()}
	second.Spec.Selector.MatchLabels["color"] = "green"
	second.Spec.Template.Labels["color"] = "green"
	create(t, second)
	eventually(t, "the green pods to be Ready", func() error {
		blue, green = nil, nil
		for _, pod := range pods(t, app) {
			key := keysOf([]corev1.Pod{pod}, 8080)[0]
			switch {
			case pod.Labels["color"] == "blue":
				blue = append(blue, key)
			case testbed.IsReady(&pod):
				green = append(green, key)
			}
		}
		if len(green) < int(app.Replicas) {
			return fmt.Errorf("%d are", len(green))
		}
		return nil
	})
	return blue, green
}

func turnTo(t *testing.T, app *testbed.App, color string) {
	t.Helper()
	changeService(t, app, func(s *corev1.Service) { s.Spec.Selector["color"] = color })
}

// takeAway are the ways to lose what a binding refers to, and to get it back.
var takeAway = map[string]func(*testing.T, *testbed.App) (giveBack func()){
	"service": deleteService,
	"port": func(t *testing.T, app *testbed.App) func() {
		renumber := func(to int32) { changeService(t, app, func(s *corev1.Service) { s.Spec.Ports[0].Port = to }) }
		renumber(81)
		return func() { renumber(80) }
	},
}

// deleteService deletes the app's Service; giveBack creates the same once more.
func deleteService(t *testing.T, app *testbed.App) (giveBack func()) {
	t.Helper()
	var service corev1.Service
	must(t, bed.Client.Get(t.Context(), app.Key(), &service))
	must(t, bed.Client.Delete(t.Context(), service.DeepCopy()))
	return func() {
		create(t, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: app.Name, Name: app.Name},
			Spec:       corev1.ServiceSpec{Selector: service.Spec.Selector, Ports: service.Spec.Ports},
		})
	}
}

func changeService(t *testing.T, app *testbed.App, edit func(*corev1.Service)) {
	t.Helper()
	change(t, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: app.Name, Name: app.Name}}, edit)
}

// change edits the object of that name and kind.
func change[T client.Object](t *testing.T, object T, edit func(T)) {
	t.Helper()
	must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object))
	patch := client.MergeFrom(object.DeepCopyObject().(client.Object))
	edit(object)
	must(t, bed.Client.Patch(t.Context(), object, patch))
}

// create creates the object as soon as the API server takes it: a new namespace may have no service account yet.
func create(t *testing.T, object client.Object) {
	t.Helper()
	eventually(t, "the API server to take "+object.GetName(), func() error { return bed.Client.Create(t.Context(), object) })
}

// withFlags runs targetgate with these flags until the end of the test.
func withFlags(t *testing.T, args ...string) {
	t.Helper()
	t.Cleanup(func() { must(t, bed.Targetgate.RestartWith(context.Background())) })
	must(t, bed.Targetgate.RestartWith(t.Context(), args...))
}

// wantReason is an error when the binding's condition Ready has another reason.
func wantReason(t *testing.T, app *testbed.App, want string) error {
	t.Helper()
	if got := readyReason(t, app); got != want {
		return fmt.Errorf("the reason of Ready is %q, want %q", got, want)
	}
	return nil
}

// wantDegraded is an error when the binding's condition Degraded is not True for that reason.
func wantDegraded(t *testing.T, app *testbed.App, want string) error {
	t.Helper()
	c := apimeta.FindStatusCondition(getBinding(t, app).Status.Conditions, v1beta1.ConditionDegraded)
	if c == nil || c.Status != metav1.ConditionTrue || c.Reason != want {
		return fmt.Errorf("condition %+v, want Degraded for %s", c, want)
	}
	return nil
}

// wantEvent is an error when there is no event of that kind about the object of that name in the app's namespace.
func wantEvent(t *testing.T, app *testbed.App, object, kind, reason string) error {
	t.Helper()
	var list eventsv1.EventList
	must(t, bed.Client.List(t.Context(), &list, client.InNamespace(app.Name)))
	for _, event := range list.Items {
		if event.Regarding.Name == object && event.Type == kind && event.Reason == reason {
			return nil
		}
	}
	return fmt.Errorf("no %s event %s about %s", kind, reason, object)
}

// becameHealthy is when the load balancer first showed the target healthy after since.
func becameHealthy(app *testbed.App, key state.Key, since time.Time) (time.Time, error) {
	for _, event := range bed.AWS.Journal(0) {
		if event.Group == app.TargetGroup && event.Target.Key == key && event.To.State == state.Healthy && event.Time.After(since) {
			return event.Time, nil
		}
	}
	return time.Time{}, fmt.Errorf("target %s was never healthy", key)
}

// awaitCall waits for the first call of the operation that names the target after since: it is written down when it has
// been answered, which may be after its effect.
func awaitCall(t *testing.T, app *testbed.App, operation string, key state.Key, since time.Time) (found wire.Call) {
	t.Helper()
	eventually(t, operation+" of "+key.String(), func() error {
		for _, call := range callsSince(app, operation, since) {
			if slices.Contains(call.Targets, key) {
				found = call
				return nil
			}
		}
		return errors.New("there is none")
	})
	return found
}

// assertUntouched fails when a target was registered or deregistered since.
func assertUntouched(t *testing.T, app *testbed.App, since time.Time) {
	t.Helper()
	for _, operation := range []string{"RegisterTargets", "DeregisterTargets"} {
		for _, call := range callsSince(app, operation, since) {
			t.Errorf("%s of %v at %s, want none", operation, call.Targets, call.Received)
		}
	}
}
