// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/conditions"
	"github.com/targetgate/targetgate/targets/fixture"
	"github.com/targetgate/targetgate/targets/report"
	"github.com/targetgate/targetgate/targets/retry"
)

var shownNames = []string{
	"targetgate_targets", "targetgate_binding_condition", "targetgate_gated_pods_waiting", "targetgate_ungated_pods",
	"targetgate_gate_waiting_since_timestamp_seconds", "targetgate_drift_repaired_total", "targetgate_unready_pods_kept_total",
	"awslbc_readiness_gate_ready_seconds_count",
}

// A replica that begins to lead finds nothing to write where all is well, and must be seen all the same.
func TestMetricsShowBindingWhoseStatusIsWrittenAlready(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		b.settle()
		b.aws.SetHealth(testARN, one, healthy)
		b.after(time.Minute)
		written := b.binding().ResourceVersion

		report.DeleteGauges(webKey)
		if diff := cmp.Diff([]string(nil), fixture.Series(t, shownNames...)); diff != "" {
			t.Errorf("series of a binding that is gone (-want +got):\n%s", diff)
		}
		b.bindings.forget(webKey)
		b.settle()
		if got := b.binding().ResourceVersion; got != written {
			t.Error("the status was written")
		}
		want := []string{
			`awslbc_readiness_gate_ready_seconds_count 0`,
			`targetgate_binding_condition{reason="Healthy",status="False",type="Degraded"} 1`,
			`targetgate_binding_condition{reason="Reconciled",status="True",type="Ready"} 1`,
			`targetgate_drift_repaired_total{kind="foreign"} 0`,
			`targetgate_drift_repaired_total{kind="missing"} 0`,
			`targetgate_gated_pods_waiting 0`,
			`targetgate_targets{state="draining"} 0`,
			`targetgate_targets{state="healthy"} 1`,
			`targetgate_targets{state="initial"} 0`,
			`targetgate_targets{state="unavailable"} 0`,
			`targetgate_targets{state="unhealthy"} 0`,
			`targetgate_targets{state="unused"} 0`,
			`targetgate_ungated_pods 0`,
			`targetgate_unready_pods_kept_total 0`,
		}
		if diff := cmp.Diff(want, fixture.Series(t, shownNames...)); diff != "" {
			t.Errorf("series (-want +got):\n%s", diff)
		}
	}, pod, newSlice("web", pod))
}

func TestMetricsTellOfThePodThatHasWaitedLongest(t *testing.T) {
	first, second, third := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2"), newPod("web-2", "10.0.0.3")
	first.Status.Conditions[0].Status = corev1.ConditionFalse
	for i, pod := range []*corev1.Pod{first, second, third} {
		pod.Status.Conditions[0].LastTransitionTime = metav1.Unix(int64(1000*(i+1)), 0)
	}
	got := conditions.CountPods([]*corev1.Pod{first, third, second}, nil, testGate)
	want := conditions.PodCount{Gated: 3, Waiting: 3, WaitingSince: time.Unix(2000, 0)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("count (-want +got):\n%s", diff)
	}
	report.DeleteGauges(webKey)
	report.SetGauges(webKey, &newBinding().Status, &got)
	defer report.DeleteGauges(webKey)
	if diff := cmp.Diff([]string{"targetgate_gate_waiting_since_timestamp_seconds 2000"},
		fixture.Series(t, "targetgate_gate_waiting_since_timestamp_seconds")); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

// Whoever wants no gates in a namespace is not told that pods have none.
func TestUngatedPodsAreShownWhereGatesAreAskedFor(t *testing.T) {
	tests := map[string]struct{ label, want string }{
		"asked for":     {readiness.InjectEnabled, "targetgate_ungated_pods 1"},
		"not asked for": {"disabled", "targetgate_ungated_pods 0"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := newPod("web-0", "10.0.0.1")
			pod.Spec.ReadinessGates = nil
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{readiness.InjectLabel: tc.label}}}
			inBed(t, func(b *bed) {
				b.settle()
				if diff := cmp.Diff([]string{tc.want}, fixture.Series(t, "targetgate_ungated_pods")); diff != "" {
					t.Errorf("series (-want +got):\n%s", diff)
				}
				if n := b.binding().Status.Pods; n == nil || n.Ungated != 1 {
					t.Errorf("the status counts %v, want 1 ungated pod", n)
				}
			}, pod, newSlice("web", pod), namespace)
		})
	}
}

func TestFailuresAreCountedByWhoseTheyAre(t *testing.T) {
	const name = "awslbc_controller_reconcile_errors_total"
	before := fixture.Series(t, name)
	if len(before) != 2 {
		t.Fatalf("series %q, want one of each category", before)
	}
	slot := retry.Slot{Category: retry.AWS}
	slot.End(time.Now(), errors.New("no answer"))
	slot.End(time.Now(), nil)
	retry.CountFailure(retry.Kubernetes, nil)
	after := fixture.Series(t, name)
	if after[0] == before[0] || after[1] != before[1] || !strings.Contains(after[0], `controller="targetGroupBinding",error_category="aws_error"`) {
		t.Errorf("before %q, after a call to AWS %q", before, after)
	}
}

func TestPassesAreTimedByStage(t *testing.T) {
	inBed(t, func(b *bed) {
		b.settle()
		b.must(b.cluster.Delete(t.Context(), b.binding()))
		b.settle()
		got := fixture.Series(t, "awslbc_controller_reconcile_stage_duration_count")
		for _, stage := range []string{report.StageReconcile, report.StageCleanup} {
			line := `awslbc_controller_reconcile_stage_duration_count{controller="targetGroupBinding",reconcile_stage="` + stage + `"} `
			if !strings.Contains(strings.Join(got, "\n"), line) {
				t.Errorf("no series %s among %q", line, got)
			}
		}
	})
}
