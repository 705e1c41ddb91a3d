// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

// engine has Prometheus' default settings.
var engine = sync.OnceValue(func() *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{
		MaxSamples: 50_000_000, Timeout: 2 * time.Minute, LookbackDelta: 5 * time.Minute, Parser: promQL,
	})
})

// Firing returns the results for which the alert fires at this time after the Unix epoch: those that every evaluation has had
// for the duration For.
func (s *Series) Firing(ctx context.Context, alert Alert, at time.Duration) ([]Result, error) {
	var firing []Result
	for moment := at - alert.For; moment <= at; moment += Interval {
		results, err := s.At(ctx, alert.Expr, moment)
		if err != nil {
			return nil, err
		}
		if moment > at-alert.For {
			results = lasting(firing, results)
		}
		firing = results
	}
	return firing, nil
}

// lasting returns the current results that were there before, compared by their labels.
func lasting(before, now []Result) []Result {
	known := map[uint64]bool{}
	for _, result := range before {
		known[labels.FromMap(result.Labels).Hash()] = true
	}
	var out []Result
	for _, result := range now {
		if known[labels.FromMap(result.Labels).Hash()] {
			out = append(out, result)
		}
	}
	return out
}
