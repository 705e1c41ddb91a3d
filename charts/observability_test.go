// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/targetgate/targetgate/aws/accounts"
	_ "github.com/targetgate/targetgate/balancers"
	"github.com/targetgate/targetgate/charts/rules"
	_ "github.com/targetgate/targetgate/readiness"
	_ "github.com/targetgate/targetgate/targets"
	_ "github.com/targetgate/targetgate/webhook"
	_ "github.com/targetgate/targetgate/webhook/certs"
)

// metric is one that targetgate registers.
type metric struct {
	help   string
	labels []string
}

// registered are the metrics of the real registry, also those that have no series yet, and those of the AWS budget, which
// main registers.
func registered(t *testing.T) map[string]metric {
	t.Helper()
	descs := make(chan *prometheus.Desc)
	go func() {
		metrics.Registry.(prometheus.Collector).Describe(descs)
		accounts.New(aws.Config{}, accounts.Settings{}).Describe(descs)
		close(descs)
	}()
	text := regexp.MustCompile(`^Desc{fqName: "(\w+)", help: "([^"]*)", (?:unit: "[^"]*", )?constLabels: {.*}, variableLabels: {(.*)}}$`)
	out := map[string]metric{}
	for desc := range descs {
		parts := text.FindStringSubmatch(desc.String())
		if parts == nil {
			t.Fatalf("%s is not understood", desc)
		}
		labels := strings.FieldsFunc(parts[3], func(r rune) bool { return r == ',' })
		slices.Sort(labels)
		out[parts[1]] = metric{parts[2], labels}
	}
	return out
}

// find is the metric of a series' name, with the labels of the series.
func find(all map[string]metric, series string) (metric, bool) {
	if m, ok := all[series]; ok {
		return m, true
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		m, ok := all[strings.TrimSuffix(series, suffix)]
		if !ok || !strings.HasSuffix(series, suffix) {
			continue
		}
		if suffix == "_bucket" {
			m.labels = append(slices.Clone(m.labels), "le")
		}
		return m, true
	}
	return metric{}, false
}

// podLabel tells replicas from each other. Prometheus adds it.
const podLabel = "pod"

