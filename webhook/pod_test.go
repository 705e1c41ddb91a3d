// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

func podRequest(pod string) admission.Request {
	return admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Namespace: "shop", Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: []byte(pod)},
	}}
}

// usual are the flags' defaults on a new API server.
var usual = Termination{ALB: 30 * time.Second, NLB: 130 * time.Second, ServerVersion: "v1.36.3"}

func newPodMutator(reader client.Reader) *podMutator {
	return &podMutator{reader: reader, protector: newProtector(usual)}
}

// mutate is the pod as it is after the answer's patch.
func mutate(t *testing.T, pod string, response admission.Response) string {
	t.Helper()
	if len(response.Patches) == 0 {
		return pod
	}
	operations, err := json.Marshal(response.Patches)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := jsonpatch.DecodePatch(operations)
	if err != nil {
		t.Fatal(err)
	}
	out, err := patch.Apply([]byte(pod))
	if err != nil {
		t.Fatalf("the API server could not apply %s: %v", operations, err)
	}
	return string(out)
}

func TestPodMutator(t *testing.T) {
	web := newService("web", map[string]string{"app": "web"})
	const plain = `{"metadata":{"labels":{"app":"web"}},"spec":{"newField":{"of":"next year"}}}`
	const gated = `{"metadata":{"labels":{"app":"web"}},"spec":{"newField":{"of":"next year"},` +
		`"readinessGates":[{"conditionType":"target-health.elbv2.k8s.aws/web"}]}}`
	tests := map[string]struct {
		objects      []client.Object
		pod          string
		want         string
		wantWarnings []string
	}{
		"covered pod gets the gate, unknown fields survive": {objects: []client.Object{web, newBinding("web")}, pod: plain, want: gated},
		"twice equals once":        {objects: []client.Object{web, newBinding("web")}, pod: gated, want: gated},
		"labels that do not match": {objects: []client.Object{web, newBinding("web")}, pod: `{"metadata":{"labels":{"app":"api"}}}`, want: `{"metadata":{"labels":{"app":"api"}}}`},
		"null list of gates": {
			objects: []client.Object{web, newBinding("web")},
			pod:     `{"metadata":{"labels":{"app":"web"}},"spec":{"readinessGates":null}}`,
			want:    `{"metadata":{"labels":{"app":"web"}},"spec":{"readinessGates":[{"conditionType":"target-health.elbv2.k8s.aws/web"}]}}`,
		},
		"other gates stay, legacy ones go": {
			objects: []client.Object{web, newBinding("web")},
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
			objects: []client.Object{web, newBinding("web", func(b *v1beta1.TargetGroupBinding) { b.Spec.TargetType = ptr.To(v1beta1.TargetTypeInstance) })},
			pod:     plain, want: plain, wantWarnings: []string{noBindingWarning},
		},
		"binding that is being deleted adds none": {
			objects: []client.Object{web, newBinding("web", func(b *v1beta1.TargetGroupBinding) {
				b.Finalizers, b.DeletionTimestamp = []string{v1beta1.Finalizer}, ptr.To(metav1.Now())
			})},
			pod: plain, want: plain, wantWarnings: []string{noBindingWarning},
		},
		"binding of another namespace adds none": {
			objects: []client.Object{web, newBinding("web", func(b *v1beta1.TargetGroupBinding) { b.Namespace = "other" })},
			pod:     plain, want: plain, wantWarnings: []string{noBindingWarning},
		},
		"binding without its Service adds none":    {objects: []client.Object{newBinding("web")}, pod: plain, want: plain},
		"Service without selector adds none":       {objects: []client.Object{newService("web", nil), newBinding("web")}, pod: plain, want: plain},
		"a Service without a binding is warned of": {objects: []client.Object{web}, pod: plain, want: plain, wantWarnings: []string{noBindingWarning}},
		"host network and owner do not matter": {
			objects: []client.Object{web, newBinding("web")},
			pod:     `{"metadata":{"labels":{"app":"web"},"ownerReferences":[{"kind":"Job"}]},"spec":{"hostNetwork":true}}`,
			want: `{"metadata":{"labels":{"app":"web"},"ownerReferences":[{"kind":"Job"}]},"spec":{"hostNetwork":true,` +
				`"readinessGates":[{"conditionType":"target-health.elbv2.k8s.aws/web"}]}}`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			mutator := newPodMutator(newReader(t, tc.objects...))
			response := mutator.Handle(t.Context(), podRequest(tc.pod))
			if !response.Allowed {
				t.Fatalf("refused: %+v", response.Result)
			}
			var want, got any
			_ = json.Unmarshal([]byte(tc.want), &want)
			_ = json.Unmarshal([]byte(mutate(t, tc.pod, response)), &got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("pod (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantWarnings, response.Warnings, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

const noBindingWarning = `Service "web" selects the pod, but no TargetGroupBinding of type ip is in force for it: the pod gets no readiness gate`

func TestPodMutatorAdmitsPodsOfNamespacesThatAreNotWatched(t *testing.T) {
	response := (&podMutator{namespaces: []string{"other"}}).Handle(t.Context(), podRequest(`{}`)) // without a reader to ask
	if !response.Allowed || len(response.Patches) > 0 {
		t.Errorf("answer %+v, want the pod admitted as it is", response)
	}
}

// Rule 11: trouble of ours is a 5xx.
func TestPodMutatorTroubleIsServerError(t *testing.T) {
	broken := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("the cache is not there")
		},
	}).Build()
	for name, tc := range map[string]struct {
		reader client.Reader
		pod    string
	}{
		"broken cache":  {reader: broken, pod: `{}`},
		"undecodable":   {reader: newReader(t), pod: `{"metadata":{"labels":7}}`},
		"not even JSON": {reader: newReader(t), pod: `{`},
	} {
		t.Run(name, func(t *testing.T) {
			response := newPodMutator(tc.reader).Handle(t.Context(), podRequest(tc.pod))
			if response.Allowed || response.Result.Code != 500 {
				t.Errorf("answer %+v, want code 500", response)
			}
		})
	}
}

func FuzzPodMutator(f *testing.F) {
	f.Add(`{"metadata":{"labels":{"app":"web"}},"spec":{"readinessGates":[{"conditionType":"own"}]}}`)
	f.Add(`{"metadata":null,"spec":{"readinessGates":[null,{"conditionType":"target-health.alb.ingress.k8s.aws/a"}]}}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, pod string) {
		mutator := newPodMutator(newReader(t, newService("web", map[string]string{"app": "web"}), newBinding("web")))
		response := mutator.Handle(t.Context(), podRequest(pod))
		if !response.Allowed {
			if response.Result.Code != 500 {
				t.Errorf("refused with code %d", response.Result.Code)
			}
			return
		}
		var once corev1.Pod
		if json.Unmarshal([]byte(pod), &once) != nil || len(response.Patches) == 0 {
			return // the API server would not have sent it
		}
		mutated := mutate(t, pod, response)
		if again := mutator.Handle(t.Context(), podRequest(mutated)); len(again.Patches) != 0 {
			t.Errorf("mutating %s again gives %+v, want nothing", mutated, again.Patches)
		}
	})
}
