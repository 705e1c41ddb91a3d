// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package gates

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator"
	"github.com/targetgate/targetgate/e2e/emulator/region"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/kubelet"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

func TestGateWaitsForItsOwnTarget(t *testing.T) {
	sideBySide(t, map[string]func(*testing.T){
		"pod of the same name at another address": func(t *testing.T) { recreateSick(t, newSet("set-moves", "")) },
		"pod of the same name and address":        func(t *testing.T) { recreateSick(t, newSet("set-stays", "node-1")) },
		"and AWS shows the old health for a while": func(t *testing.T) {
			recreateSick(t, newSet("set-lags", "node-2"), func(app *testbed.App) {
				const lag = 30 * time.Second // 3 s here: the first readings after the registration are of the past
				suite.Must(t, bed.AWS.ELB.SetVisible(app.TargetGroup, region.Range{Min: lag, Max: lag}))
			})
		},
		"and the old target cannot be deregistered": func(t *testing.T) {
			recreateSick(t, newSet("set-sticks", "node-3"), func(app *testbed.App) {
				inject(wire.Fault{Operation: "DeregisterTargets", Code: "InternalFailure", For: 5 * time.Second}, app)
			})
		},
		"two bindings":             gateForEachBinding,
		"zone is not enabled":      gateWaitsForZone,
		"binding is created again": gateWaitsForNewBinding,
	})
}

// newSet is an app for a StatefulSet, on that node if it is given.
func newSet(name, node string) *testbed.App {
	app := suite.NewApp(name)
	app.Replicas, app.PreStopSeconds, app.Node = 0, 0, node
	return app
}

// recreateSick has a StatefulSet's healthy pod vanish, so that nobody deregisters it before, and come back as one that the load
// balancer does not find healthy: were its gate ever opened, it would stay open. Before the pod vanishes trouble is made.
func recreateSick(t *testing.T, app *testbed.App, trouble ...func(*testbed.App)) {
	t.Helper()
	bed.Deploy(t, app)
	template := app.Pod("")
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: app.Name, Name: "web"}, Spec: appsv1.StatefulSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, ServiceName: app.Name,
		UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
		Template:       corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: template.Labels}, Spec: template.Spec},
	}}
	bed.Create(t, set)
	first := awaitPod(t, app)
	awaitHealthyGate(t, app, first.Name)
	suite.Change(t, bed, set, func(s *appsv1.StatefulSet) {
		container := &s.Spec.Template.Spec.Containers[0]
		container.Env = append(container.Env, corev1.EnvVar{Name: "HEALTH_STATUS", Value: "503"})
	})
	if app.Node != "" {
		suite.Must(t, bed.Kubelet.ForceAddress(client.ObjectKeyFromObject(first), first.Status.PodIP))
	}
	for _, begin := range trouble {
		begin(app)
	}
	vanished := time.Now()
	bed.DeletePod(t, first, client.GracePeriodSeconds(0))

	var second *corev1.Pod
	suite.Eventually(t, "the pod to come back", func() error {
		if second = awaitPod(t, app); second.UID == first.UID {
			return errors.New("it is the first one")
		}
		return nil
	})
	if same := second.Status.PodIP == first.Status.PodIP; same != (app.Node != "") {
		t.Fatalf("the pod came back at %s, and was at %s", second.Status.PodIP, first.Status.PodIP)
	}
	awaitGate(t, app, second.Name, closed("Target.ResponseCodeMismatch", sickWords+" (since "))
	handle, _ := bed.Kubelet.App(app.Name, second.Name)
	handle.SetHealth(http.StatusOK)
	awaitHealthyGate(t, app, second.Name)
	_, err := bed.CallFor(app, "RegisterTargets", second.Status.PodIP, vanished)
	suite.Must(t, err)
	bed.AwaitTargets(t, app, suite.TargetOf(second.Status.PodIP))
}

// A pod is Ready when each of its bindings' load balancers has found it healthy.
func gateForEachBinding(t *testing.T) {
	app := suite.NewApp("two-bindings")
	app.Replicas, app.PreStopSeconds = 0, 0
	app.Env = map[string]string{"STATUS": "503"} // of all paths but /healthz
	bed.Deploy(t, app)
	second := *app
	second.Name = "second-binding"
	var err error
	check := state.HealthCheck{Interval: 10, Path: "/other"}
	second.TargetGroup, _, err = bed.AWS.CreateService(second.Name, emulator.Service{HealthCheck: check})
	suite.Must(t, err)
	binding := second.Binding()
	binding.Namespace, binding.Spec.ServiceRef.Name = app.Name, app.Name
	suite.Must(t, bed.Client.Create(t.Context(), binding))
	suite.Eventually(t, "both gates to be injected", func() error { return bed.WantInjected(t, app, app.Gate(), second.Gate()) })

	suite.Must(t, bed.Scale(t.Context(), app, 1))
	pod := awaitPod(t, app)
	awaitGate(t, app, pod.Name, open("", ""))
	suite.Eventually(t, "the second gate to say why it is closed", func() error {
		return wantGate(t, pod, second.Gate(), closed("Target.ResponseCodeMismatch", sickWords+" (since "))
	})
	suite.Throughout(t, 2*time.Second, "one gate of two let the pod through", func() error {
		if testbed.IsReady(&bed.Pods(t, app)[0]) {
			return errors.New("it is Ready")
		}
		return nil
	})
	handle, _ := bed.Kubelet.App(app.Name, pod.Name)
	handle.SetStatus(http.StatusOK)
	awaitHealthyGate(t, app, pod.Name)
	suite.Must(t, wantGate(t, pod, second.Gate(), open("", "")))
	awaitNote(t, app, pod.Name, fmt.Sprintf(":8080 is healthy: readiness gate %s is open", second.Gate()))
}

