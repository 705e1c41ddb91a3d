// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"os"
	"strings"
	"text/template"
	"time"

	"sigs.k8s.io/yaml"
)

// Alert is an alerting rule.
type Alert struct {
	Name        string            `json:"alert"`
	Expr        string            `json:"expr"`
	ForText     string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`

	// For is how long the expression must have a result before the alert fires.
	For time.Duration `json:"-"`
}

// ReadAlerts reads the rules of all groups in a file. Fields that Alert does not have are an error.
func ReadAlerts(file string) ([]Alert, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading alerts: %w", err)
	}
	var groups struct {
		Groups []struct {
			Name  string  `json:"name"`
			Rules []Alert `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.UnmarshalStrict(content, &groups); err != nil {
		return nil, fmt.Errorf("reading alerts: %w", err)
	}
	var out []Alert
	for _, group := range groups.Groups {
		out = append(out, group.Rules...)
	}
	for i := range out {
		if out[i].ForText == "" {
			continue
		}
		if out[i].For, err = time.ParseDuration(out[i].ForText); err != nil {
			return nil, fmt.Errorf("reading alert %s: %w", out[i].Name, err)
		}
	}
	return out, nil
}

// Text returns an annotation as it is sent for the result. A label that the result does not have is an error: Prometheus
// would send an empty text.
func (a *Alert) Text(annotation string, result Result) (string, error) {
	const variables = "{{ $labels := .Labels }}{{ $value := .Value }}"
	parsed, err := template.New(annotation).Option("missingkey=error").Funcs(template.FuncMap{
		"humanize":           func(v float64) string { return fmt.Sprintf("%.4g", v) },
		"humanizeDuration":   func(v float64) string { return time.Duration(v * float64(time.Second)).Round(time.Second).String() },
		"humanizePercentage": func(v float64) string { return fmt.Sprintf("%.4g%%", 100*v) },
	}).Parse(variables + a.Annotations[annotation])
	if err != nil {
		return "", fmt.Errorf("parsing %s of %s: %w", annotation, a.Name, err)
	}
	var out strings.Builder
	if err := parsed.Execute(&out, result); err != nil {
		return "", fmt.Errorf("filling in %s of %s: %w", annotation, a.Name, err)
	}
	return out.String(), nil
}
