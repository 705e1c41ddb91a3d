// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/targets/fixture"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

var webKey = types.NamespacedName{Namespace: "shop", Name: "web"}

// To Prometheus a counter that begins at 1 has not increased.
func TestDriftIsCountedFromZero(t *testing.T) {
	DeleteGauges(webKey)
	defer DeleteGauges(webKey)
	SetGauges(webKey, &fixture.Binding().Status, nil)
	before := fixture.Series(t, "targetgate_drift_repaired_total")
	countEvent(fixture.Binding(), reasonForeignTarget)
	countEvent(fixture.Pod("web-0", "10.0.0.1"), reasonForeignTarget)
	SetGauges(webKey, &fixture.Binding().Status, nil)
	want := []string{`targetgate_drift_repaired_total{kind="foreign"} 0`, `targetgate_drift_repaired_total{kind="missing"} 0`}
	if diff := cmp.Diff(want, before); diff != "" {
		t.Errorf("before (-want +got):\n%s", diff)
	}
	want[0] = `targetgate_drift_repaired_total{kind="foreign"} 1`
	if diff := cmp.Diff(want, fixture.Series(t, "targetgate_drift_repaired_total")); diff != "" {
		t.Errorf("after (-want +got):\n%s", diff)
	}
}

// What is counted by the name of a binding that is gone would stay for good.
func TestNothingIsCountedForABindingThatIsGone(t *testing.T) {
	const ready, kept = "awslbc_readiness_gate_ready_seconds_count", "targetgate_unready_pods_kept_total"
	DeleteGauges(webKey)
	ObserveReady(webKey, time.Second)
	countEvent(fixture.Binding(), v1beta1.ReasonUnreadyPodsKept)
	for _, name := range []string{ready, kept} {
		for _, series := range fixture.Series(t, name) {
			t.Errorf("there is %s", series)
		}
	}
}