// All pods of the test bed are in zone a.
func gateWaitsForZone(t *testing.T) {
	const words = "Target is in an Availability Zone that is not enabled for the load balancer"
	app := suite.NewApp("zone")
	app.Replicas, app.PreStopSeconds = 1, 0
	app.Balancer = func(s *emulator.Service) { s.Zones = []string{"eu-west-1b", "eu-west-1c"} }
	bed.Deploy(t, app)
	pod := awaitPod(t, app)
	awaitGate(t, app, pod.Name, closed("Target.NotInUse", words+" (since "))
	suite.Eventually(t, "the event", func() error {
		return wantNote(t, app, pod.Name, corev1.EventTypeWarning, "ReadinessGateWaiting", "Target.NotInUse: "+words)
	})
	suite.Must(t, wantGate(t, pod, app.Gate(), closed("Target.NotInUse", words)))
	balancers, err := bed.AWS.ELB.Balancers("", nil, []string{app.Name})
	suite.Must(t, err)
	suite.Must(t, bed.AWS.ELB.SetSubnets(balancers[0].ARN, []string{"subnet-0a000000000000001", "subnet-0b000000000000002"}))
	awaitHealthyGate(t, app, pod.Name)
}

// The gates of the binding that goes are opened; those of its successor wait for their own health, and the targets that went
// with the first one come back, although AWS shows for a while that they had never gone. The Deployment is paused meanwhile, or
// all of its pods would come while there is no binding.
func gateWaitsForNewBinding(t *testing.T) {
	app := suite.NewApp("bound-again")
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	old := suite.UIDs(bed.Pods(t, app))
	suite.Must(t, bed.Roll(t.Context(), app, "2", map[string]string{"HEALTH_STATUS": "503"}))
	pause := func(paused bool) {
		suite.Change(t, bed, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: app.Name, Name: app.Name}}, func(d *appsv1.Deployment) {
			d.Spec.Paused = paused
		})
	}
	waiting := awaitNewGate(t, app, old, closed("Target.ResponseCodeMismatch", sickWords))
	pause(true)
	const lag = 20 * time.Second // 2 s here
	suite.Must(t, bed.AWS.ELB.SetVisible(app.TargetGroup, region.Range{Min: lag, Max: lag}))
	bed.DeleteBinding(t, app)
	bed.Create(t, app.Binding())
	awaitOpened(t, app, waiting.Name, "TargetGroupBindingDeleted", "Target Group Binding is deleted")
	suite.Eventually(t, "gates to be injected again", func() error { return bed.WantInjected(t, app, app.Gate()) })
	suite.Eventually(t, "the targets to come back", func() error { return bed.WantTargets(app, suite.KeysOf(bed.Pods(t, app), 8080)...) })

	known := suite.UIDs(bed.Pods(t, app))
	pause(false)
	awaitNewGate(t, app, known, closed("Target.ResponseCodeMismatch", sickWords))
	suite.Eventually(t, "the rollout to proceed when its pods are healthy", func() error {
		for _, pod := range bed.NewPods(t, app, old) {
			if handle, ok := bed.Kubelet.App(app.Name, pod.Name); ok {
				handle.SetHealth(http.StatusOK)
			}
		}
		return bed.Bed.AwaitRolled(t.Context(), app, 200*time.Millisecond)
	})
	bed.AwaitConverged(t, app)
	for _, pod := range bed.NewPods(t, app, known) {
		ready, err := bed.MomentOf(pod.UID, kubelet.Ready)
		suite.Must(t, err)
		if healthy, err := bed.Turned(app, pod.Status.PodIP, "healthy"); err != nil || ready.Before(healthy) {
			t.Errorf("pod %s was Ready at %s, its target healthy at %s (%v)", pod.Name, ready, healthy, err)
		}
	}
	suite.Must(t, bed.WantReason(t, app, v1beta1.ReasonReconciled))
}

// awaitNewGate waits until the gate of a pod that is not in old says that, and returns the pod.
func awaitNewGate(t *testing.T, app *testbed.App, old map[types.UID]string, want says) (found corev1.Pod) {
	t.Helper()
	suite.Eventually(t, "a new pod's gate to say why", func() error {
		err := errors.New("there is none")
		for _, found = range bed.NewPods(t, app, old) {
			if err = wantGate(t, &found, app.Gate(), want); err == nil {
				return nil
			}
		}
		return err
	})
	return found
}
