//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	monitoring "github.com/targetgate/targetgate/charts/rules"
	"github.com/targetgate/targetgate/e2e/emulator/acm"
	"github.com/targetgate/targetgate/e2e/suite"
)

// The alerts and panels of load balancers read what targetgate tells of a group with a member that is held.
func TestAlertsAndPanelsOfLoadBalancers(t *testing.T) {
	t.Parallel()
	app := newApp("metrics")
	app.Replicas = 1
	bed.Deploy(t, app)
	_, err := bed.AWS.ACM.Add("", acm.Spec{Domains: []string{"metrics.example.net"}})
	suite.Must(t, err)
	for _, name := range []string{"metrics", "metrics-bad"} {
		ingress := newIngress(app.Name, []networkingv1.IngressRule{rule(name+".example.net", "/ "+app.Name)},
			"group.name=metrics", "target-type=ip", `listen-ports=[{"HTTPS": 443}]`)
		ingress.Name = name
		create(t, ingress)
	}
	alerts, err := monitoring.ReadAlerts(suite.Root + "/charts/targetgate/files/load-balancer-alerts.yaml")
	suite.Must(t, err)
	dashboard, err := monitoring.ReadDashboard(suite.Root + "/charts/targetgate/files/dashboard.json")
	suite.Must(t, err)
	suite.Eventually(t, "something to show of all metrics", func() error {
		series, at := scrape(t)
		read := 0
		for _, panel := range dashboard.Panels {
			for _, target := range panel.Targets {
				if !strings.Contains(target.Query(), "targetgate_ingress_") && !strings.Contains(target.Query(), "targetgate_load_balancer_") {
					continue
				}
				read++
				if results, err := series.At(t.Context(), target.Query(), at); err != nil || len(results) == 0 {
					return fmt.Errorf("panel %q shows nothing: %w", panel.Title, err)
				}
			}
		}
		if read == 0 {
			t.Error("no panel is about load balancers")
		}
		return nil
	})
	for _, alert := range alerts {
		uses, err := monitoring.Uses(alert.Expr)
		suite.Must(t, err)
		for _, use := range uses {
			suite.Eventually(t, use.Metric+", which alert "+alert.Name+" reads", func() error {
				series, at := scrape(t)
				found, err := series.At(t.Context(), fmt.Sprintf("last_over_time(%s[5m])", use.Metric), at)
				if err == nil && len(found) == 0 {
					err = errors.New("targetgate does not tell it")
				}
				return err
			})
		}
	}
}

// scrape reads the metrics as Prometheus does, and says when.
func scrape(t *testing.T) (*monitoring.Series, time.Duration) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, bed.Targetgate.MetricsURL(), http.NoBody)
	suite.Must(t, err)
	response, err := http.DefaultClient.Do(request)
	suite.Must(t, err)
	defer response.Body.Close()
	series, at := &monitoring.Series{}, time.Duration(time.Now().UnixNano())
	suite.Must(t, series.Scrape(response.Body, at, map[string]string{"pod": "targetgate-0"}))
	return series, at
}
