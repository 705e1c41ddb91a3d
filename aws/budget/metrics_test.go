// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"regexp"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// waitsOf returns the histogram of the account's waits as it is scraped, which is to be the only one.
func waitsOf(t *testing.T, account string) *dto.Histogram {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var found []*dto.Metric
	for _, family := range families {
		if family.GetName() != "targetgate_aws_budget_wait_seconds" {
			continue
		}
		for _, metric := range family.GetMetric() {
			if label(metric, "account") == account {
				found = append(found, metric)
			}
		}
	}
	if len(found) != 1 || label(found[0], "class") != "register" || label(found[0], "operations") != "Any" {
		t.Fatalf("waits of account %s: %v, want those of class register and operations Any", account, found)
	}
	return found[0].GetHistogram()
}

func label(metric *dto.Metric, name string) string {
	for _, pair := range metric.GetLabel() {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}

func TestBudgetObservesWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waitSeconds.DeletePartialMatch(prometheus.Labels{"account": "waits"})
		budget := New("waits", []Rule{{Operations: regexp.MustCompile("Any"), Rate: 1, Burst: 1}}, oneAtATime().clock)
		_ = spend(WithCharge(t.Context(), Charge{Urgency: ClassRegister.Now()}), budget, "Any")
		_ = spend(WithCharge(t.Context(), Charge{Urgency: ClassRegister.Now()}), budget, "Any")
		waits := waitsOf(t, "waits")
		if waits.GetSampleCount() != 2 {
			t.Errorf("%d waits, want two", waits.GetSampleCount())
		}
		for _, bucket := range waits.GetBucket() {
			if bucket.GetUpperBound() == 0.5 {
				if bucket.GetCumulativeCount() != 1 {
					t.Errorf("%d waits below half a second, want one: the other took a second", bucket.GetCumulativeCount())
				}
				return
			}
		}
		t.Error("no bucket of half a second")
	})
}
