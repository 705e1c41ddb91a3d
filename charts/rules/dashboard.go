// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// Dashboard is what tests look at of a Grafana dashboard.
type Dashboard struct {
	Templating struct {
		List []Variable `json:"list"`
	} `json:"templating"`
	Panels []Panel `json:"panels"`
}

// Variable is a choice at the head of the dashboard.
type Variable struct {
	Name  string          `json:"name"`
	Type  string          `json:"type"`
	Query json.RawMessage `json:"query"`
}

// Panel is one picture, or a row of these with a title.
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
			Unit string `json:"unit"`
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

// ReadDashboard reads a file as Grafana takes it.
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

// Query is the expression with Grafana's variables filled in: all namespaces and bindings, and a rate over five minutes.
func (t Target) Query() string {
	return strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h", "$namespace", ".*", "$binding", ".*").Replace(t.Expr)
}
