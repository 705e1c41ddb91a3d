// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package admission

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

func TestGatesAreInjectedOnlyWhereLabelBindingAndSelectorMatch(t *testing.T) {
	labelled, plain := suite.NewApp("labelled"), suite.NewApp("unlabelled")
	plain.Gated = false
	for _, app := range []*testbed.App{labelled, plain} {
		app.Replicas = 0
		bed.Deploy(t, app)
	}
	second := *labelled
	second.Name = "labelled-second"
	bed.Deploy(t, &second) // a namespace of its own: its binding must not matter in the first

	tests := map[string]struct {
		namespace string
		labels    map[string]string
		want      []corev1.PodReadinessGate
	}{
		"label, binding and selector match": {
			namespace: labelled.Name, labels: map[string]string{"app": labelled.Name},
			want: []corev1.PodReadinessGate{{ConditionType: labelled.Gate()}},
		},
		"the selector does not match":     {namespace: labelled.Name, labels: map[string]string{"app": "other"}},
		"the namespace is not labelled":   {namespace: plain.Name, labels: map[string]string{"app": plain.Name}},
		"the binding is another's":        {namespace: second.Name, labels: map[string]string{"app": labelled.Name}},
		"a namespace without any of ours": {namespace: "default", labels: map[string]string{"app": labelled.Name}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			suite.Eventually(t, "the gates that are wanted", func() error {
				pod := suite.BarePod(tc.namespace, tc.labels)
				if err := bed.Client.Create(t.Context(), pod, client.DryRunAll); err != nil {
					return err
				}
				if fmt.Sprint(pod.Spec.ReadinessGates) != fmt.Sprint(tc.want) {
					return fmt.Errorf("gates %v, want %v", pod.Spec.ReadinessGates, tc.want)
				}
				return nil
			})
		})
	}
}

func TestBindingIsFilledInFromTargetGroup(t *testing.T) {
	app := suite.NewApp("filled")
	app.Replicas = 0
	bed.Deploy(t, app)
	spec := bed.GetBinding(t, app).Spec
	if !strings.HasPrefix(spec.VpcID, "vpc-") || *spec.TargetType != v1beta1.TargetTypeIP ||
		*spec.IPAddressType != v1beta1.IPAddressTypeIPv4 || *spec.TargetGroupProtocol != "HTTP" {
		t.Errorf("spec %+v, want VPC, target type, address type and protocol of the group", spec)
	}
}

// The mutating webhook answers before the CRD's rules, with its own words and codes (docs/reference/refusals.md).
func TestBadBindingsAreRefused(t *testing.T) {
	app := suite.NewApp("refused")
	app.Replicas = 0
	bed.Deploy(t, app)
	tests := map[string]struct {
		change func(*v1beta1.TargetGroupBindingSpec)
		want   string
	}{
		"ARN changed":            {func(s *v1beta1.TargetGroupBindingSpec) { s.TargetGroupARN += "0" }, "spec.targetGroupARN: Invalid value"},
		"address family changed": {func(s *v1beta1.TargetGroupBindingSpec) { s.IPAddressType = ptr.To(v1beta1.IPAddressTypeIPv6) }, "spec.ipAddressType: Invalid value"},
		"VPC changed":            {func(s *v1beta1.TargetGroupBindingSpec) { s.VpcID = "vpc-11111111" }, "spec.vpcID: Invalid value"},
		"VPC misspelt":           {func(s *v1beta1.TargetGroupBindingSpec) { s.VpcID = "vpc-1" }, "spec.vpcID"},
		"nodeSelector with ip":   {func(s *v1beta1.TargetGroupBindingSpec) { s.NodeSelector = &metav1.LabelSelector{} }, "spec.nodeSelector: Forbidden: is for targetType instance only"},
		"unknown protocol":       {func(s *v1beta1.TargetGroupBindingSpec) { s.TargetGroupProtocol = ptr.To[v1beta1.Protocol]("SCTP") }, "the target group has protocol"},
		"Service without a name": {func(s *v1beta1.TargetGroupBindingSpec) { s.ServiceRef.Name = "" }, "spec.serviceRef.name"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			assertRefused(t, tryChange(t, app, func(b *v1beta1.TargetGroupBinding) { tc.change(&b.Spec) }), tc.want)
		})
	}
	t.Run("group taken", func(t *testing.T) {
		suite.Eventually(t, "the webhook to know the first binding", func() error {
			second := &v1beta1.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "second"}}
			second.Spec.TargetGroupARN, second.Spec.ServiceRef = app.TargetGroup, bed.GetBinding(t, app).Spec.ServiceRef
			err := bed.Client.Create(t.Context(), second, client.DryRunAll)
			if err == nil || !strings.Contains(err.Error(), "TargetGroupBinding refused/refused has this target group already") {
				return fmt.Errorf("creating a second binding of the group: %w", err)
			}
			return nil
		})
	})
	t.Run("neither ARN nor name", func(t *testing.T) {
		binding := &v1beta1.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nameless"}}
		binding.Spec.ServiceRef = bed.GetBinding(t, app).Spec.ServiceRef
		assertRefused(t, bed.Client.Create(t.Context(), binding, client.DryRunAll), "spec.targetGroupARN: Required value: set targetGroupARN or targetGroupName")
	})
}

func assertRefused(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want a refusal that says %q", err, want)
	}
}

// Rule 11: with targetgate down pods are created all the same, without gates.
func TestPodsAreCreatedWhileTargetgateIsDown(t *testing.T) {
	app := suite.NewApp("down")
	app.Replicas = 0
	bed.Deploy(t, app)
	bed.Targetgate.Kill()
	start := time.Now()
	pod := suite.BarePod(app.Name, map[string]string{"app": app.Name})
	pod.Spec.AutomountServiceAccountToken = ptr.To(false)
	err := bed.Client.Create(t.Context(), pod)
	took := time.Since(start)
	suite.Must(t, bed.Targetgate.Restart(t.Context()))
	if err != nil {
		t.Fatalf("creating a pod while targetgate is down: %v", err)
	}
	if took > 4*time.Second || readiness.Has(pod, app.Gate()) {
		t.Errorf("took %s, gates %v; want less than the webhook's 3 s and no gate", took, pod.Spec.ReadinessGates)
	}
	suite.Eventually(t, "the pod without a gate to be counted", func() error {
		if s := bed.GetBinding(t, app).Status; s.Pods == nil || s.Pods.Ungated != 1 {
			return errors.New("it is not")
		}
		return nil
	})
}
