// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
)

var promQL = parser.NewParser(parser.Options{})

// Use is how an expression uses one metric.
type Use struct {
	Metric string
	// Labels are the ones that it selects, sums or matches by.
	Labels []string
}

// Uses returns the metrics that an expression reads, in their order.
func Uses(expr string) ([]Use, error) {
	parsed, err := promQL.ParseExpr(expr)
	if err != nil {
		return nil, fmt.Errorf("parsing %s: %w", expr, err)
	}
	var out []Use
	parser.Inspect(parsed, func(node parser.Node, path []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		use := Use{Metric: selector.Name}
		for _, matcher := range selector.LabelMatchers {
			use.Labels = append(use.Labels, matcher.Name)
		}
		for _, above := range path {
			use.Labels = append(use.Labels, labelsOf(above)...)
		}
		use.Labels = slices.DeleteFunc(use.Labels, func(name string) bool { return name == model.MetricNameLabel })
		slices.Sort(use.Labels)
		use.Labels = slices.Compact(use.Labels)
		out = append(out, use)
		return nil
	})
	return out, nil
}

// labelsOf returns the labels that an operation needs from its operands.
func labelsOf(node parser.Node) []string {
	switch n := node.(type) {
	case *parser.AggregateExpr:
		return n.Grouping
	case *parser.BinaryExpr:
		if n.VectorMatching != nil {
			return n.VectorMatching.MatchingLabels
		}
	}
	return nil
}
