// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/fixture"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/scope"
)

// newWebhookConfiguration is one whose pod webhook has these selectors.
func newWebhookConfiguration(namespaces, pods *metav1.LabelSelector) *admissionregistrationv1.MutatingWebhookConfiguration {
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "hooks"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{
			{Name: "mtargetgroupbinding.elbv2.k8s.aws"}, {Name: readiness.PodWebhook, NamespaceSelector: namespaces, ObjectSelector: pods},
		},
	}
}

func with(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}

func TestScopeIsWhatTheWebhookSelects(t *testing.T) {
	byLabel := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: readiness.InjectLabel, Operator: metav1.LabelSelectorOpIn, Values: []string{readiness.InjectEnabled},
	}}}
	const inject = "elbv2.k8s.aws/pod-readiness-gate-inject in (enabled)"
	registered := map[string]string{"targetgate.dev/register": "enabled"}
	beside := byLabel.DeepCopy() // as the chart has it with beside.enabled
	beside.MatchExpressions = append(beside.MatchExpressions, metav1.LabelSelectorRequirement{
		Key: "targetgate.dev/register", Operator: metav1.LabelSelectorOpIn, Values: []string{"enabled"},
	})
	tests := map[string]struct {
		namespaces, pods *metav1.LabelSelector
		labels           map[string]string // of the namespace; the pod's is app=web
		namespace, pod   bool
		unmet            []string
		byLabel          bool // nothing is missing but the label by which namespaces ask for gates
	}{
		"the label":              {namespaces: byLabel, labels: map[string]string{readiness.InjectLabel: "enabled"}, namespace: true, pod: true},
		"not the label":          {namespaces: byLabel, pod: true, unmet: []string{inject}, byLabel: true},
		"beside, neither label":  {namespaces: beside, pod: true, unmet: []string{inject, "targetgate.dev/register in (enabled)"}},
		"beside, registered":     {namespaces: beside, labels: registered, pod: true, unmet: []string{inject}, byLabel: true},
		"another label":          {namespaces: with("team", "shop"), labels: map[string]string{"team": "shop"}, namespace: true, pod: true},
		"not that label":         {namespaces: with("team", "shop"), labels: map[string]string{readiness.InjectLabel: "enabled"}, pod: true, unmet: []string{"team=shop"}},
		"no selectors":           {namespace: true, pod: true},
		"pods with the label":    {pods: with("app", "web"), namespace: true, pod: true},
		"pods without the label": {pods: with("app", "db"), namespace: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			inBed(t, func(b *bed) {
				scope, err := scope.ReadScope(t.Context(), b.cluster, "hooks")
				b.must(err)
				namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Labels: tc.labels}}
				if got := scope.CoversNamespace(namespace); got != tc.namespace {
					t.Errorf("covers the namespace: %v, want %v", got, tc.namespace)
				}
				if got := scope.CoversPod(newPod("web-0", "10.0.0.1")); got != tc.pod {
					t.Errorf("covers the pod: %v, want %v", got, tc.pod)
				}
				if tc.namespace {
					return
				}
				unmet, byLabel := scope.Unmet(namespace)
				if diff := cmp.Diff(tc.unmet, unmet); diff != "" || byLabel != tc.byLabel {
					t.Errorf("by the label alone: %v, want %v; unmet (-want +got):\n%s", byLabel, tc.byLabel, diff)
				}
			}, newWebhookConfiguration(tc.namespaces, tc.pods))
		})
	}
}

func TestScopeThatCannotBeReadIsAnError(t *testing.T) {
	other := newWebhookConfiguration(nil, nil)
	other.Webhooks = other.Webhooks[:1]
	faulty := newWebhookConfiguration(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Operator: "x"}}}, nil)
	faulty.Name = "faulty"
	inBed(t, func(b *bed) {
		for _, name := range []string{"hooks", "faulty", "missing"} {
			if scope, err := scope.ReadScope(t.Context(), b.cluster, name); err == nil {
				t.Errorf("%s: %v, want an error", name, scope)
			}
		}
	}, other, faulty)
}

// With selectors other than the default ones the pods that admission has missed are told of all the same, and those that it
// leaves out are not.
func TestRegistrarTellsOfUngatedPodsByTheWebhooksSelectors(t *testing.T) {
	for name, tc := range map[string]struct {
		pods *metav1.LabelSelector
		want int
	}{"covered": {nil, 1}, "left out": {with("app", "db"), 0}} {
		t.Run(name, func(t *testing.T) {
			pod := newPod("web-0", "10.0.0.1")
			pod.Spec.ReadinessGates = nil
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"team": "shop"}}}
			inBed(t, func(b *bed) {
				b.scope.Configuration = "hooks"
				b.must(b.cluster.Create(t.Context(), newWebhookConfiguration(with("team", "shop"), tc.pods)))
				go b.scope.Follow(b.calls.Context)
				b.settle()
				b.after(plan.PollUnsettled)
				if told := b.told("PodWithoutReadinessGate"); told != tc.want {
					t.Errorf("told %d times, want %d", told, tc.want)
				}
				want := []string{fmt.Sprintf("targetgate_ungated_pods %d", tc.want)}
				if diff := cmp.Diff(want, fixture.Series(t, "targetgate_ungated_pods")); diff != "" {
					t.Errorf("series (-want +got):\n%s", diff)
				}
			}, pod, newSlice("web-1", pod), namespace)
		})
	}
}
