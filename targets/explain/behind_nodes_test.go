// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/elbv2"
)

// Whoever asks about a pod hears of the pod, and of the nodes only whether any of them sends to it.
func TestExplainOfPodBehindNodes(t *testing.T) {
	leave := func(w *world) { w.node.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""} }
	for name, tc := range map[string]struct {
		spoil func(*world)
		links string // of the pod
		nodes string
		cause string
	}{
		"gated": {func(*world) {}, "pod gate", "ok: 1 ok, 0 unknown, 0 waiting, 0 broken", ""},
		"crashes": {
			func(w *world) { w.pod.Spec.ReadinessGates = nil; w.unready("CrashLoopBackOff", "") }, "pod",
			"ok: 1 ok, 0 unknown, 0 waiting, 0 broken", "pod",
		},
		"terminating": {
			func(w *world) { w.terminate(-time.Second) }, "pod", "ok: 1 ok, 0 unknown, 0 waiting, 0 broken", "pod",
		},
		"node is not ready": {
			func(w *world) { w.node.Status.Conditions[0].Status = corev1.ConditionFalse }, "pod gate",
			"broken: 0 ok, 0 unknown, 0 waiting, 1 broken", "nodes",
		},
		"node is unhealthy": {
			func(w *world) {
				w.answer(elbv2.Health{})
				w.aws.SetHealth(testARN, elbv2.Target{ID: "i-0123456789abcdef0", Port: 30080}, elbv2.Health{State: elbv2.StateUnhealthy})
			}, "pod gate", "broken: 0 ok, 0 unknown, 0 waiting, 1 broken", "nodes",
		},
		"node is left out": {leave, "pod gate", "", ""},
		"binding is deleted": {
			func(w *world) { w.binding.Finalizers, w.binding.DeletionTimestamp = []string{"f"}, ptr.To(ago(0)) }, "pod gate",
			"ok: 1 ok, 0 unknown, 0 waiting, 0 broken", "binding",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.registerNodes()
			tc.spoil(w)
			report, err := w.explainer(t).Pod(t.Context(), client.ObjectKeyFromObject(w.pod))
			if err != nil || len(report.Chains) != 1 || len(report.Chains[0].Endpoints) != 1 {
				t.Fatalf("report %+v, error %v; want one binding with one endpoint", report, err)
			}
			chain := report.Chains[0]
			var links []string
			for _, l := range chain.Endpoints[0].Links {
				links = append(links, l.Name)
			}
			nodes, cause := "", ""
			for _, l := range chain.Links {
				if l.Name == "nodes" {
					nodes = string(l.State) + ": " + l.Seen
				}
			}
			if chain.Cause != nil {
				cause = chain.Cause.Name
			}
			if got := strings.Join(links, " "); chain.Endpoints[0].Name != "web-0" || got != tc.links || nodes != tc.nodes || cause != tc.cause {
				t.Errorf("of %s links %q, nodes %q, cause %q, want of web-0 %q, %q, %q", chain.Endpoints[0].Name, got, nodes, cause,
					tc.links, tc.nodes, tc.cause)
			}
		})
	}
}
