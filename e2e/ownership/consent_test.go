// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package ownership

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/consent"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

func TestConsentIsNotAskedForByDefault(t *testing.T) {
	begun := time.Now()
	app := suite.NewApp("consent-off")
	app.Replicas = 1
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	reads := 0 // admission looks once whether the tags name another cluster
	for _, call := range bed.AWS.Calls(0) {
		if call.Operation == "DescribeTags" && call.Received.After(begun) {
			reads++
		}
	}
	if reads > 1 {
		t.Errorf("tags are read %d times, want once, at admission", reads)
	}
}

func TestConsentIsOnlyWarnedOf(t *testing.T) {
	bed.WithFlags(t, "--target-group-consent=warn")
	app := suite.NewApp("consent-warn")
	app.Replicas = 1
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	suite.Eventually(t, "the status to say that nobody has consented", func() error {
		return errors.Join(bed.WantDegraded(t, app, v1beta1.ReasonConsentMissing), bed.WantReason(t, app, v1beta1.ReasonReconciled),
			wantMessage(t, app, "targetgate.dev/bind=e2e/consent-warn/consent-warn"))
	})
}

// A binding without consent is refused with the tag to set; with the tag it is let in. Withdrawn consent lets nothing new in, and
// takes nothing away.
func TestConsentIsRequired(t *testing.T) {
	bed.WithFlags(t, "--target-group-consent=require", "--drift-interval=10s")
	app := suite.NewApp("consent")
	app.Balancer = func(s *emulator.Service) { s.Tags = map[string]string{consent.TagKey: "test/consent +/consent"} }
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)

	other, _, err := bed.AWS.CreateService("consent-other", emulator.Service{})
	suite.Must(t, err)
	binding := app.Binding()
	binding.Name, binding.Spec.TargetGroupARN = "other", other
	err = bed.Client.Create(t.Context(), binding, client.DryRunAll)
	suite.Must(t, suite.WantFaults(err, []string{"spec.targetGroupARN"}))
	if !strings.Contains(err.Error(), "targetgate.dev/bind=e2e/consent/other") {
		t.Errorf("the refusal does not name the tag: %v", err)
	}
	suite.Must(t, bed.AWS.ELB.AddTags(other, map[string]string{consent.TagKey: "e2e/consent/other"}))
	suite.Eventually(t, "the binding to be let in", func() error {
		binding := app.Binding()
		binding.Name, binding.Spec.TargetGroupARN = "other", other
		return bed.Client.Create(t.Context(), binding, client.DryRunAll)
	})

	served := suite.KeysOf(bed.Pods(t, app), 8080)
	withdrawn := time.Now()
	suite.Must(t, bed.AWS.ELB.RemoveTags(app.TargetGroup, consent.TagKey))
	suite.Eventually(t, "the status to name the tag", func() error {
		return errors.Join(bed.WantDegraded(t, app, v1beta1.ReasonConsentMissing), bed.WantReason(t, app, v1beta1.ReasonConsentMissing),
			wantMessage(t, app, "targetgate.dev/bind=e2e/consent/consent"),
			bed.WantEvent(t, app, app.Name, corev1.EventTypeWarning, v1beta1.ReasonConsentMissing))
	})
	suite.Must(t, bed.Scale(t.Context(), app, 4))
	awaitRefusedPod(t, app, "targetgate.dev/bind=e2e/consent/consent")
	suite.Must(t, bed.WantTargets(app, served...))
	calls := append(bed.CallsSince(app, "RegisterTargets", withdrawn), bed.CallsSince(app, "DeregisterTargets", withdrawn)...)
	if len(calls) > 0 {
		t.Errorf("calls without consent: %+v", calls)
	}
	suite.Must(t, bed.AWS.ELB.AddTags(app.TargetGroup, map[string]string{consent.TagKey: "e2e/consent/consent"}))
	bed.AwaitRolled(t, app)
	bed.AwaitConverged(t, app)
}

// A role that the list does not allow is not used, at admission and later, and the list is read again.
func TestRoleAllowlistIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "roles.yaml")
	write := func(list string) { suite.Must(t, os.WriteFile(path, []byte(list), 0o600)) }
	write("roles: ['arn:aws:iam::210987654321:role/sh*']")
	bed.WithFlags(t, "--role-allowlist="+path)
	app := suite.NewApp("roles")
	app.Replicas = 1
	app.Balancer = func(s *emulator.Service) { s.Account = otherAccount }
	app.Change = func(b *v1beta1.TargetGroupBinding) {
		b.Spec.IamRoleArnToAssume, b.Spec.AssumeRoleExternalId = otherRole, externalID
	}
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)

	write("till: ['*']") // wrong: the list before it holds
	write("till: ['" + otherRole + "']")
	suite.Eventually(t, "the status to name the role", func() error {
		return errors.Join(bed.WantDegraded(t, app, v1beta1.ReasonRoleNotAllowed), wantMessage(t, app, otherRole))
	})
	binding := app.Binding()
	binding.Name = "other"
	suite.Must(t, suite.WantFaults(bed.Client.Create(t.Context(), binding, client.DryRunAll), []string{"spec.iamRoleArnToAssume"}))
	forbidden := time.Now()
	suite.Must(t, bed.Scale(t.Context(), app, 2))
	awaitRefusedPod(t, app, otherRole)
	for _, call := range bed.AWS.Calls(0) {
		if call.Received.After(forbidden) && strings.Contains(call.Principal, "role/shared") {
			t.Errorf("%s was called as %s", call.Operation, call.Principal)
		}
	}
	write("roles: ['" + otherRole + "']")
	bed.AwaitRolled(t, app)
	bed.AwaitConverged(t, app)
}

// wantMessage is an error when the binding's condition Degraded does not say that.
func wantMessage(t *testing.T, app *testbed.App, want string) error {
	t.Helper()
	for _, c := range bed.GetBinding(t, app).Status.Conditions {
		if c.Type == v1beta1.ConditionDegraded && strings.Contains(c.Message, want) {
			return nil
		}
	}
	return fmt.Errorf("no condition says %q", want)
}

// awaitRefusedPod waits until the gate of a pod says why its target is not registered.
func awaitRefusedPod(t *testing.T, app *testbed.App, why string) {
	t.Helper()
	suite.Eventually(t, "a pod to say why it waits", func() error {
		for _, pod := range bed.Pods(t, app) {
			c := readiness.Condition(&pod, app.Gate())
			if c != nil && c.Reason == readiness.ReasonRegistrationFailed && strings.Contains(c.Message, why) {
				return nil
			}
		}
		return errors.New("none does")
	})
}
