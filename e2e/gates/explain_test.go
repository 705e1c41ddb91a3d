// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package gates

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/targetgate/targetgate/e2e/emulator"
	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/targets/explain"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

func TestExplainNamesTheCauseOfWhatIsBroken(t *testing.T) {
	ask := newAsker(t)
	sideBySide(t, map[string]func(*testing.T){
		"Service missing": func(t *testing.T) {
			app := newSick("explain-service")
			deploySick(t, app)
			suite.Must(t, bed.Client.Delete(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: app.Name, Name: app.Name}}))
			ask.awaitCause(t, app, "service", `Service "explain-service" does not exist`)
		},
		"port missing": func(t *testing.T) {
			app := newSick("explain-port")
			deploySick(t, app)
			bed.ChangeService(t, app, func(s *corev1.Service) { s.Spec.Ports[0].Port = 81 })
			ask.awaitCause(t, app, "service", `Service "explain-port" has no port "80"`)
		},
		"selector selects nothing": func(t *testing.T) {
			app := suite.NewApp("explain-selector")
			app.Service = func(s *corev1.Service) { s.Spec.Selector = map[string]string{"app": "none"} }
			bed.Deploy(t, app)
			ask.awaitCause(t, app, "slice", `selects no pod: its selector is app=none`)
		},
		"containers not ready": func(t *testing.T) {
			app := newSick("explain-crash")
			app.Env = map[string]string{"CRASH_AFTER": "100ms"}
			bed.Deploy(t, app)
			ask.awaitCause(t, app, "pod", "CrashLoopBackOff")
		},
		"namespace not labelled": func(t *testing.T) {
			app := suite.NewApp("explain-unlabelled")
			app.Replicas, app.Gated, app.PreStopSeconds = 1, false, 0
			bed.Deploy(t, app)
			bed.AwaitRolled(t, app)
			ask.awaitCause(t, app, "gate", "namespace explain-unlabelled does not ask for gates")
		},
		"created before the binding": func(t *testing.T) {
			app := suite.NewApp("explain-early")
			app.Replicas, app.PreStopSeconds = 1, 0
			app.Change = func(b *v1beta1.TargetGroupBinding) { b.Spec.ServiceRef.Name = "none" } // so none covers the pod
			bed.Deploy(t, app)
			bed.AwaitRolled(t, app)
			bed.DeleteBinding(t, app)
			app.Change = nil
			created := bed.Pods(t, app)[0].CreationTimestamp
			suite.Eventually(t, "a later second, as API servers do not tell parts of one", func() error {
				if now := metav1.Now().Rfc3339Copy(); !created.Before(&now) {
					return fmt.Errorf("the pod is of %s, and it is %s", created, now)
				}
				return nil
			})
			bed.Create(t, app.Binding())
			ask.awaitCause(t, app, "gate", "it was created before the TargetGroupBinding")
		},
		"AWS denies access": func(t *testing.T) {
			app := suite.NewApp("explain-denied")
			app.Replicas, app.PreStopSeconds = 0, 0
			bed.Deploy(t, app)
			inject(wire.Fault{Operation: "RegisterTargets", Code: "AccessDenied", Message: "not authorized to perform this"}, app)
			suite.Must(t, bed.Scale(t.Context(), app, 1))
			ask.awaitCause(t, app, "target group", "AccessDenied: AccessDenied: not authorized to perform this")
		},
		"target group not found": func(t *testing.T) {
			app := suite.NewApp("explain-gone")
			app.Replicas, app.PreStopSeconds = 0, 0
			bed.Deploy(t, app)
			inject(wire.Fault{Code: "TargetGroupNotFound", Message: "One or more target groups not found"}, app)
			suite.Must(t, bed.Scale(t.Context(), app, 1))
			ask.awaitCause(t, app, "target group", "TargetGroupNotFound: TargetGroupNotFound: One or more target groups not found")
		},
		"target unhealthy": func(t *testing.T) {
			app := newSick("explain-sick")
			pod := deploySick(t, app)
			ask.awaitCause(t, app, "health", sickWords)
			ask.awaitCause(t, app, "health", "unhealthy: Target.ResponseCodeMismatch: "+sickWords, "pod", pod.Name, "--aws")
		},
		"attached to no load balancer": func(t *testing.T) {
			app := newSick("explain-unattached")
			deploySick(t, app)
			defer detach(t, app)()
			ask.awaitCause(t, app, "target group", "explain-unattached is attached to no load balancer", "--aws")
			ask.awaitCause(t, app, "target group", "explain-unattached is attached to no load balancer")
		},
		"zone not enabled": func(t *testing.T) {
			app := suite.NewApp("explain-zone")
			app.Replicas, app.PreStopSeconds, app.Node = 1, 0, "node-1"
			app.Balancer = func(s *emulator.Service) { s.Zones = []string{"eu-west-1b", "eu-west-1c"} }
			bed.Deploy(t, app)
			ask.awaitCause(t, app, "health", "Target is in an Availability Zone that is not enabled for the load balancer")
		},
		"pod terminating": func(t *testing.T) {
			app := suite.NewApp("explain-leaving")
			app.Replicas, app.PreStopSeconds = 1, 600
			bed.Deploy(t, app)
			bed.AwaitRolled(t, app)
			pod := bed.Pods(t, app)[0]
			suite.Must(t, bed.Client.Delete(t.Context(), &pod))
			ask.await(t, app, explain.Waiting, "pod", "is terminating", "pod", pod.Name)
		},
		"nothing": func(t *testing.T) {
			app := suite.NewApp("explain-well")
			app.Replicas, app.PreStopSeconds = 2, 0
			bed.Deploy(t, app)
			bed.AwaitRolled(t, app)
			suite.Eventually(t, "everything to be ok", func() error { return ask.wantWell(t, app) })
			suite.Must(t, ask.wantWell(t, app, "--aws"))
			developer := newDeveloper(t, app)
			suite.Eventually(t, "a developer to hear the same", func() error { return developer.wantWell(t, app) })
		},
	})
}

func TestExplainSaysThatTargetgateDoesNotRun(t *testing.T) {
	app := suite.NewApp("explain-stopped")
	app.Replicas, app.PreStopSeconds = 1, 0
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	ask := newAsker(t)
	defer func() { suite.Must(t, bed.Targetgate.Restart(context.Background())) }()
	bed.Targetgate.Stop()
	ask.await(t, app, explain.Waiting, "targetgate", "has had no leader since") // and broken after half a minute
}
