// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// An alert on a metric that does not exist never fires.
func TestAlertsAndDashboardReadMetricsThatExist(t *testing.T) {
	name := regexp.MustCompile(`\b(?:targetgate|awslbc|aws_api)_[a-z_]+`)
	exist := map[string]bool{}
	for _, folder := range []string{"../targets", "../webhook", "../readiness"} {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			content, err := os.ReadFile(path)
			for _, found := range regexp.MustCompile(`"(`+name.String()+`)"`).FindAllStringSubmatch(string(content), -1) {
				exist[found[1]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"alerts.yaml", "dashboard.json"} {
		content, err := os.ReadFile(filepath.Join(chart, "files", file))
		if err != nil {
			t.Fatal(err)
		}
		found := name.FindAllString(string(content), -1)
		if len(found) < 5 {
			t.Errorf("%s has %d metrics", file, len(found))
		}
		for _, metric := range found {
			if !exist[strings.TrimSuffix(metric, "_bucket")] {
				t.Errorf("%s: there is no metric %s", file, metric)
			}
		}
	}
}

func TestRulesAndDashboardArriveAsTheyAre(t *testing.T) {
	all := objects(t, []byte(render(t, "prometheusRule.enabled=true", "dashboard.enabled=true")))
	groups := all["PrometheusRule targetgate"]["spec"].(map[string]any)["groups"].([]any)
	for _, rule := range groups[0].(map[string]any)["rules"].([]any) {
		rule := rule.(map[string]any)
		annotations, _ := rule["annotations"].(map[string]any)
		if rule["expr"] == nil || annotations["summary"] == nil || annotations["description"] == nil {
			t.Errorf("alert %v does not say when, what and what to do", rule["alert"])
		}
	}
	data := all["ConfigMap targetgate-dashboard"]["data"].(map[string]any)
	var dashboard struct{ Panels []any }
	if err := json.Unmarshal([]byte(data["targetgate.json"].(string)), &dashboard); err != nil || len(dashboard.Panels) == 0 {
		t.Errorf("dashboard with %d panels: %v", len(dashboard.Panels), err)
	}
}
