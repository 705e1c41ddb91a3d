// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package rollouts

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/targetgate/targetgate/charts/rules"
	"github.com/targetgate/targetgate/e2e/suite"
)

// Where nothing is wrong these panels have nothing to show, and these metrics no series.
var (
	quietPanels = []string{
		"Bindings in trouble", "Registered targets that are not healthy", "Wait at a gate", "Failed AWS calls",
		"Throttled AWS requests", "Drift", "Unready pods kept", "Targets of others", "Overwritten by others",
		// These are of load balancers.
		"Failing for", "Ingresses that are not updated", "Quotas used", "Certificates expire first",
		"Load balancers without Ingresses",
	}
	quietMetrics = []string{"aws_api_call_permission_errors_total"}
)

// emptyLabels are empty, which to Prometheus is no label, for calls in the own account and for calls without an error.
var emptyLabels = []string{"account", "error_code"}

// The alerts are evaluated over what targetgate tells before and after a rollout, and so are the panels.
func TestAlertsAndDashboardReadWhatTargetgateTells(t *testing.T) {
	app := suite.NewApp("metrics")
	series := &rules.Series{}
	bed.Deploy(t, app)
	suite.Eventually(t, "a pod at its gate", func() error {
		told, err := bed.MetricLines(t, "targetgate_gate_waiting_since_timestamp_seconds{name=\"metrics\"")
		if err == nil && len(told) == 0 {
			err = fmt.Errorf("there is no series")
		}
		return err
	})
	readMetrics(t, series)
	bed.AwaitRolled(t, app)
	suite.Must(t, bed.Roll(t.Context(), app, "v2", nil))
	bed.AwaitRolled(t, app)
	bed.AwaitConverged(t, app)
	suite.Eventually(t, "the metrics of what has settled", func() error {
		const line = `targetgate_binding_condition{name="metrics",namespace="metrics",reason="Reconciled",status="True",type="Ready"} 1`
		return bed.WantMetric(t, line)
	})
	at := readMetrics(t, series)

	checkAlerts(t, series, at)
	checkPanels(t, series, at)
}

// readMetrics scrapes as Prometheus does with the chart's ServiceMonitor, and says when.
func readMetrics(t *testing.T, series *rules.Series) (at time.Duration) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, bed.Targetgate.MetricsURL(), http.NoBody)
	suite.Must(t, err)
	resp, err := http.DefaultClient.Do(req)
	suite.Must(t, err)
	defer resp.Body.Close()
	told, err := io.ReadAll(resp.Body)
	suite.Must(t, err)
	at = time.Duration(time.Now().UnixNano())
	suite.Must(t, series.Scrape(bytes.NewReader(told), at, map[string]string{
		"namespace": "targetgate-system", "service": "targetgate-metrics", "job": "targetgate-metrics", "pod": "targetgate-0",
	}))
	return at
}

// checkAlerts: none has a result, and each would, as all that it reads is there.
func checkAlerts(t *testing.T, series *rules.Series, at time.Duration) {
	t.Helper()
	alerts, err := rules.ReadAlerts(suite.Root + "/charts/targetgate/files/alerts.yaml")
	suite.Must(t, err)
	for _, alert := range alerts {
		results, err := series.At(t.Context(), alert.Expr, at)
		if err != nil || len(results) > 0 && alert.For == 0 {
			t.Errorf("alert %s: %v, error %v", alert.Name, results, err)
		}
		uses, err := rules.Uses(alert.Expr)
		suite.Must(t, err)
		for _, use := range uses {
			if slices.Contains(quietMetrics, use.Metric) {
				continue
			}
			found, err := series.At(t.Context(), fmt.Sprintf("last_over_time(%s[5m])", use.Metric), at)
			if err != nil || len(found) == 0 {
				t.Errorf("alert %s: targetgate does not tell %s: %v", alert.Name, use.Metric, err)
			}
			for _, label := range use.Labels {
				has := func(r rules.Result) bool { return r.Labels[label] != "" }
				if !slices.Contains(emptyLabels, label) && !slices.ContainsFunc(found, has) {
					t.Errorf("alert %s: no series of %s has a label %s", alert.Name, use.Metric, label)
				}
			}
		}
	}
	for name, expr := range map[string]string{
		"one leader":                  "sum(targetgate_leader) == 1",
		"the binding's own namespace": fmt.Sprintf("targetgate_targets{namespace=%q, name=%q, state=%q} == 3", "metrics", "metrics", "healthy"),
	} {
		if results, err := series.At(t.Context(), expr, at); err != nil || len(results) != 1 {
			t.Errorf("%s: %v, error %v", name, results, err)
		}
	}
}

func checkPanels(t *testing.T, series *rules.Series, at time.Duration) {
	t.Helper()
	dashboard, err := rules.ReadDashboard(suite.Root + "/charts/targetgate/files/dashboard.json")
	suite.Must(t, err)
	for _, panel := range dashboard.Panels {
		shown := 0
		for _, target := range panel.Targets {
			results, err := series.At(t.Context(), target.Query(), at)
			if err != nil {
				t.Errorf("panel %q: %v", panel.Title, err)
			}
			shown += len(results)
			for _, result := range results {
				for name := range result.Labels {
					if !strings.Contains(target.LegendFormat, "{{"+name+"}}") && panel.Type == "timeseries" {
						t.Errorf("panel %q: its legend does not show %s, by which its series differ", panel.Title, name)
					}
				}
			}
		}
		if panel.Type != "row" && shown == 0 && !slices.Contains(quietPanels, panel.Title) {
			t.Errorf("panel %q is empty", panel.Title)
		}
	}
}
