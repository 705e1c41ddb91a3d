// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/webhook/review"
	"github.com/targetgate/targetgate/webhook/webhooktest"
)

// usual are the flags' defaults on a new API server.
var usual = Termination{ALB: 30 * time.Second, NLB: 210 * time.Second, ServerVersion: "v1.36.3"}

// newHandler reviews pods by what the reader has, at the time of the clock.
func newHandler(reader client.Reader, clock clock.Clock) *handler {
	return &handler{limiter: review.NewLimiter(), mutator: &mutator{index: newBindingIndex(reader, clock), protector: newProtector(usual)}}
}

// reviewOf is what an API server posts about a new pod.
func reviewOf(pod string) string {
	return `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1","kind":{"group":"","version":"v1","kind":"Pod"},` +
		`"namespace":"shop","operation":"CREATE","userInfo":{},"object":` + pod + `,"oldObject":null,"dryRun":false}}`
}

func TestPodReview(t *testing.T) {
	web := webhooktest.NewService("web", map[string]string{"app": "web"})
	const plain = `{"metadata":{"labels":{"app":"web"}},"spec":{"newField":{"of":"next year"}}}`
	const gated = `{"metadata":{"labels":{"app":"web"}},"spec":{"newField":{"of":"next year"},` +
		`"readinessGates":[{"conditionType":"target-health.elbv2.k8s.aws/web"}]}}`
	tests := map[string]struct {
		objects      []client.Object
		pod          string
		want         string
		wantWarnings []string
	}{
		"covered pod gets the gate, unknown fields survive": {objects: []client.Object{web, webhooktest.NewBinding("web")}, pod: plain, want: gated},
		"twice equals once":        {objects: []client.Object{web, webhooktest.NewBinding("web")}, pod: gated, want: gated},
		"labels that do not match": {objects: []client.Object{web, webhooktest.NewBinding("web")}, pod: `{"metadata":{"labels":{"app":"api"}}}`, want: `{"metadata":{"labels":{"app":"api"}}}`},
		"null list of gates": {
			objects: []client.Object{web, webhooktest.NewBinding("web")},
			pod:     `{"metadata":{"labels":{"app":"web"}},"spec":{"readinessGates":null}}`,
			want:    `{"metadata":{"labels":{"app":"web"}},"spec":{"readinessGates":[{"conditionType":"target-health.elbv2.k8s.aws/web"}]}}`,
		},
		"other gates stay, legacy ones go": {
			objects: []client.Object{web, webhooktest.NewBinding("web")},
			pod: `{"metadata":{"labels":{"app":"web"}},"spec":{"readinessGates":[{"conditionType":"target-health.alb.ingress.k8s.aws/a"},` +
				`{"conditionType":"own"},{"conditionType":"target-health.alb.ingress.k8s.aws/b"}]}}`,
			want: `{"metadata":{"labels":{"app":"web"}},"spec":{"readinessGates":[{"conditionType":"own"},` +
				`{"conditionType":"target-health.elbv2.k8s.aws/web"}]}}`,
		},
		"legacy gates stay when nothing matches": {
			objects: []client.Object{web},
			pod:     `{"metadata":{"labels":{"app":"api"}},"spec":{"readinessGates":[{"conditionType":"target-health.alb.ingress.k8s.aws/a"}]}}`,
			want:    `{"metadata":{"labels":{"app":"api"}},"spec":{"readinessGates":[{"conditionType":"target-health.alb.ingress.k8s.aws/a"}]}}`,
		},
		"instance binding adds none": {
			objects: []client.Object{web, webhooktest.NewBinding("web", func(b *v1beta1.TargetGroupBinding) { b.Spec.TargetType = ptr.To(v1beta1.TargetTypeInstance) })},
			pod:     plain, want: plain, wantWarnings: []string{noBindingWarning},
		},
		"binding that is being deleted adds none": {
			objects: []client.Object{web, webhooktest.NewBinding("web", func(b *v1beta1.TargetGroupBinding) {
				b.Finalizers, b.DeletionTimestamp = []string{v1beta1.Finalizer}, ptr.To(metav1.Now())
			})},
			pod: plain, want: plain, wantWarnings: []string{noBindingWarning},
		},
		"binding of another namespace adds none": {
			objects: []client.Object{web, webhooktest.NewBinding("web", func(b *v1beta1.TargetGroupBinding) { b.Namespace = "other" })},
			pod:     plain, want: plain, wantWarnings: []string{noBindingWarning},
		},
		"binding without its Service adds none":    {objects: []client.Object{webhooktest.NewBinding("web")}, pod: plain, want: plain},
		"Service without selector adds none":       {objects: []client.Object{webhooktest.NewService("web", nil), webhooktest.NewBinding("web")}, pod: plain, want: plain},
		"a Service without a binding is warned of": {objects: []client.Object{web}, pod: plain, want: plain, wantWarnings: []string{noBindingWarning}},
		"a name that no gate can have is warned of": {
			objects: []client.Object{web, webhooktest.NewBinding(strings.Repeat("a", 64))}, pod: plain, want: plain, wantWarnings: []string{longNameWarning},
		},
		"and the other gates are given": {
			objects: []client.Object{web, webhooktest.NewBinding("web"), webhooktest.NewBinding(strings.Repeat("a", 64))}, pod: plain, want: gated, wantWarnings: []string{longNameWarning},
		},
		"Service of type ExternalName gates nothing": {objects: []client.Object{external(webhooktest.NewService("web", webLabels)), webhooktest.NewBinding("web")}, pod: plain, want: plain},
		"a list that no node would run": {
			objects:      []client.Object{web, webhooktest.NewBinding("web")},
			pod:          `{"metadata":{"labels":{"app":"web"}},"spec":{"readinessGates":[` + strings.Repeat("{},", review.LongestList) + `{}]}}`,
			want:         `{"metadata":{"labels":{"app":"web"}},"spec":{"readinessGates":[` + strings.Repeat("{},", review.LongestList) + `{}]}}`,
			wantWarnings: []string{"the pod has more than 1000 readiness gates, so it gets no readiness gate"},
		},
		"host network and owner do not matter": {
			objects: []client.Object{web, webhooktest.NewBinding("web")},
			pod:     `{"metadata":{"labels":{"app":"web"},"ownerReferences":[{"kind":"Job"}]},"spec":{"hostNetwork":true}}`,
			want: `{"metadata":{"labels":{"app":"web"},"ownerReferences":[{"kind":"Job"}]},"spec":{"hostNetwork":true,` +
				`"readinessGates":[{"conditionType":"target-health.elbv2.k8s.aws/web"}]}}`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, response := webhooktest.Post(t, newHandler(webhooktest.NewReader(t, tc.objects...), clock.RealClock{}), reviewOf(tc.pod))
			if response == nil || !response.Allowed || response.UID != "1" {
				t.Fatalf("response %+v, want request 1 allowed", response)
			}
			webhooktest.AssertJSON(t, tc.want, webhooktest.Patched(t, tc.pod, string(response.Patch)))
			if diff := cmp.Diff(tc.wantWarnings, response.Warnings, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

var longNameWarning = `the pod gets no readiness gate for TargetGroupBinding "` + strings.Repeat("a", 64) + `", whose name is longer than 63 characters: ` +
	`re-create the binding with a shorter name`

const noBindingWarning = `Service "web" selects the pod, but has no active TargetGroupBinding of type ip: the pod gets no readiness gate`

func TestPodsAreAdmittedAsTheyAre(t *testing.T) {
	const pod = `{"metadata":{"labels":{"app":"web"}},"spec":{}}`
	tests := map[string]struct {
		change func(*mutator)
		body   string
	}{
		"namespace that is not watched": {func(m *mutator) { m.namespaces = []string{"other"} }, reviewOf(pod)},
		"gates are switched off":        {func(m *mutator) { m.off = true }, reviewOf(pod)},
		"no new pod":                    {func(*mutator) {}, strings.Replace(reviewOf(pod), "CREATE", "UPDATE", 1)},
		"no pod, but its deletion":      {func(*mutator) {}, strings.Replace(reviewOf("null"), "CREATE", "DELETE", 1)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			handler := newHandler(webhooktest.NewReader(t, webhooktest.NewService("web", map[string]string{"app": "web"}), webhooktest.NewBinding("web")), clock.RealClock{})
			tc.change(handler.mutator)
			_, response := webhooktest.Post(t, handler, tc.body)
			if response == nil || !response.Allowed || response.Patch != nil {
				t.Errorf("response %+v, want the pod admitted as it is", response)
			}
		})
	}
}

// Rule 11: trouble of ours is a 5xx.
func TestPodTroubleIsServerError(t *testing.T) {
	const failed = `awslbc_webhook_mutation_failure_total{error_type="Internal Server Error",webhook_name="/mutate-v1-pod"}`
	broken := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("the cache is not there")
		},
	}).Build()
	web := webhooktest.NewReader(t, webhooktest.NewService("web", map[string]string{"app": "web"}), webhooktest.NewBinding("web"))
	for name, tc := range map[string]struct {
		reader client.Reader
		body   string
	}{
		"broken cache":      {reader: broken, body: reviewOf(`{}`)},
		"undecodable":       {reader: web, body: reviewOf(`{"metadata":{"labels":7}}`)},
		"not even JSON":     {reader: web, body: `{`},
		"nothing":           {reader: web, body: ``},
		"no request in it":  {reader: web, body: `{}`},
		"a pod of no spec":  {reader: web, body: reviewOf(`{"metadata":{"labels":{"app":"web"}}}`)},
		"it goes on and on": {reader: web, body: reviewOf(`{}`) + `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			before := webhooktest.Scrape(t, failed)
			if status, response := webhooktest.Post(t, newHandler(tc.reader, clock.RealClock{}), tc.body); status != 500 {
				t.Errorf("status %d, response %+v, want status 500", status, response)
			}
			if got := webhooktest.Scrape(t, failed); got == before {
				t.Errorf("the failure is not counted: %q", got)
			}
		})
	}
}
