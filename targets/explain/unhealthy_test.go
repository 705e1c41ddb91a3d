// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/smithy-go"

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
			"broken target group: web has 0 healthy targets of 10, by the binding's status, which counts 10 unhealthy or unused ones of " +
				"which no pod's gate tells -> Ask AWS which they are, and why: --aws",
		},
		"one unused": {
			count(v1beta1.TargetCounts{Registered: 10, Healthy: 9, Unused: 1}),
			"broken target group: web has 9 healthy targets of 10, by the binding's status, which counts 1 unhealthy",
		},
		"one in its first checks": {
			count(v1beta1.TargetCounts{Registered: 2, Healthy: 1, Initial: 1}),
			"waiting target group: web has 1 healthy targets of 2, by the binding's status, which counts 1 in their first health checks",
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
  10000 of 10000 endpoints: links are unknown, such as
  Pod web-0
    unknown  health        is unknown
Nothing is known to be broken. Unknown links: 10000 (health)
`
	if got := text(); got != want {
		t.Errorf("text\n%s\nwant\n%s", got, want)
	}
	add(1, Waiting)
	if got, want := text(), "Nothing is known to be broken. First link that waits: health of Pod web-10000\n"; !strings.HasSuffix(got, want) {
		t.Errorf("text\n%s\nwant at its end\n%s", got, want)
	}
	add(shown+1, Broken)
	got := text()
	if !strings.HasPrefix(got, "TargetGroupBinding shop/web\n  Pod web-10001\n    broken ") {
		t.Errorf("text\n%s\nwant the broken ones first", got)
	}
	if want := "\n  and 2 more endpoints that are not well: -o json has all\n"; strings.Count(got, "    broken ") != shown || !strings.Contains(got, want) {
		t.Errorf("text\n%s\nwant %d that are broken, and\n%s", got, shown, want)
	}
}
