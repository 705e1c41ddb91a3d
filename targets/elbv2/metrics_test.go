// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
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

func TestAccountsShowTheirBudgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		aws := &abroad{lasts: time.Hour}
		accounts := aws.accounts(Settings{Throttle: []ThrottleRule{
			{Operations: regexp.MustCompile("^Describe"), Rate: 1, Burst: 1}, {Operations: regexp.MustCompile("^Describe"), Rate: 2, Burst: 2},
			{Service: stsID, Operations: regexp.MustCompile("^Describe"), Rate: 3, Burst: 3},
		}})
		registry := prometheus.NewRegistry()
		registry.MustRegister(accounts)
		budget := accounts.Client(Role{}).session.budget.Load()
		if _, err := accounts.Client(Role{ARN: otherRole}).Health(t.Context(), ClassOther, testARN, WholeGroup); err != nil {
			t.Fatal(err)
		}
		aws.refusal = "AccessDenied" // metrics do not show the account of a role that was never assumed
		_, _ = accounts.Client(Role{ARN: "arn:aws:iam::999999999999:role/a"}).Health(t.Context(), ClassOther, testARN, WholeGroup)
		time.Sleep(time.Second)

		_ = spend(t.Context(), budget, "DescribeFirst")
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		go func() { _ = spend(withCharge(ctx, charge{class: ClassWaitingHealth}), budget, "DescribeTargetHealth") }()
		synctest.Wait()
		want := []string{
			`targetgate_aws_budget_rate{account="",operations="STS:^Describe"} 3`,
			`targetgate_aws_budget_rate{account="",operations="^Describe"} 1`,
			`targetgate_aws_budget_rate{account="210987654321",operations="^Describe"} 1`,
			`targetgate_aws_budget_tokens{account="",operations="STS:^Describe"} 3`,
			`targetgate_aws_budget_tokens{account="",operations="^Describe"} 0`,
			`targetgate_aws_budget_tokens{account="210987654321",operations="^Describe"} 1`,
			`targetgate_aws_budget_waiting_calls{account="",class="admission",operations="STS:^Describe"} 0`,
			`targetgate_aws_budget_waiting_calls{account="",class="admission",operations="^Describe"} 0`,
			`targetgate_aws_budget_waiting_calls{account="",class="deregister",operations="STS:^Describe"} 0`,
			`targetgate_aws_budget_waiting_calls{account="",class="deregister",operations="^Describe"} 0`,
			`targetgate_aws_budget_waiting_calls{account="",class="other",operations="STS:^Describe"} 0`,
			`targetgate_aws_budget_waiting_calls{account="",class="other",operations="^Describe"} 0`,
			`targetgate_aws_budget_waiting_calls{account="",class="register",operations="STS:^Describe"} 0`,
			`targetgate_aws_budget_waiting_calls{account="",class="register",operations="^Describe"} 0`,
			`targetgate_aws_budget_waiting_calls{account="",class="waiting-health",operations="STS:^Describe"} 0`,
			`targetgate_aws_budget_waiting_calls{account="",class="waiting-health",operations="^Describe"} 1`,
		}
		got := scrape(t, registry, "targetgate_")
		if diff := cmp.Diff(want, got[:min(len(want), len(got))]); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
	})
}

func TestBudgetObservesWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waitSeconds.DeletePartialMatch(prometheus.Labels{"account": "waits"})
		budget := newBudget("waits", []ThrottleRule{{Operations: regexp.MustCompile("Any"), Rate: 1, Burst: 1}}, oneAtATime().clock)
		_ = spend(withCharge(t.Context(), charge{class: ClassRegister}), budget, "Any")
		_ = spend(withCharge(t.Context(), charge{class: ClassRegister}), budget, "Any")
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

// A request begins when it has its token; only the call includes the wait for it.
func TestRequestTimeDoesNotIncludeBudget(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	client := accountsAt(server, Settings{
		Throttle: []ThrottleRule{{Operations: regexp.MustCompile("."), Rate: 0.001, Burst: 1}},
	}).Client(Role{})
	_ = spend(t.Context(), client.session.budget.Load(), "First")
	before := scrape(t, metrics.Registry, "aws_api_requests_total")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := client.GroupByARN(ctx, ClassOther, testARN); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("error %v, want the deadline while waiting", err)
	}
	if diff := cmp.Diff(before, scrape(t, metrics.Registry, "aws_api_requests_total")); diff != "" {
		t.Errorf("a call that only waited counts as a request (-before +after):\n%s", diff)
	}
}