func dashboard(t *testing.T) *rules.Dashboard {
	t.Helper()
	out, err := rules.ReadDashboard(filepath.Join(chart, "files", "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// An alert on a metric or a label that does not exist never fires, and a panel stays empty.
func TestAlertsAndDashboardReadMetricsThatExist(t *testing.T) {
	all := registered(t)
	expressions := map[string]string{}
	for _, alert := range alerts(t) {
		expressions["alert "+alert.Name] = alert.Expr
	}
	for _, panel := range dashboard(t).Panels {
		for _, target := range panel.Targets {
			expressions["panel "+panel.Title+" "+target.RefID] = target.Query()
		}
	}
	for where, expression := range expressions {
		uses, err := rules.Uses(expression)
		if err != nil || len(uses) == 0 {
			t.Errorf("%s reads %d metrics: %v", where, len(uses), err)
		}
		wantRegistered(t, all, where, uses)
	}
}

// wantRegistered fails the test where an expression uses metrics or labels that are not there.
func wantRegistered(t *testing.T, all map[string]metric, where string, uses []rules.Use) {
	t.Helper()
	for _, use := range uses {
		m, ok := find(all, use.Metric)
		if !ok {
			t.Errorf("%s: there is no metric %s", where, use.Metric)
		}
		for _, label := range use.Labels {
			if label != podLabel && !slices.Contains(m.labels, label) {
				t.Errorf("%s: %s has labels %v, and no %s", where, use.Metric, m.labels, label)
			}
		}
	}
}

// Dashboards for the incumbent go on working.
func TestMetricsOfTheIncumbentAreThere(t *testing.T) {
	all := registered(t)
	call, request := []string{"operation", "service"}, []string{"error_code", "operation", "service", "status_code"}
	for name, want := range map[string][]string{
		"awslbc_readiness_gate_ready_seconds":              {"name", "namespace"},
		"awslbc_controller_reconcile_errors_total":         {"controller", "error_category"},
		"awslbc_controller_reconcile_stage_duration":       {"controller", "reconcile_stage"},
		"awslbc_webhook_validation_failure_total":          {"error_type", "webhook_name"},
		"awslbc_webhook_mutation_failure_total":            {"error_type", "webhook_name"},
		"aws_api_calls_total":                              request,
		"aws_api_call_duration_seconds":                    call,
		"aws_api_call_retries":                             call,
		"aws_api_requests_total":                           request,
		"aws_api_request_duration_seconds":                 call,
		"aws_api_call_permission_errors_total":             request,
		"aws_api_call_service_limit_exceeded_errors_total": request,
		"aws_api_call_throttled_errors_total":              request,
		"aws_api_call_validation_errors_total":             request,
	} {
		if diff := cmp.Diff(want, all[name].labels); diff != "" {
			t.Errorf("labels of %s (-want +got):\n%s", name, diff)
		}
	}
}

// Five thousand pods must not be as many series.
func TestMetricsHaveHelpUnitsAndFewSeries(t *testing.T) {
	ours := regexp.MustCompile(`^(targetgate|awslbc|aws_api)_`)
	counted := regexp.MustCompile(`_(total|seconds|duration|retries|tokens|rate|calls|waiting|pods|targets|condition|leader|trusted|failing|rules|ingresses|used|limit)$`)
	several := []string{"pod", "pod_name", "uid", "ip", "target", "node", "message", "request_id"}
	for name, m := range registered(t) {
		if !ours.MatchString(name) {
			continue
		}
		if !counted.MatchString(name) {
			t.Errorf("the name %s does not end in what it counts or its unit", name)
		}
		if len(m.help) < 15 || !strings.HasSuffix(m.help, ".") {
			t.Errorf("help of %s: %q", name, m.help)
		}
		for _, label := range m.labels {
			if slices.Contains(several, label) {
				t.Errorf("%s has as many series as there are values of %s", name, label)
			}
		}
	}
}

func TestDashboardAnswersItsQuestions(t *testing.T) {
	var rows []string
	ids, titles := map[int]bool{}, map[string]bool{}
	for _, panel := range dashboard(t).Panels {
		if ids[panel.ID] || titles[panel.Title] || panel.ID == 0 || panel.Title == "" {
			t.Errorf("panel %d %q has no ID or title, or one that another has", panel.ID, panel.Title)
		}
		ids[panel.ID], titles[panel.Title] = true, true
		if panel.Type == "row" {
			rows = append(rows, panel.Title)
			continue
		}
		if panel.Description == "" || panel.FieldConfig.Defaults.Unit == "" || len(panel.Targets) == 0 {
			t.Errorf("panel %q has no description, unit or expression", panel.Title)
		}
		for _, target := range panel.Targets {
			checkLegend(t, panel, target)
		}
	}
	want := []string{"Are requests at risk now?", "Which binding?", "Since when?", "Why?", "Load balancers of Ingresses"}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// What was late has a margin below 0.
func TestPanelsShowMarginsBelowZero(t *testing.T) {
	shown := false
	for _, panel := range dashboard(t).Panels {
		for _, target := range panel.Targets {
			if !strings.Contains(target.Expr, "_margin_") {
				continue
			}
			shown = true
			if lowest := panel.FieldConfig.Defaults.Min; lowest != nil {
				t.Errorf("panel %q shows nothing below %g", panel.Title, *lowest)
			}
		}
	}
	if !shown {
		t.Error("no panel shows a margin")
	}
}

// checkLegend: what a legend shows must be left by the expression, and what tells its series apart must be shown.
func checkLegend(t *testing.T, panel rules.Panel, target rules.Target) {
	t.Helper()
	uses, err := rules.Uses(target.Query())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile(`{{(\w+)}}`).FindAllStringSubmatch(target.LegendFormat, -1) {
		if !slices.Contains(uses[0].Labels, name[1]) {
			t.Errorf("panel %q: its legend shows %s, and its expression has no such label", panel.Title, name[1])
		}
	}
	for _, use := range uses {
		filtered := strings.Contains(target.Expr, `namespace=~"$namespace"`) && strings.Contains(target.Expr, `name=~"$binding"`)
		if slices.Contains(use.Labels, "namespace") && !filtered {
			t.Errorf("panel %q shows all bindings, whichever are chosen", panel.Title)
		}
	}
}

func TestPanelsDoNotOverlap(t *testing.T) {
	taken := map[[2]int]string{}
	for _, panel := range dashboard(t).Panels {
		g := panel.GridPos
		if g.X+g.W > 24 || g.W == 0 || g.H == 0 {
			t.Errorf("panel %q is out of the grid", panel.Title)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other, ok := taken[[2]int{x, y}]; ok {
					t.Fatalf("panels %q and %q overlap", panel.Title, other)
				}
				taken[[2]int{x, y}] = panel.Title
			}
		}
	}
}

func TestDashboardHasVariables(t *testing.T) {
	var names []string
	for _, variable := range dashboard(t).Templating.List {
		names = append(names, variable.Name)
	}
	if diff := cmp.Diff([]string{"datasource", "namespace", "binding"}, names); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
}

// Whoever is woken finds what to do, and reads nothing about alerts that are no more.
func TestEachAlertHasItsParagraphInTheRunbook(t *testing.T) {
	const address = "https://github.com/targetgate/targetgate/blob/main/charts/targetgate/RUNBOOK.md#"
	content, err := os.ReadFile(filepath.Join(chart, "RUNBOOK.md"))
	if err != nil {
		t.Fatal(err)
	}
	paragraphs := map[string]string{}
	for _, paragraph := range strings.Split(string(content), "\n## ")[1:] {
		title, text, _ := strings.Cut(paragraph, "\n")
		paragraphs[title] = text
	}
	for _, alert := range alerts(t) {
		text, ok := paragraphs[alert.Name]
		if !ok {
			t.Errorf("%s has no paragraph", alert.Name)
		}
		delete(paragraphs, alert.Name)
		for _, part := range []string{"What it means", "What users notice", "How to look", "What to do", "When to ignore it"} {
			if !strings.Contains(text, "**"+part+".**") {
				t.Errorf("the paragraph of %s does not say %q", alert.Name, part)
			}
		}
		if !strings.Contains(text, "```") {
			t.Errorf("the paragraph of %s has no commands", alert.Name)
		}
		if want := address + strings.ToLower(alert.Name); alert.Annotations["runbook_url"] != want {
			t.Errorf("runbook_url of %s is %q, want %q", alert.Name, alert.Annotations["runbook_url"], want)
		}
	}
	for title := range paragraphs {
		if strings.HasPrefix(title, "Targetgate") {
			t.Errorf("the runbook tells of %s, which is no alert", title)
		}
	}
}

// Its table lists the alerts by severity.
func TestRunbookListsEachAlert(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(chart, "RUNBOOK.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, alert := range alerts(t) {
		row := regexp.MustCompile(`(?m)^\| ` + alert.Labels["severity"] + `\b.*$`).FindString(string(content))
		link := "[" + strings.TrimPrefix(alert.Name, "Targetgate") + "](#" + strings.ToLower(alert.Name) + ")"
		if !strings.Contains(row, link) {
			t.Errorf("the row of severity %q lacks %s", alert.Labels["severity"], link)
		}
	}
}

// The queries that the runbook tells to make are as good as the alerts'.
func TestRunbookAsksForMetricsThatExist(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(chart, "RUNBOOK.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := registered(t)
	blocks := regexp.MustCompile("(?s)```promql\n(.*?)```").FindAllStringSubmatch(string(content), -1)
	if len(blocks) < 5 {
		t.Errorf("%d queries", len(blocks))
	}
	for _, block := range blocks {
		for query := range strings.Lines(block[1]) {
			uses, err := rules.Uses(strings.NewReplacer("NAMESPACE", "shop", "NAME", "web").Replace(query))
			if err != nil {
				t.Error(err)
			}
			wantRegistered(t, all, query, uses)
		}
	}
}

func TestAlertsAreComplete(t *testing.T) {
	for _, alert := range alerts(t) {
		if !slices.Contains([]string{"critical", "warning", "info"}, alert.Labels["severity"]) {
			t.Errorf("%s has severity %q", alert.Name, alert.Labels["severity"])
		}
		if alert.Annotations["summary"] == "" || alert.Annotations["description"] == "" {
			t.Errorf("%s does not say what is wrong", alert.Name)
		}
	}
}

func TestRulesAndDashboardArriveAsTheyAre(t *testing.T) {
	all := objects(t, []byte(render(t, "prometheusRule.enabled=true", "dashboard.enabled=true")))
	ofIngresses := func(expression string) bool {
		return strings.Contains(expression, "_ingress_") || strings.Contains(expression, "_load_balancer_")
	}
	var want []string
	for _, alert := range alerts(t) {
		want = append(want, alert.Expr)
	}
	without := slices.DeleteFunc(slices.Clone(want), ofIngresses)
	if diff := cmp.Diff(without, expressionsOf(all)); diff != "" || len(without) == len(want) {
		t.Errorf("expressions without provision (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, expressionsOf(objects(t, []byte(render(t, "prometheusRule.enabled=true", provision))))); diff != "" {
		t.Errorf("expressions with provision (-want +got):\n%s", diff)
	}
	data := all["ConfigMap targetgate-dashboard"]["data"].(map[string]any)
	got := rules.Dashboard{}
	if err := json.Unmarshal([]byte(data["targetgate.json"].(string)), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*dashboard(t), got, cmp.Comparer(func(a, b json.RawMessage) bool { return len(a) > 0 && len(b) > 0 })); diff != "" {
		t.Errorf("dashboard (-want +got):\n%s", diff)
	}
}

// expressionsOf are those of the rules, in their order.
func expressionsOf(all map[string]map[string]any) (out []string) {
	for _, group := range all["PrometheusRule targetgate"]["spec"].(map[string]any)["groups"].([]any) {
		for _, rule := range group.(map[string]any)["rules"].([]any) {
			out = append(out, rule.(map[string]any)["expr"].(string))
		}
	}
	return out
}

// Without it Prometheus puts targetgate's own namespace and service in the place of the binding's and of AWS's.
func TestServiceMonitorLeavesLabelsAsTheyAre(t *testing.T) {
	all := objects(t, []byte(render(t, "serviceMonitor.enabled=true")))
	for _, endpoint := range all["ServiceMonitor targetgate"]["spec"].(map[string]any)["endpoints"].([]any) {
		if endpoint.(map[string]any)["honorLabels"] != true {
			t.Error("honorLabels is not true")
		}
	}
}
