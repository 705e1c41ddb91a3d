// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package ownership

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator"
	"github.com/targetgate/targetgate/e2e/kubelet"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// The other account, and its role that the test bed's AWS lets us assume.
const (
	otherAccount = "210987654321"
	otherRole    = "arn:aws:iam::210987654321:role/shared"
	externalID   = "handshake"
)

func TestGroupOfAnotherAccountIsServedThroughItsRole(t *testing.T) {
	app := suite.NewApp("account")
	app.Balancer = func(s *emulator.Service) { s.Account = otherAccount }
	app.Change = func(b *v1beta1.TargetGroupBinding) {
		b.Spec.IamRoleArnToAssume, b.Spec.AssumeRoleExternalId = otherRole, externalID
	}
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	stop := bed.UnderLoad(t, app)
	suite.Must(t, bed.Roll(t.Context(), app, "2", nil))
	bed.AwaitRolled(t, app)
	stop()
	bed.AwaitConverged(t, app)
	bed.AssertOnlyLeaversDeregistered(t, app)
	for _, call := range bed.AWS.Calls(0) {
		if call.TargetGroup == app.TargetGroup && !strings.Contains(call.Principal, "role/shared") {
			t.Errorf("%s was called as %s", call.Operation, call.Principal)
		}
	}
}

// Admission knows AWS's answer to the role that a binding is created with, but a role changes and its trust does, too.
func TestRoleThatCannotBeAssumedIsNamedAndDelaysNoOther(t *testing.T) {
	app, other := suite.NewApp("norole"), suite.NewApp("norole-other")
	app.Balancer = func(s *emulator.Service) { s.Account = otherAccount }
	app.Change = func(b *v1beta1.TargetGroupBinding) {
		b.Spec.IamRoleArnToAssume, b.Spec.AssumeRoleExternalId = otherRole, externalID
	}
	app.Replicas = 0
	bed.Deploy(t, app)
	wrong := app.Binding()
	wrong.Name, wrong.Spec.AssumeRoleExternalId = "wrong", "wrong"
	suite.Must(t, suite.WantFaults(bed.Client.Create(t.Context(), wrong, client.DryRunAll), []string{"spec.iamRoleArnToAssume"}))
	suite.Change(t, bed, bed.GetBinding(t, app), func(b *v1beta1.TargetGroupBinding) { b.Spec.AssumeRoleExternalId = "wrong" })
	suite.Must(t, bed.Scale(t.Context(), app, 3))
	suite.Eventually(t, "the status to name the role", func() error {
		c := apimeta.FindStatusCondition(bed.GetBinding(t, app).Status.Conditions, v1beta1.ConditionReady)
		if c == nil || c.Reason != v1beta1.ReasonAccessDenied || !strings.Contains(c.Message, otherRole) {
			return fmt.Errorf("condition %+v", c)
		}
		return bed.WantEvent(t, app, app.Name, corev1.EventTypeWarning, "FailedReconcile")
	})
	suite.Eventually(t, "the pods to say why they wait", func() error {
		for _, pod := range bed.Pods(t, app) {
			if c := readiness.Condition(&pod, app.Gate()); c != nil && strings.Contains(c.Message, otherRole) {
				return nil
			}
		}
		return errors.New("none does")
	})
	bed.Deploy(t, other)
	bed.AwaitRolled(t, other)
	for _, pod := range bed.Pods(t, other) {
		ready, err := bed.MomentOf(pod.UID, kubelet.ContainersReady)
		suite.Must(t, err)
		call, err := bed.CallFor(other, "RegisterTargets", pod.Status.PodIP, time.Time{})
		suite.Must(t, err)
		if took := call.Received.Sub(ready); took > 5*time.Second {
			t.Errorf("%s was registered %s after its containers were ready", pod.Name, took)
		}
	}
	suite.Change(t, bed, bed.GetBinding(t, app), func(b *v1beta1.TargetGroupBinding) { b.Spec.AssumeRoleExternalId = externalID })
	bed.AwaitRolled(t, app)
	bed.AwaitConverged(t, app)
	bed.AssertFewEvents(t, app)
}

// AWS wants to be told the zone of an address that is in none of its subnets, and of no other.
func TestPodsOutsideTheGroupsVPCAreRegisteredWithAZone(t *testing.T) {
	tests := map[string]struct {
		attributes map[string]string
		want       string
	}{
		"across zones":   {want: "all"},
		"zones separate": {map[string]string{"load_balancing.cross_zone.enabled": "false"}, "eu-west-1b"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			registerOutside(t, suite.NewApp("vpc-"+strings.ReplaceAll(name, " ", "-")), tc.attributes, tc.want)
		})
	}
}

func registerOutside(t *testing.T, app *testbed.App, attributes map[string]string, wantZone string) {
	app.Replicas, app.Gated = 0, false
	app.Service = func(s *corev1.Service) { s.Spec.Selector = nil }
	app.Balancer = func(s *emulator.Service) { s.Attributes = attributes }
	bed.Deploy(t, app)
	addresses := []string{"192.168.7.1", "192.168.7.2", "172.20.0.1", "10.62.9.1", "192.168.7.3"}
	list := bed.PretendPods(t, app, len(addresses), func(i int) string { return addresses[i] })
	begun := time.Now()
	endpoints := suite.SliceEndpoints(list)
	for i := range endpoints {
		endpoints[i].Zone = ptr.To("eu-west-1b") // the pod's node's, as in slices that nobody writes by hand
	}
	bed.WriteSlice(t, app, "by-hand", endpoints...)
	bed.AwaitTargets(t, app, suite.KeysOf(list, 8080)...)
	lines, err := bed.AWS.ELB.Describe(app.TargetGroup, nil)
	suite.Must(t, err)
	for _, line := range lines {
		want := wantZone
		if strings.HasPrefix(line.ID, "10.") {
			want = "eu-west-1a" // its subnet's
		}
		if line.Zone != want {
			t.Errorf("%s was registered in zone %q, want %q", line.ID, line.Zone, want)
		}
	}
	if n := len(bed.CallsSince(app, "RegisterTargets", begun)); n > 6 {
		t.Errorf("%d calls, want one for each thing to learn", n)
	}
	for i := range list {
		suite.Must(t, bed.Client.Delete(t.Context(), &list[i], client.GracePeriodSeconds(0)))
	}
	bed.WriteSlice(t, app, "by-hand")
	bed.AwaitTargets(t, app)
}
