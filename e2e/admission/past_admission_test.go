// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package admission

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// pastAdmission is a label on bindings that our webhooks are not asked about, see letPastAdmission.
const pastAdmission = "e2e/past-admission"

// Where our webhooks are not asked, the API server itself bounds what a binding may hold.
func TestBindingsAreBoundedByTheCRD(t *testing.T) {
	letPastAdmission(t)
	exists := metav1.LabelSelectorRequirement{Key: "a", Operator: metav1.LabelSelectorOpExists}
	tests := map[string]struct {
		change func(*v1beta1.TargetGroupBinding)
		want   string
	}{
		"as much as there may be": {func(b *v1beta1.TargetGroupBinding) {
			b.Name = strings.Repeat("a", v1beta1.MaxBindingName)
			b.Spec.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}, MatchExpressions: slices.Repeat(
				[]metav1.LabelSelectorRequirement{exists}, v1beta1.MaxNodeSelectorExpressions-1)}
		}, ""},
		"a long name": {func(b *v1beta1.TargetGroupBinding) {
			b.Name = strings.Repeat("a", v1beta1.MaxBindingName+1)
		}, "must have at most 63 characters"},
		"many expressions": {func(b *v1beta1.TargetGroupBinding) {
			b.Spec.NodeSelector = &metav1.LabelSelector{MatchExpressions: slices.Repeat(
				[]metav1.LabelSelectorRequirement{exists}, v1beta1.MaxNodeSelectorExpressions+1)}
		}, "takes at most 32 labels and expressions"},
		"a long name of a port": {func(b *v1beta1.TargetGroupBinding) {
			b.Spec.ServiceRef.Port = intstr.FromString(strings.Repeat("a", 254))
		}, "may not be more than 253 characters"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			binding := (&testbed.App{Name: "default"}).Binding()
			suite.Complete(&binding.Spec)
			binding.Spec.TargetType, binding.Spec.TargetGroupName = ptr.To(v1beta1.TargetTypeInstance), "no-such-group"
			binding.Labels = map[string]string{pastAdmission: ""}
			tc.change(binding)
			err := bed.Client.Create(t.Context(), binding, client.DryRunAll)
			if tc.want == "" {
				suite.Must(t, err)
				return
			}
			assertRefused(t, err, tc.want)
		})
	}
}

// The API server names the webhook that it cannot reach. What the CRD says holds without us, and metadata can be edited.
func TestBindingsAreRefusedWhileTargetgateIsDown(t *testing.T) {
	letPastAdmission(t)
	app, unasked := suite.NewApp("refusing"), suite.NewApp("unasked")
	unasked.Change = func(b *v1beta1.TargetGroupBinding) {
		b.Labels = map[string]string{pastAdmission: ""}
		suite.Complete(&b.Spec)
	}
	for _, app := range []*testbed.App{app, unasked} {
		app.Replicas = 0
		bed.Deploy(t, app)
	}
	second := app.Binding()
	second.Name = "second"
	bed.Targetgate.Kill()
	created := bed.Client.Create(t.Context(), second, client.DryRunAll)
	updated := tryChange(t, app, func(b *v1beta1.TargetGroupBinding) { b.Spec.ServiceRef.Name = "other" })
	labelled := tryChange(t, app, func(b *v1beta1.TargetGroupBinding) { b.Labels = map[string]string{"tier": "web"} })
	byCRD := tryChange(t, unasked, func(b *v1beta1.TargetGroupBinding) { b.Spec.VpcID = "vpc-11111111" })
	suite.Must(t, bed.Targetgate.Restart(t.Context()))

	assertRefused(t, created, `failed calling webhook "mtargetgroupbinding.elbv2.k8s.aws"`)
	assertRefused(t, updated, `failed calling webhook "mtargetgroupbinding.elbv2.k8s.aws"`)
	assertRefused(t, byCRD, "vpcID is immutable")
	if labelled != nil {
		t.Errorf("a change of metadata: %v", labelled)
	}
}

// letPastAdmission keeps our webhooks from bindings with the label pastAdmission until the end of the test.
func letPastAdmission(t *testing.T) {
	t.Helper()
	excluded := []metav1.LabelSelectorRequirement{{Key: pastAdmission, Operator: metav1.LabelSelectorOpDoesNotExist}}
	selectObjects(t, &metav1.LabelSelector{MatchExpressions: excluded})
	t.Cleanup(func() { selectObjects(t, nil) })
	suite.Eventually(t, "the API server to leave the webhooks out", func() error {
		probe := (&testbed.App{Name: "default"}).Binding()
		probe.Labels, probe.Spec.TargetGroupName = map[string]string{pastAdmission: ""}, "no-such-group"
		return bed.Client.Create(t.Context(), probe, client.DryRunAll)
	})
}

// selectObjects has our webhooks asked about the objects that the selector picks.
func selectObjects(t *testing.T, selector *metav1.LabelSelector) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // for cleanups
	var mutating admissionregistrationv1.MutatingWebhookConfigurationList
	var validating admissionregistrationv1.ValidatingWebhookConfigurationList
	suite.Must(t, errors.Join(bed.Client.List(ctx, &mutating), bed.Client.List(ctx, &validating)))
	for i := range mutating.Items {
		for j := range mutating.Items[i].Webhooks {
			mutating.Items[i].Webhooks[j].ObjectSelector = selector
		}
		suite.Must(t, bed.Client.Update(ctx, &mutating.Items[i]))
	}
	for i := range validating.Items {
		for j := range validating.Items[i].Webhooks {
			validating.Items[i].Webhooks[j].ObjectSelector = selector
		}
		suite.Must(t, bed.Client.Update(ctx, &validating.Items[i]))
	}
}
