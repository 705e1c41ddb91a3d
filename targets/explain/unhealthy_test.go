// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/smithy-go"
	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/aws/elbv2"
	fakeelbv2 "github.com/targetgate/targetgate/aws/elbv2/fake"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Gates that were opened tell nothing of health checks that fail later; the binding's status counts them.
func TestExplainSaysWhatTheStatusCounts(t *testing.T) {
	count := func(counts v1beta1.TargetCounts) func(*world) {
		return func(w *world) { w.binding.Status.Targets = &counts }
	}
	closed := func(reason string, counts v1beta1.TargetCounts) func(*world) {
		return func(w *world) { w.says(reason, "words"); w.binding.Status.Targets = &counts }
	}
	for name, tc := range map[string]struct {
		spoil func(*world)
		want  string
	}{
		"all unhealthy": {
			count(v1beta1.TargetCounts{Registered: 10, Unhealthy: 10}),
			"broken target group: web has 0 healthy targets of 10, according to the binding's status; 10 are unhealthy or unused, and no " +
				"pod's gate says why -> Ask AWS which they are, and why: --aws",
		},
		"one unused": {
			count(v1beta1.TargetCounts{Registered: 10, Healthy: 9, Unused: 1}),
			"broken target group: web has 9 healthy targets of 10, according to the binding's status; 1 are unhealthy",
		},
		"one in its first checks": {
			count(v1beta1.TargetCounts{Registered: 2, Healthy: 1, Initial: 1}),
			"waiting target group: web has 1 healthy targets of 2, according to the binding's status; 1 are in their first health checks",
		},
		"the gate of a pod that has ended tells of another time": {
			func(w *world) {
				w.says("Target.Timeout", "words")
				w.pod.Status.Phase = corev1.PodFailed
				w.binding.Status.Targets = &v1beta1.TargetCounts{Registered: 1, Unhealthy: 1}
			}, "broken target group: web has 0 healthy targets of 1",
		},
		"the gate tells of the only one": {
			closed("Target.Timeout", v1beta1.TargetCounts{Registered: 1, Unhealthy: 1}), "broken health: not healthy: Target.Timeout: words",
		},
		"the gate tells of another one": {
			closed("Target.Timeout", v1beta1.TargetCounts{Registered: 2, Unhealthy: 2}), "broken target group: web has 0 healthy targets of 2",
		},
		"the gate tells of the first checks": {
			closed("Elb.InitialHealthChecking", v1beta1.TargetCounts{Registered: 1, Initial: 1}), "waiting health: not healthy: Elb.Initial",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			tc.spoil(w)
			report := w.explained(t)
			if got := causeOf(t, report); !strings.HasPrefix(got, tc.want) {
				t.Errorf("the cause is\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

// With externalTrafficPolicy Local, nodes without a pod fail their health checks.
func TestExplainOfNodesIsContentWithOneThatIsHealthy(t *testing.T) {
	for healthy, broken := range map[int32]bool{1: false, 0: true} {
		w := newWorld()
		w.registerNodes()
		w.binding.Status.Targets = &v1beta1.TargetCounts{Registered: 3, Healthy: healthy, Unhealthy: 3 - healthy}
		if got := causeOf(t, w.explained(t)); strings.HasPrefix(got, "broken target group: ") != broken {
			t.Errorf("the cause with %d healthy nodes is %q, want the group: %t", healthy, got, broken)
		}
	}
}

func TestExplainWithoutAnswerOfAWSSaysWhatTheStatusCounts(t *testing.T) {
	w := newWorld()
	w.binding.Status.Targets = &v1beta1.TargetCounts{Registered: 10, Unhealthy: 10}
	w.answer(elbv2.Health{State: elbv2.StateUnhealthy})
	w.aws.Before = func(context.Context, fakeelbv2.Call) error {
		return &smithy.GenericAPIError{Code: "ExpiredToken", Message: "expired"}
	}
	got := causeOf(t, w.explained(t))
	for _, want := range []string{"broken target group: web has 0 healthy targets of 10", "; AWS does not answer you: ExpiredToken", "your own credentials"} {
		if !strings.Contains(got, want) {
			t.Errorf("the cause is\n%s\nwithout\n%s", got, want)
		}
	}
}

func TestTextOfManyEndpoints(t *testing.T) {
	chain := Chain{Namespace: "shop", Binding: "web"}
	add := func(n int, state State) {
		for range n {
			name := fmt.Sprintf("web-%d", len(chain.Endpoints))
			chain.Endpoints = append(chain.Endpoints, Endpoint{Kind: "Pod", Name: name, Links: []Link{link("health", state, "is %s", state)}})
		}
	}
	text := func() string {
		var out strings.Builder
		if err := (Report{Chains: []Chain{concluded(chain)}}).Text(&out, false, false); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	add(10_000, Unknown)
	want := `TargetGroupBinding shop/web
  10000 of 10000 endpoints have unknown links, for example
  Pod web-0
    unknown  health        is unknown
Nothing is known to be broken. Unknown links: 10000 (health)
`
	if got := text(); got != want {
		t.Errorf("text\n%s\nwant\n%s", got, want)
	}
	add(1, Waiting)
	if got, want := text(), "Nothing is known to be broken. First waiting link: health of Pod web-10000\n"; !strings.HasSuffix(got, want) {
		t.Errorf("text\n%s\nwant at its end\n%s", got, want)
	}
	add(shown+1, Broken)
	got := text()
	if !strings.HasPrefix(got, "TargetGroupBinding shop/web\n  Pod web-10001\n    broken ") {
		t.Errorf("text\n%s\nwant the broken ones first", got)
	}
	if want := "\n  and 2 more endpoints with problems: -o json lists all\n"; strings.Count(got, "    broken ") != shown || !strings.Contains(got, want) {
		t.Errorf("text\n%s\nwant %d that are broken, and\n%s", got, shown, want)
	}
}
