// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/webhook/review"
	"github.com/targetgate/targetgate/webhook/webhooktest"
)

// In namespaces that are only protected, the incumbent adds the gate and registers the pod.
func TestProtectedPodGetsALongerSleepAndNoGate(t *testing.T) {
	const plain = `{"metadata":{"labels":{"app":"web"}},"spec":{"terminationGracePeriodSeconds":30,"containers":[{"name":"app"}]}}`
	http := func(b *v1beta1.TargetGroupBinding) { b.Spec.TargetGroupProtocol = ptr.To(v1beta1.Protocol("HTTP")) }
	tests := map[string]struct {
		objects []client.Object
		want    string
	}{
		"behind a binding": {
			objects: []client.Object{webhooktest.NewService("web", map[string]string{"app": "web"}), webhooktest.NewBinding("web", http)},
			want: `{"metadata":{"labels":{"app":"web"},"annotations":{"targetgate.dev/termination-protection":"45s"}},"spec":{` +
				`"terminationGracePeriodSeconds":75,"containers":[{"name":"app","lifecycle":{"preStop":{"sleep":{"seconds":45}}}}]}}`,
		},
		"behind no binding": {objects: []client.Object{webhooktest.NewService("web", map[string]string{"app": "web"})}, want: plain},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHandler(webhooktest.NewReader(t, tc.objects...), clock.RealClock{})
			h.mutator.protectsOnly, h.mutator.protector = true, newProtector(usual.late())
			_, response := webhooktest.Post(t, h, reviewOf(plain))
			if response == nil || !response.Allowed || len(response.Warnings) > 0 {
				t.Fatalf("response %+v, want the pod admitted without a warning", response)
			}
			webhooktest.AssertJSON(t, tc.want, webhooktest.Patched(t, plain, string(response.Patch)))
		})
	}
}

// The user has asked for no gate there.
func TestWarningsAboutAProtectedPodAreAboutItsSleep(t *testing.T) {
	const many = review.LongestList
	web, binding := webhooktest.NewService("web", map[string]string{"app": "web"}), webhooktest.NewBinding("web")
	labels := make([]string, many+1)
	for i := range labels {
		labels[i] = fmt.Sprintf(`"l%d":""`, i)
	}
	tests := map[string]struct {
		objects []client.Object
		pod     string
		want    []string
	}{
		"too many labels": {
			objects: []client.Object{web, binding}, pod: `{"metadata":{"labels":{` + strings.Join(labels, ",") + `}},"spec":{}}`,
			want: []string{"the pod has more than 1000 labels, so it gets no preStop sleep"},
		},
		"too many gates": {
			objects: []client.Object{web, binding},
			pod:     `{"metadata":{"labels":{"app":"web"}},"spec":{"readinessGates":[` + strings.Repeat("{},", many) + `{}]}}`,
			want:    []string{"the pod has more than 1000 readiness gates, so it gets no preStop sleep"},
		},
		"too many containers of both kinds": {
			objects: []client.Object{web, binding},
			pod:     `{"metadata":{"labels":{"app":"web"}},"spec":{"initContainers":[{}],"containers":[` + strings.Repeat("{},", many-1) + `{}]}}`,
			want:    []string{"the pod has more than 1000 containers, so it gets no preStop sleep"},
		},
		"no binding": {objects: []client.Object{web}, pod: `{"metadata":{"labels":{"app":"web"}},"spec":{}}`},
		"a name that no gate can have": {
			objects: []client.Object{web, webhooktest.NewBinding(strings.Repeat("a", 64))}, pod: `{"metadata":{"labels":{"app":"web"}},"spec":{}}`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHandler(webhooktest.NewReader(t, tc.objects...), clock.RealClock{})
			h.mutator.protectsOnly, h.mutator.protector = true, newProtector(usual.late())
			_, response := webhooktest.Post(t, h, reviewOf(tc.pod))
			if response == nil || !response.Allowed {
				t.Fatalf("response %+v, want the pod admitted", response)
			}
			if diff := cmp.Diff(tc.want, response.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoDelayIsNotLate(t *testing.T) {
	got := Termination{ALB: 0, NLB: MaxTerminationDelay}.late()
	if diff := cmp.Diff(Termination{NLB: MaxTerminationDelay}, got); diff != "" {
		t.Errorf("delays (-want +got):\n%s", diff)
	}
}

// The document says how long pods sleep by default that the incumbent registers.
func TestDocumentSaysHowLongProtectedPodsSleep(t *testing.T) {
	content, err := os.ReadFile("../../charts/targetgate/BESIDE.md")
	if err != nil {
		t.Fatal(err)
	}
	sleep := Termination{ALB: elbv2.ServeOnALB, NLB: elbv2.ServeOnNLB}.late()
	want := fmt.Sprintf("the sleep is %.0f s longer than elsewhere (%.0f s behind an ALB, %.0f s behind an NLB)",
		lateness.Seconds(), sleep.ALB.Seconds(), sleep.NLB.Seconds())
	if text := strings.Join(strings.Fields(string(content)), " "); !strings.Contains(text, want) {
		t.Errorf("BESIDE.md does not say: %s", want)
	}
}
