// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/targetgate/targetgate/aws/budget"
)

// spend has a call made that is answered at once.
func spend(ctx context.Context, b *budget.Budget, operation string) error {
	token, err := b.Take(ctx, budget.ELBv2, operation)
	token.Answered()
	return err
}

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
		accounts := aws.accounts(Settings{Throttle: []budget.Rule{
			{Operations: regexp.MustCompile("^Describe"), Rate: 1, Burst: 1}, {Operations: regexp.MustCompile("^Describe"), Rate: 2, Burst: 2},
			{Service: budget.STS, Operations: regexp.MustCompile("^Describe"), Rate: 3, Burst: 3},
			{Service: budget.EC2, Operations: regexp.MustCompile("^Describe"), Rate: 4, Burst: 4},
		}})
		registry := prometheus.NewRegistry()
		registry.MustRegister(accounts)
		own := accounts.Session(Role{}).Budget()
		if err := use(t, accounts.Session(Role{ARN: otherRole})); err != nil {
			t.Fatal(err)
		}
		aws.refusal = "AccessDenied" // metrics do not show the account of a role that was never assumed
		_ = use(t, accounts.Session(Role{ARN: "arn:aws:iam::999999999999:role/a"}))
		time.Sleep(time.Second)

		_ = spend(t.Context(), own, "DescribeFirst")
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		charged := budget.WithCharge(ctx, budget.Charge{Urgency: budget.ClassWaitingHealth.Now()})
		go func() { _ = spend(charged, own, "DescribeTargetHealth") }()
		synctest.Wait()
		want := []string{
			`targetgate_aws_budget_rate{account="",operations="EC2:^Describe"} 4`,
			`targetgate_aws_budget_rate{account="",operations="STS:^Describe"} 3`,
			`targetgate_aws_budget_rate{account="",operations="^Describe"} 1`,
			`targetgate_aws_budget_rate{account="210987654321",operations="^Describe"} 1`,
			`targetgate_aws_budget_tokens{account="",operations="EC2:^Describe"} 4`,
			`targetgate_aws_budget_tokens{account="",operations="STS:^Describe"} 3`,
			`targetgate_aws_budget_tokens{account="",operations="^Describe"} 0`,
			`targetgate_aws_budget_tokens{account="210987654321",operations="^Describe"} 1`,
			`targetgate_aws_budget_waiting_calls{account="",class="admission",operations="EC2:^Describe"} 0`,
			`targetgate_aws_budget_waiting_calls{account="",class="admission",operations="STS:^Describe"} 0`,
			`targetgate_aws_budget_waiting_calls{account="",class="admission",operations="^Describe"} 0`,
			`targetgate_aws_budget_waiting_calls{account="",class="deregister",operations="EC2:^Describe"} 0`,
			`targetgate_aws_budget_waiting_calls{account="",class="deregister",operations="STS:^Describe"} 0`,
			`targetgate_aws_budget_waiting_calls{account="",class="deregister",operations="^Describe"} 0`,
			`targetgate_aws_budget_waiting_calls{account="",class="late",operations="EC2:^Describe"} 0`,
			`targetgate_aws_budget_waiting_calls{account="",class="late",operations="STS:^Describe"} 0`,
			`targetgate_aws_budget_waiting_calls{account="",class="late",operations="^Describe"} 0`,
			`targetgate_aws_budget_waiting_calls{account="",class="other",operations="EC2:^Describe"} 0`,
			`targetgate_aws_budget_waiting_calls{account="",class="other",operations="STS:^Describe"} 0`,
			`targetgate_aws_budget_waiting_calls{account="",class="other",operations="^Describe"} 0`,
			`targetgate_aws_budget_waiting_calls{account="",class="provision",operations="EC2:^Describe"} 0`,
			`targetgate_aws_budget_waiting_calls{account="",class="provision",operations="STS:^Describe"} 0`,
			`targetgate_aws_budget_waiting_calls{account="",class="provision",operations="^Describe"} 0`,
			`targetgate_aws_budget_waiting_calls{account="",class="register",operations="EC2:^Describe"} 0`,
			`targetgate_aws_budget_waiting_calls{account="",class="register",operations="STS:^Describe"} 0`,
			`targetgate_aws_budget_waiting_calls{account="",class="register",operations="^Describe"} 0`,
			`targetgate_aws_budget_waiting_calls{account="",class="waiting-health",operations="EC2:^Describe"} 0`,
			`targetgate_aws_budget_waiting_calls{account="",class="waiting-health",operations="STS:^Describe"} 0`,
			`targetgate_aws_budget_waiting_calls{account="",class="waiting-health",operations="^Describe"} 1`,
		}
		got := slices.DeleteFunc(scrape(t, registry, "targetgate_"), func(line string) bool {
			isOf := func(service string) bool { return strings.Contains(line, service+":") }
			return slices.ContainsFunc([]string{budget.ACM, budget.Route53, budget.Shield, budget.WAFClassic, budget.WAFv2}, isOf)
		})
		if diff := cmp.Diff(want, got[:min(len(want), len(got))]); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
	})
}

// A request begins when it has its token; only the call includes the wait for it.
func TestRequestTimeDoesNotIncludeBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		accounts := (&abroad{}).accounts(Settings{
			Throttle: []budget.Rule{{Service: budget.STS, Operations: regexp.MustCompile("."), Rate: 0.001, Burst: 1}},
		})
		_ = accounts.askOwnAccount(t.Context())
		before := scrape(t, metrics.Registry, "aws_api_requests_total")
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if account := accounts.askOwnAccount(ctx); account != "" {
			t.Fatalf("account %s, want none: the call was to wait for the budget until the deadline", account)
		}
		if diff := cmp.Diff(before, scrape(t, metrics.Registry, "aws_api_requests_total")); diff != "" {
			t.Errorf("a call that only waited counts as a request (-before +after):\n%s", diff)
		}
	})
}
