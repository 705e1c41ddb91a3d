// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package admission

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator"
	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Each of the three that may refuse a binding tells all that it finds, with paths, in one answer.
func TestAllFaultsOfABindingAreToldAtOnce(t *testing.T) {
	app := suite.NewApp("faulty")
	app.Replicas = 0
	bed.Deploy(t, app)
	const noGroup = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/none/0123456789abcdef"
	tests := map[string]struct {
		change func(*v1beta1.TargetGroupBindingSpec)
		want   []string // paths
	}{
		"by the CRD": {
			func(s *v1beta1.TargetGroupBindingSpec) {
				suite.Complete(s)
				s.NodeSelector, s.IamRoleArnToAssume, s.TargetGroupName = &metav1.LabelSelector{}, "role/shared", "another"
				s.Networking = &v1beta1.TargetGroupBindingNetworking{Ingress: []v1beta1.NetworkingIngressRule{{
					From: []v1beta1.NetworkingPeer{{}}, Ports: []v1beta1.NetworkingPort{},
				}}}
			},
			[]string{"spec.nodeSelector", "spec.iamRoleArnToAssume", "spec.targetGroupName", "spec.networking.ingress[0].from[0]"},
		},
		"by the mutating webhook": {
			func(s *v1beta1.TargetGroupBindingSpec) {
				s.TargetGroupARN, s.VpcID, s.AssumeRoleExternalId = noGroup, "vpc-1", "?"
			},
			[]string{"spec.targetGroupARN", "spec.vpcID", "spec.assumeRoleExternalId"},
		},
		"by the validating webhook": {
			func(s *v1beta1.TargetGroupBindingSpec) {
				s.VpcID, s.TargetGroupProtocol = "vpc-11111111", ptr.To[v1beta1.Protocol]("HTTPS")
				s.IPAddressType, s.AssumeRoleExternalId = ptr.To(v1beta1.IPAddressTypeIPv6), "?"
			},
			[]string{
				"spec.vpcID", "spec.targetGroupProtocol", "spec.ipAddressType", "spec.assumeRoleExternalId",
				"spec.targetGroupARN", // the app's own binding has it
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			binding := app.Binding()
			binding.Name = "second"
			tc.change(&binding.Spec)
			suite.Eventually(t, "all faults", func() error { // the cache may not show the first binding yet
				return suite.WantFaults(bed.Client.Create(t.Context(), binding.DeepCopy(), client.DryRunAll), tc.want)
			})
		})
	}
	t.Run("of an update", func(t *testing.T) {
		err := tryChange(t, app, func(b *v1beta1.TargetGroupBinding) {
			b.Spec.TargetGroupARN, b.Spec.VpcID, b.Spec.TargetType = noGroup, "vpc-11111111", ptr.To(v1beta1.TargetTypeInstance)
		})
		suite.Must(t, suite.WantFaults(err, []string{"spec.targetGroupARN", "spec.vpcID", "spec.targetType"}))
	})
}

// None of them is in the cache when the others are looked at.
func TestOneOfManyBindingsCreatedAtOnceGetsTheGroup(t *testing.T) {
	const many, rounds = 8, 5
	app := suite.NewApp("at-once")
	app.Replicas = 0
	bed.Deploy(t, app)
	for round := range rounds {
		arn, _, err := bed.AWS.CreateService(fmt.Sprintf("at-once-%d", round), emulator.Service{})
		suite.Must(t, err)
		answers := make([]error, many)
		var creations sync.WaitGroup
		for i := range many {
			creations.Go(func() {
				binding := app.Binding()
				binding.Name, binding.Spec.TargetGroupARN = fmt.Sprintf("round-%d-%d", round, i), arn
				answers[i] = bed.Client.Create(t.Context(), binding)
			})
		}
		creations.Wait()
		created := 0
		for _, err := range answers {
			if err == nil {
				created++
				continue
			}
			assertRefused(t, err, "has this target group")
		}
		if created != 1 {
			t.Errorf("%d of %d bindings of one group were created, want 1", created, many)
		}
	}
}

