// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"io"
	"maps"
	"strconv"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// Scrape adds a sample of each exposed series, at this time after the Unix epoch. As with honorLabels, the labels of the process
// are added unless a series has a label of that name.
func (s *Series) Scrape(told io.Reader, at time.Duration, process map[string]string) error {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(told)
	if err != nil {
		return fmt.Errorf("parsing metrics: %w", err)
	}
	for name, family := range families {
		for _, metric := range family.Metric {
			own := maps.Clone(process)
			for _, pair := range metric.Label {
				own[pair.GetName()] = pair.GetValue()
			}
			for _, sample := range samplesOf(name, metric) {
				series := maps.Clone(own)
				maps.Copy(series, sample.Labels)
				maps.DeleteFunc(series, func(_, value string) bool { return value == "" }) // to Prometheus that is no label
				if err := s.add(labels.FromMap(series), at, sample.Value); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// samplesOf returns the samples of a metric, with the labels by which they differ. It returns none for summaries, because we
// have no summaries.
func samplesOf(name string, metric *dto.Metric) []Result {
	one := func(suffix string, value float64) Result {
		return Result{map[string]string{model.MetricNameLabel: name + suffix}, value}
	}
	h := metric.Histogram
	switch {
	case metric.Counter != nil:
		return []Result{one("", metric.Counter.GetValue())}
	case metric.Gauge != nil:
		return []Result{one("", metric.Gauge.GetValue())}
	case metric.Untyped != nil:
		return []Result{one("", metric.Untyped.GetValue())}
	case h == nil:
		return nil
	}
	out := []Result{one("_sum", h.GetSampleSum()), one("_count", float64(h.GetSampleCount()))}
	for _, bucket := range h.Bucket {
		sample := one("_bucket", float64(bucket.GetCumulativeCount()))
		sample.Labels["le"] = strconv.FormatFloat(bucket.GetUpperBound(), 'g', -1, 64)
		out = append(out, sample)
	}
	return out
}
