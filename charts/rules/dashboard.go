// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// Dashboard is the part of a Grafana dashboard that tests check.
type Dashboard struct {
	Templating struct {
		List []Variable `json:"list"`
	} `json:"templating"`
	Panels []Panel `json:"panels"`
}

// Variable is a selection at the top of the dashboard.
type Variable struct {
	Name  string          `json:"name"`
	Type  string          `json:"type"`
	Query json.RawMessage `json:"query"`
}

// Panel is one panel, or a row of panels with a title.
type Panel struct {
	ID          int    `json:"id"`
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	GridPos     struct {
		H, W, X, Y int
	} `json:"gridPos"`
	FieldConfig struct {
		Defaults struct {
			Unit string   `json:"unit"`
			Min  *float64 `json:"min"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
	Targets []Target `json:"targets"`
}

// Target is one expression of a panel.
type Target struct {
	RefID        string `json:"refId"`
	Expr         string `json:"expr"`
	LegendFormat string `json:"legendFormat"`
}

// ReadDashboard reads a dashboard file in Grafana's format.
func ReadDashboard(file string) (*Dashboard, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading dashboard: %w", err)
	}
	out := &Dashboard{}
	if err := json.Unmarshal(content, out); err != nil {
		return nil, fmt.Errorf("reading dashboard: %w", err)
	}
	return out, nil
}

// Query returns the expression with Grafana's variables replaced: all namespaces and bindings, and rates over five minutes.
func (t Target) Query() string {
	return strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h", "$namespace", ".*", "$binding", ".*").Replace(t.Expr)
}
