// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/elbv2"
)

// guard is an API server that forbids some types and counts what it is asked for.
type guard struct {
	client.Reader
	forbidden []runtime.Object
	asked     map[string]int
}

func (g guard) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := g.check(o); err != nil {
		return err
	}
	return g.Reader.Get(ctx, key, o, opts...)
}

func (g guard) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := g.check(list); err != nil {
		return err
	}
	return g.Reader.List(ctx, list, opts...)
}

func (g guard) check(o runtime.Object) error {
	kind := fmt.Sprintf("%T", o)
	g.asked[kind]++
	if slices.ContainsFunc(g.forbidden, func(f runtime.Object) bool { return fmt.Sprintf("%T", f) == kind }) {
		return apierrors.NewForbidden(corev1.Resource(kind), "", errors.New("no"))
	}
	return nil
}

// forbidding is an explainer for someone who may not read these types.
func (w *world) forbidding(t *testing.T, types ...runtime.Object) (*Explainer, guard) {
	t.Helper()
	e := *w.explainer(t)
	g := guard{e.Reader, types, map[string]int{}}
	e.Reader = g
	return New(e), g
}

func TestExplainWithoutNodes(t *testing.T) {
	for name, tc := range map[string]struct {
		health  elbv2.Health // none: AWS is not asked
		cause   string
		unknown []string
	}{
		"by the status": {unknown: []string{"slice"}},
		"by AWS":        {health: elbv2.Health{State: elbv2.StateHealthy}, unknown: []string{"slice", "node"}},
		"unhealthy, by AWS": {
			health: elbv2.Health{State: elbv2.StateUnhealthy, Reason: "Target.Timeout"}, unknown: []string{"slice", "node"},
			cause: "broken health: unhealthy: Target.Timeout",
		},
		"draining, by AWS": {health: elbv2.Health{State: elbv2.StateDraining}, unknown: []string{"slice"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.registerNodes()
			if tc.health.State != "" {
				w.answer(elbv2.Health{})
				w.aws.SetHealth(testARN, elbv2.Target{ID: "i-0123456789abcdef0", Port: 30080}, tc.health)
			}
			e, _ := w.forbidding(t, &corev1.NodeList{}, &corev1.Node{})
			report, err := e.Namespace(t.Context(), "shop")
			if err != nil {
				t.Fatal(err)
			}
			if got := causeOf(t, report); !strings.HasPrefix(got, tc.cause) || got != "" && tc.cause == "" {
				t.Errorf("cause %q, want %q", got, tc.cause)
			}
			if _, got := report.Chains[0].unknown(); !slices.Equal(got, tc.unknown) {
				t.Errorf("unknown links %q, want %q", got, tc.unknown)
			}
			if !slices.Contains(report.Notes, "you may not read nodes: what they could change is not checked") {
				t.Errorf("notes %q, want one about nodes", report.Notes)
			}
		})
	}
}

// What asks for gates may be another label than the default one.
func TestExplainAssertsNothingOfGatesThatItCannotKnow(t *testing.T) {
	for name, tc := range map[string]struct {
		forbidden runtime.Object
		hook      bool
		want      string // in the link
		note      string
	}{
		"webhooks forbidden": {
			forbidden: byLabel(), hook: true, want: "it has no label elbv2.k8s.aws/pod-readiness-gate-inject=enabled, and",
			note: "you may not read mutatingwebhookconfigurations: what they could change is not checked",
		},
		"webhooks elsewhere": {want: `could not be read: reading MutatingWebhookConfiguration hooks: `},
		"namespaces forbidden": {
			forbidden: &corev1.Namespace{}, hook: true, want: "you may not read the namespace",
			note: "you may not read namespaces: what they could change is not checked",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.pod.Spec.ReadinessGates, w.namespace.Labels = nil, nil
			if tc.hook {
				w.hook = selecting("team", "shop", nil)
			}
			e, _ := w.forbidding(t, tc.forbidden)
			report, err := e.Binding(t.Context(), client.ObjectKeyFromObject(w.binding))
			if err != nil {
				t.Fatal(err)
			}
			links := report.Chains[0].Endpoints[0].Links
			if gate := links[len(links)-1]; gate.State != Unknown || !strings.Contains(gate.Seen, tc.want) {
				t.Errorf("link %+v, want an unknown one with %q", gate, tc.want)
			}
			if tc.note != "" && !slices.Contains(report.Notes, tc.note) {
				t.Errorf("notes %q, want %q", report.Notes, tc.note)
			}
		})
	}
}

func TestExplainReadsEachObjectOnce(t *testing.T) {
	w := newWorld()
	w.addRival()
	w.duplicate.Namespace, w.duplicate.Spec.TargetGroupARN = "shop", testARN+"0"
	w.hook = selecting("team", "shop", nil)
	e, asked := w.forbidding(t)
	report, err := e.Namespace(t.Context(), "shop")
	if err != nil || len(report.Chains) != 2 {
		t.Fatalf("%d chains, error %v; want two", len(report.Chains), err)
	}
	for kind, want := range map[string]int{"*v1.Namespace": 1, "*v1.Service": 1, "*v1.MutatingWebhookConfiguration": 1, "*v1.Lease": 2} {
		if got := asked.asked[kind]; got != want {
			t.Errorf("%d readings of %s, want %d", got, kind, want)
		}
	}
}
