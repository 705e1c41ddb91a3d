// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// scrape returns the lines of what is gathered that begin with prefix.
func scrape(t *testing.T, from prometheus.Gatherer, prefix string) []string {
	t.Helper()
	w := httptest.NewRecorder()
	promhttp.HandlerFor(from, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("scraping: %d %s", w.Code, w.Body)
	}
	var lines []string
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, prefix) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

func TestBudgetObservesWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waitSeconds.DeletePartialMatch(prometheus.Labels{"account": "waits"})
		budget := New("waits", []Rule{{Operations: regexp.MustCompile("Any"), Rate: 1, Burst: 1}}, oneAtATime().clock)
		_ = spend(WithCharge(t.Context(), Charge{Class: ClassRegister}), budget, "Any")
		_ = spend(WithCharge(t.Context(), Charge{Class: ClassRegister}), budget, "Any")
		count := scrape(t, metrics.Registry, `targetgate_aws_budget_wait_seconds_count{account="waits",class="register",operations="Any"}`)
		if len(count) != 1 || !strings.HasSuffix(count[0], " 2") {
			t.Errorf("%q, want two waits", count)
		}
		bucket := scrape(t, metrics.Registry,
			`targetgate_aws_budget_wait_seconds_bucket{account="waits",class="register",operations="Any",le="0.5"}`)
		if len(bucket) != 1 || !strings.HasSuffix(bucket[0], " 1") {
			t.Errorf("%q, want one wait below half a second, the other took a second", bucket)
		}
	})
}
