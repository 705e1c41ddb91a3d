// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"errors"
	"fmt"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// BarePod is a pod with one container and nothing else, for dry runs.
func BarePod(namespace string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "probe", Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
	}
}

// AskWebhook makes the API server ask for an opinion on a binding of a group that does not exist. Any other error than the
// refusal is that of the call.
func (bed *Bed) AskWebhook(ctx context.Context) error {
	err := bed.Client.Create(ctx, &v1beta1.TargetGroupBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "certs"},
		Spec: v1beta1.TargetGroupBindingSpec{
			TargetGroupName: "no-such-group", ServiceRef: v1beta1.ServiceReference{Name: "certs", Port: intstr.FromInt32(80)},
		},
	}, client.DryRunAll)
	if apierrors.IsForbidden(err) {
		return nil
	}
	return fmt.Errorf("creating a binding of a group that does not exist: got %w, want a refusal", err)
}

// ReadWebhooks reads both webhook configurations of targetgate.
func (bed *Bed) ReadWebhooks(ctx context.Context) (
	*admissionregistrationv1.MutatingWebhookConfiguration, *admissionregistrationv1.ValidatingWebhookConfiguration, error,
) {
	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	key := client.ObjectKey{Name: "targetgate-webhook"}
	err := errors.Join(bed.Client.Get(ctx, key, &mutating), bed.Client.Get(ctx, key, &validating))
	return &mutating, &validating, err
}

// WantInjected is an error when a pod of the app would not get these gates now.
func (bed *Bed) WantInjected(t *testing.T, app *testbed.App, gates ...corev1.PodConditionType) error {
	t.Helper()
	probe := app.Pod("probe")
	if err := bed.Client.Create(t.Context(), probe, client.DryRunAll); err != nil {
		return err
	}
	for _, gate := range gates {
		if !readiness.Has(probe, gate) {
			return fmt.Errorf("gates %v, want %s", probe.Spec.ReadinessGates, gate)
		}
	}
	return nil
}

// GateOf is the status of the gate's condition, empty when the pod has none.
func GateOf(pod *corev1.Pod, app *testbed.App) corev1.ConditionStatus {
	if c := readiness.Condition(pod, app.Gate()); c != nil {
		return c.Status
	}
	return ""
}

// AwaitGated waits until pods of the app get its gate.
func (bed *Bed) AwaitGated(t *testing.T, app *testbed.App) {
	t.Helper()
	Eventually(t, "pods of "+app.Name+" to get a gate", func() error {
		pod := BarePod(app.Name, map[string]string{"app": app.Name})
		if err := bed.Client.Create(t.Context(), pod, client.DryRunAll); err != nil {
			return err
		}
		if len(pod.Spec.ReadinessGates) == 0 {
			return errors.New("none yet")
		}
		return nil
	})
}
