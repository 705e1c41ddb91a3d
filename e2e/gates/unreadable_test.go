// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package gates

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// One group's trouble is not another's, and what is not known is not healthy.
func TestGateOfUnreadableGroupWaits(t *testing.T) {
	cannotRead := wire.Fault{Operation: "DescribeTargetHealth", Code: "InternalFailure", Message: "oops"}
	sideBySide(t, map[string]func(*testing.T){
		"read before": func(t *testing.T) {
			app, other := suite.NewApp("unreadable"), suite.NewApp("readable")
			for _, a := range []*testbed.App{app, other} {
				a.Replicas = 0
				bed.Deploy(t, a)
				suite.Eventually(t, "the group to be read", func() error { return bed.WantReason(t, a, v1beta1.ReasonReconciled) })
			}
			heal := inject(cannotRead, app)
			defer heal()
			for _, a := range []*testbed.App{app, other} {
				suite.Must(t, bed.Scale(t.Context(), a, 1))
			}
			bed.AwaitRolled(t, other)
			pod := awaitPod(t, app)
			awaitGate(t, app, pod.Name, closed("Elb.RegistrationInProgress", "Target registration is in progress (since "))
			suite.Eventually(t, "the status to say why", func() error { return bed.WantReason(t, app, v1beta1.ReasonAWSError) })
			suite.Eventually(t, "the event", func() error {
				return wantNote(t, app, app.Name, corev1.EventTypeWarning, "FailedReconcile", "InternalFailure: oops")
			})
			suite.Throughout(t, 2*time.Second, "the gate changed", func() error {
				return wantGate(t, pod, app.Gate(), closed("Elb.RegistrationInProgress", ""))
			})
			heal()
			awaitHealthyGate(t, app, pod.Name)
		},
		"never read": func(t *testing.T) {
			app := suite.NewApp("never-read")
			app.Replicas = 1
			heal := func() {}
			app.Change = func(_ *v1beta1.TargetGroupBinding) { heal = inject(cannotRead, app) } // before there is a binding
			bed.Deploy(t, app)
			defer heal()
			pod := awaitPod(t, app)
			awaitGate(t, app, pod.Name, closed("RegistrationFailed", "InternalFailure: oops"))
			suite.Eventually(t, "the event", func() error {
				return wantNote(t, app, pod.Name, corev1.EventTypeWarning, "RegistrationFailed", "is not registered: InternalFailure: oops")
			})
			heal()
			awaitHealthyGate(t, app, pod.Name)
		},
		"partial answers": func(t *testing.T) {
			const longer = 12 * time.Second // than targetgate gives AWS to show what it has been told
			app := suite.NewApp("partial")
			app.Replicas = 1
			bed.Deploy(t, app)
			bed.AwaitRolled(t, app)
			old := bed.Pods(t, app)
			heal := inject(wire.Fault{Operation: "DescribeTargetHealth", Omit: 1}, app) // the last one that was registered
			defer heal()
			suite.Must(t, bed.Scale(t.Context(), app, 2))
			var pod corev1.Pod
			suite.Eventually(t, "the second pod to be registered", func() error {
				for _, pod = range bed.NewPods(t, app, suite.UIDs(old)) {
					return wantGate(t, &pod, app.Gate(), closed("Elb.RegistrationInProgress", "Target registration is in progress (since "))
				}
				return errors.New("it is not there")
			})
			suite.Throughout(t, longer, "a gate changed", func() error {
				return errors.Join(
					wantGate(t, &pod, app.Gate(), closed("Elb.RegistrationInProgress", "")), wantGate(t, &old[0], app.Gate(), open("", "")))
			})
			heal()
			awaitHealthyGate(t, app, pod.Name)
			bed.AssertOnlyLeaversDeregistered(t, app)
		},
	})
}
