// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	budgetTokens = prometheus.NewDesc("targetgate_aws_budget_tokens",
		"HTTP requests to AWS that may be sent at once.", []string{"account", "operations"}, nil)
	budgetRate = prometheus.NewDesc("targetgate_aws_budget_rate",
		"HTTP requests to AWS a second that may be sent now; lower than configured for a while after AWS throttled one.",
		[]string{"account", "operations"}, nil)
	budgetWaiting = prometheus.NewDesc("targetgate_aws_budget_waiting_calls",
		"Calls to AWS that wait for the budget.", []string{"account", "operations", "class"}, nil)

	waitSeconds = waitHistogram()
)

func waitHistogram() *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "targetgate_aws_budget_wait_seconds", Help: "Time an HTTP request to AWS waited for the budget.",
		Buckets: []float64{0.001, 0.01, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60},
	}, []string{"account", "operations", "class"})
	metrics.Registry.MustRegister(h)
	return h
}

// Level is what a bucket shows of itself.
type Level struct {
	Operations   string // of its rule
	Tokens, Rate float64
	Waiting      [classCount]int // calls, by class
}

// Levels are those of the budget's buckets.
func (b *Budget) Levels() (out []Level) {
	for _, bucket := range b.buckets {
		out = append(out, bucket.level())
	}
	return out
}

// Forget takes the account's series away.
func (b *Budget) Forget() {
	waitSeconds.DeletePartialMatch(prometheus.Labels{"account": b.account})
}

// Describe sends the descriptions of what Collect sends.
func Describe(descs chan<- *prometheus.Desc) {
	descs <- budgetTokens
	descs <- budgetRate
	descs <- budgetWaiting
}

// Collect sends the state of the buckets.
func (b *Budget) Collect(out chan<- prometheus.Metric) {
	for _, level := range b.Levels() {
		gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, append([]string{b.account, level.Operations}, labels...)...)
		}
		gauge(budgetTokens, level.Tokens)
		gauge(budgetRate, level.Rate)
		for class, waiting := range level.Waiting {
			gauge(budgetWaiting, float64(waiting), Class(class).String())
		}
	}
}
