// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"
)

// Interval is how often Prometheus scrapes metrics and evaluates alerts, here and with the chart's values.
const Interval = time.Minute

// Series holds series in memory. The zero value is empty.
type Series struct {
	list    []storage.Series
	samples map[string]chunkenc.Appender // by the series' name with its labels
}

// Write adds series in the notation of promtool's tests, such as `up{job="a"} 0+1x10 stale`: one sample per Interval, from the
// Unix epoch on. Each series can be written once.
func (s *Series) Write(notations ...string) error {
	for _, notation := range notations {
		name, values, err := promQL.ParseSeriesDesc(notation)
		if err != nil {
			return fmt.Errorf("parsing series %s: %w", notation, err)
		}
		if _, known := s.samples[name.String()]; known {
			return fmt.Errorf("writing series %s: it is there already", name)
		}
		for i, value := range values {
			if value.Omitted {
				continue
			}
			if err := s.add(name, time.Duration(i)*Interval, value.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// add adds a sample, which must be newer than the others of its series.
func (s *Series) add(name labels.Labels, at time.Duration, value float64) error {
	samples, known := s.samples[name.String()]
	if !known {
		chunk := chunkenc.NewXORChunk()
		appender, err := chunk.Appender()
		if err != nil {
			return fmt.Errorf("writing series %s: %w", name, err)
		}
		samples = appender
		if s.samples == nil {
			s.samples = map[string]chunkenc.Appender{}
		}
		s.samples[name.String()] = samples
		s.list = append(s.list, &storage.SeriesEntry{Lset: name, SampleIteratorFn: chunk.Iterator})
	}
	samples.Append(0, at.Milliseconds(), value)
	return nil
}

// Querier covers all times.
func (s *Series) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
		found := &selection{at: -1}
		for _, series := range s.list {
			if matches(series.Labels(), matchers) {
				found.list = append(found.list, series)
			}
		}
		return found
	}}, nil
}

func matches(name labels.Labels, matchers []*labels.Matcher) bool {
	for _, matcher := range matchers {
		if !matcher.Matches(name.Get(matcher.Name)) {
			return false
		}
	}
	return true
}

// selection is a storage.SeriesSet.
type selection struct {
	list []storage.Series
	at   int
}

func (s *selection) Next() bool                        { s.at++; return s.at < len(s.list) }
func (s *selection) At() storage.Series                { return s.list[s.at] }
func (s *selection) Err() error                        { return nil }
func (s *selection) Warnings() annotations.Annotations { return nil }

// Result is one series of an expression's result.
type Result struct {
	Labels map[string]string
	Value  float64
}

// At evaluates the expression at this time after the Unix epoch. A result that is not a vector is an error, and so is
// everything that Prometheus would only warn about.
func (s *Series) At(ctx context.Context, expr string, at time.Duration) ([]Result, error) {
	query, err := engine().NewInstantQuery(ctx, s, nil, expr, time.UnixMilli(at.Milliseconds()))
	if err != nil {
		return nil, fmt.Errorf("evaluating %s: %w", expr, err)
	}
	defer query.Close()
	answer := query.Exec(ctx)
	vector, err := answer.Vector()
	if err != nil {
		return nil, fmt.Errorf("evaluating %s: %w", expr, err)
	}
	if err := answer.Warnings.AsErrors(); len(err) > 0 {
		return nil, fmt.Errorf("evaluating %s: %w", expr, err[0])
	}
	var out []Result
	for _, sample := range vector {
		out = append(out, Result{sample.Metric.Map(), sample.F})
	}
	return out, nil
}
