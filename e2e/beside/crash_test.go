// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package beside

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Either is killed, once, while each of four bindings is in another state: labelled and not taken, taken and not worked on, in the
// middle of a rollout, and half given back.
func TestKillInAnyStateLosesNothing(t *testing.T) {
	t.Run("of targetgate", func(t *testing.T) {
		testKill(t, "kill-", bed.Targetgate.Kill, func() { suite.Must(t, bed.Targetgate.Restart(t.Context())) })
	})
	t.Run("of the incumbent", func(t *testing.T) {
		testKill(t, "kill-theirs-", func() { killIncumbent(t) }, func() { theIncumbent(t) })
	})
}

func testKill(t *testing.T, name string, kill, restart func()) {
	t.Helper()
	taking, taken, rolling, leaving := newApp(name+"taking"), newApp(name+"taken"), newApp(name+"rolling"), newApp(name+"leaving")
	apps := []*testbed.App{taking, taken, rolling, leaving}
	for _, app := range apps {
		app.PreStopSeconds = suite.LongSleep
	}
	deployOurs(t, rolling, leaving)
	deployTheirs(t, taking, taken)
	begun, before := time.Now(), map[*testbed.App]part{}
	var stops []func()
	for _, app := range apps {
		before[app] = partOf(bed.GetBinding(t, app))
		stops = append(stops, bed.UnderLoadOf(t, app, 30))
	}

	unblock := blockGiveBack(t, leaving)
	label(t, taken, true)
	suite.Eventually(t, "the binding to be taken", func() error { return wantFinalizer(t, taken, v1beta1.BesideFinalizer) })
	label(t, taking, true)
	old := suite.UIDs(bed.Pods(t, rolling))
	suite.Must(t, bed.Roll(t.Context(), rolling, "2", nil))
	suite.Eventually(t, "a pod to leave", func() error {
		if len(bed.NewPods(t, rolling, old)) < 2 {
			return errors.New("the rollout has only begun")
		}
		return nil
	})
	label(t, leaving, false)
	suite.Eventually(t, "the status to be cleared", func() error {
		if n := len(bed.GetBinding(t, leaving).Status.Conditions); n > 0 {
			return fmt.Errorf("it has %d conditions", n)
		}
		return nil
	})
	kill()
	for app, finalizer := range map[*testbed.App]string{
		taking: v1beta1.Finalizer, taken: v1beta1.BesideFinalizer, rolling: v1beta1.BesideFinalizer, leaving: v1beta1.BesideFinalizer,
	} {
		suite.Must(t, wantFinalizer(t, app, finalizer)) // or this tests something else
	}
	unblock()
	restart()

	for _, app := range []*testbed.App{taking, taken, rolling} {
		bed.AwaitRolled(t, app)
		awaitOurs(t, app)
	}
	awaitTheirs(t, leaving)
	for _, stop := range stops {
		stop()
	}
	for _, app := range apps {
		assertOnlyComersAndLeavers(t, app, begun)
		assertSame(t, app, before[app])
	}
}

// blockGiveBack has the API server refuse the second of the two writes by which targetgate gives the app's binding back.
func blockGiveBack(t *testing.T, app *testbed.App) (unblock func()) {
	t.Helper()
	meta, fail := metav1.ObjectMeta{Name: "block-" + app.Name}, admissionregistrationv1.Fail
	objects := []client.Object{
		&admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: meta, Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &fail,
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: app.Name}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
					Rule: admissionregistrationv1.Rule{
						APIGroups: []string{"elbv2.k8s.aws"}, APIVersions: []string{"*"}, Resources: []string{"targetgroupbindings"},
					},
				}}},
			},
			Validations: []admissionregistrationv1.Validation{{Expression: "!('elbv2.k8s.aws/resources' in object.metadata.finalizers)"}},
		}},
		&admissionregistrationv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: meta,
			Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: meta.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			},
		},
	}
	for _, object := range objects {
		suite.Must(t, bed.Client.Create(t.Context(), object))
	}
	suite.Eventually(t, "the API server to know it", func() error {
		binding := bed.GetBinding(t, app)
		binding.Finalizers = append(binding.Finalizers, v1beta1.Finalizer)
		if err := bed.Client.Update(t.Context(), binding, client.DryRunAll); !apierrors.IsInvalid(err) {
			return fmt.Errorf("trying it: got %w, want a refusal", err)
		}
		return nil
	})
	return func() {
		for _, object := range objects {
			suite.Must(t, bed.Client.Delete(t.Context(), object))
		}
	}
}

func wantFinalizer(t *testing.T, app *testbed.App, want string) error {
	t.Helper()
	if got := bed.GetBinding(t, app).Finalizers; !slices.Equal(got, []string{want}) {
		return fmt.Errorf("finalizers of %s are %v, want %s", app.Name, got, want)
	}
	return nil
}
