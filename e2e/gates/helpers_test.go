// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package gates

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// sideBySide runs the tests at once, however few cores there are: they spend their time waiting.
func sideBySide(t *testing.T, tests map[string]func(*testing.T)) {
	t.Helper()
	var running sync.WaitGroup
	for name, test := range tests {
		running.Go(func() { t.Run(name, test) })
	}
	running.Wait()
}

// newSick is an app of one pod that would wait at its gate for good, as the load balancer does not find it healthy.
func newSick(name string) *testbed.App {
	app := suite.NewApp(name)
	app.Replicas, app.PreStopSeconds = 1, 0
	app.Env = map[string]string{"HEALTH_STATUS": "503"}
	return app
}

// sickWords are AWS's of such a pod.
const sickWords = "Health checks failed with these codes: [503]"

// deploySick returns the app's pod when it waits at its gate.
func deploySick(t *testing.T, app *testbed.App) *corev1.Pod {
	t.Helper()
	bed.Deploy(t, app)
	pod := awaitPod(t, app)
	awaitGate(t, app, pod.Name, closed("Target.ResponseCodeMismatch", sickWords+" (since "))
	suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod))
	return pod
}

// awaitPod waits for the app's only pod to have an address.
func awaitPod(t *testing.T, app *testbed.App) (pod *corev1.Pod) {
	t.Helper()
	suite.Eventually(t, "a pod with an address", func() error {
		list := bed.Pods(t, app)
		if len(list) != 1 || list[0].Status.PodIP == "" {
			return fmt.Errorf("%d pods", len(list))
		}
		pod = &list[0]
		return nil
	})
	return pod
}

// detach takes the app's target group from its load balancer; attach gives it back.
func detach(t *testing.T, app *testbed.App) (attach func()) {
	t.Helper()
	aws := bed.AWS
	balancers, err := aws.ELB.Balancers("", nil, []string{app.Name})
	suite.Must(t, err)
	listeners, err := aws.ELB.Listeners(balancers[0].ARN)
	suite.Must(t, err)
	suite.Must(t, aws.ELB.DeleteListener(listeners[0].ARN))
	return func() {
		t.Helper()
		_, err := aws.ELB.CreateListener(listeners[0].ListenerSpec)
		suite.Must(t, err)
	}
}

// inject has calls for the app's target group fail.
func inject(fault wire.Fault, app *testbed.App) (heal func()) {
	fault.TargetGroup = app.TargetGroup
	return bed.AWS.Inject(fault)
}

// says is what a gate's condition says; the message is a part of it.
type says struct {
	status          corev1.ConditionStatus
	reason, message string
}

func open(reason, message string) says { return says{corev1.ConditionTrue, reason, message} }

func closed(reason, message string) says { return says{corev1.ConditionFalse, reason, message} }

// wantGate is an error when the pod's gate says something else now.
func wantGate(t *testing.T, pod *corev1.Pod, gate corev1.PodConditionType, want says) error {
	t.Helper()
	var now corev1.Pod
	if err := bed.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), &now); err != nil {
		return err
	}
	c := readiness.Condition(&now, gate)
	if c == nil || c.Status != want.status || c.Reason != want.reason || !strings.Contains(c.Message, want.message) {
		return fmt.Errorf("the gate of pod %s says %+v, want %+v", pod.Name, c, want)
	}
	return nil
}

func awaitGate(t *testing.T, app *testbed.App, name string, want says) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: app.Name, Name: name}}
	suite.Eventually(t, "the gate to say why", func() error { return wantGate(t, pod, app.Gate(), want) })
}

// awaitOpened waits until the gate is open for another reason than health, its event tells why, and the pod is Ready.
func awaitOpened(t *testing.T, app *testbed.App, name, reason, message string) {
	t.Helper()
	awaitGate(t, app, name, open(reason, message))
	awaitNote(t, app, name, fmt.Sprintf("Readiness gate %s is open: %s", app.Gate(), message))
}

// awaitHealthyGate waits until the gate is open because the target is healthy, its event tells so, and the pod is Ready.
func awaitHealthyGate(t *testing.T, app *testbed.App, name string) {
	t.Helper()
	awaitGate(t, app, name, open("", ""))
	awaitNote(t, app, name, fmt.Sprintf(":8080 is healthy: readiness gate %s is open", app.Gate()))
}

// awaitNote waits for the event that tells of an open gate, and for the pod to be Ready.
func awaitNote(t *testing.T, app *testbed.App, name, note string) {
	t.Helper()
	suite.Eventually(t, "the event, and the pod to be Ready", func() error {
		var pod corev1.Pod
		suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKey{Namespace: app.Name, Name: name}, &pod))
		if !testbed.IsReady(&pod) {
			return errors.New("the pod is not Ready")
		}
		return wantNote(t, app, name, corev1.EventTypeNormal, "ReadinessGateOpened", note)
	})
}

// wantNote is WantEvent for an event whose note contains this.
func wantNote(t *testing.T, app *testbed.App, object, kind, reason, note string) error {
	t.Helper()
	var list eventsv1.EventList
	suite.Must(t, bed.Client.List(t.Context(), &list, client.InNamespace(app.Name)))
	var notes []string
	for _, event := range list.Items {
		if event.Regarding.Name == object && event.Type == kind && event.Reason == reason {
			notes = append(notes, event.Note)
			if strings.Contains(event.Note, note) {
				return nil
			}
		}
	}
	return fmt.Errorf("no %s event %s about %s says %q, only %q", kind, reason, object, note, notes)
}

// wantNoBinding is an error while the app's binding is there.
func wantNoBinding(t *testing.T, app *testbed.App) error {
	t.Helper()
	err := bed.Client.Get(t.Context(), app.Key(), &v1beta1.TargetGroupBinding{})
	if err == nil {
		return errors.New("it is there")
	}
	return client.IgnoreNotFound(err)
}
