// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// The first two names and their labels are the incumbent's.
var (
	// ValidationFailures counts by path and HTTP status.
	ValidationFailures = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "awslbc_webhook_validation_failure_total",
		Help: "Objects that a validating webhook did not admit, by error.",
	}, []string{"webhook_name", "error_type"})

	// MutationFailures counts by path and HTTP status.
	MutationFailures = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "awslbc_webhook_mutation_failure_total",
		Help: "Objects that a mutating webhook failed to mutate, by error.",
	}, []string{"webhook_name", "error_type"})

	latency = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "targetgate_webhook_seconds",
		Help:    "Time from a webhook call until its answer is complete.",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 3, 10},
	}, []string{"webhook_name"})
)

func init() {
	metrics.Registry.MustRegister(ValidationFailures, MutationFailures, latency)
}

// BeginCounting starts the counter of our own errors at 0. If it started at 1, Prometheus would see no increase.
func BeginCounting(failures *prometheus.CounterVec, path string) {
	failures.WithLabelValues(path, http.StatusText(http.StatusInternalServerError))
}