// As when two replicas let in one binding each at the same moment. The pods of the younger one do not wait for a health
// that nobody asks for, and it takes over when the older one goes.
func TestOlderOfTwoBindingsThatWereLetInHasTheGroup(t *testing.T) {
	letPastAdmission(t)
	older, younger := suite.NewApp("older"), suite.NewApp("younger")
	bed.Deploy(t, older)
	bed.AwaitRolled(t, older)
	bed.AwaitConverged(t, older)
	group := older.TargetGroup
	younger.Change = func(b *v1beta1.TargetGroupBinding) {
		b.Labels = map[string]string{pastAdmission: ""}
		b.Spec.TargetGroupARN = group
		suite.Complete(&b.Spec)
	}
	begun := time.Now()
	bed.Deploy(t, younger)
	younger.TargetGroup = group
	suite.Eventually(t, "the younger one to be told", func() error {
		c := apimeta.FindStatusCondition(bed.GetBinding(t, younger).Status.Conditions, v1beta1.ConditionReady)
		if c == nil || !strings.Contains(c.Message, "TargetGroupBinding older/older has this target group already") {
			return fmt.Errorf("condition %+v", c)
		}
		return nil
	})
	bed.AwaitRolled(t, younger)
	suite.Must(t, bed.WantReason(t, older, v1beta1.ReasonReconciled))
	suite.Must(t, bed.WantTargets(older, suite.KeysOf(bed.Pods(t, older), 8080)...))
	if n := len(bed.CallsSince(older, "RegisterTargets", begun)) + len(bed.CallsSince(older, "DeregisterTargets", begun)); n > 0 {
		t.Errorf("%d calls for a group that is another binding's", n)
	}
	suite.Must(t, bed.Client.Delete(t.Context(), bed.GetBinding(t, older)))
	bed.AwaitConverged(t, younger)
	suite.Eventually(t, "the younger one to have the group", func() error { return bed.WantReason(t, younger, v1beta1.ReasonReconciled) })
}

// Neither AWS's errors nor its silence stop what needs no answer, and what does is told before the API server gives up on
// us, in AWS's words if there are any.
func TestAWSTroubleStopsOnlyWhatNeedsAWS(t *testing.T) {
	app := suite.NewApp("awsdown")
	app.Replicas = 0
	bed.Deploy(t, app)
	unknown, _, err := bed.AWS.CreateService("awsdown-new", emulator.Service{})
	suite.Must(t, err)
	suite.Must(t, bed.Targetgate.Restart(t.Context())) // forgets what AWS has said
	tests := map[string]struct {
		fault wire.Fault
		want  string
	}{
		"errors":  {wire.Fault{Operation: "DescribeTargetGroups", Code: "InternalFailure", Message: "on fire", Status: 500}, "on fire"},
		"silence": {wire.Fault{Operation: "DescribeTargetGroups", Hang: time.Minute}, "context deadline exceeded"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			heal := bed.AWS.Inject(tc.fault)
			defer heal()
			begun := time.Now()
			suite.Change(t, bed, bed.GetBinding(t, app), func(b *v1beta1.TargetGroupBinding) { b.Spec.ServiceRef.Port.IntVal++ })
			if took := time.Since(begun); took > 3*time.Second {
				t.Errorf("an update that does not need AWS took %s", took)
			}
			binding := app.Binding()
			binding.Name, binding.Spec.TargetGroupARN = "second", unknown
			err := bed.Client.Create(t.Context(), binding, client.DryRunAll)
			if !apierrors.IsInternalError(err) {
				t.Errorf("creating a binding got %v, want an internal error", err)
			}
			assertRefused(t, err, "describing target group "+unknown)
			assertRefused(t, err, tc.want)
		})
	}
}

// tryChange tries, dry, to change the app's binding.
func tryChange(t *testing.T, app *testbed.App, edit func(*v1beta1.TargetGroupBinding)) error {
	t.Helper()
	binding := bed.GetBinding(t, app)
	patch := client.MergeFrom(binding.DeepCopy())
	edit(binding)
	return bed.Client.Patch(t.Context(), binding, patch, client.DryRunAll)
}
