// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// The first two names and their labels are the incumbent's.
var (
	validation = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "awslbc_webhook_validation_failure_total",
		Help: "Objects that a validating webhook did not admit, by error.",
	}, []string{"webhook_name", "error_type"})

	mutation = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "awslbc_webhook_mutation_failure_total",
		Help: "Objects that a mutating webhook failed to mutate, by error.",
	}, []string{"webhook_name", "error_type"})

	gatesInjected = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "targetgate_gates_injected_total",
		Help: "Readiness gates added to pods at admission, including dry runs.",
	})

	waits = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "targetgate_webhook_pod_waits_total",
		Help: "Pods that waited at admission for a new binding or Service, by outcome: changed or in vain.",
	}, []string{"outcome"})

	latency = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "targetgate_webhook_seconds",
		Help:    "Time from a webhook call until its answer is complete.",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 3, 10},
	}, []string{"webhook_name"})
)

func init() {
	metrics.Registry.MustRegister(validation, mutation, gatesInjected, waits, latency)
}

// beginCounting starts the counters of our own errors at 0. If one started at 1, Prometheus would see no increase.
func beginCounting() {
	ours := http.StatusText(http.StatusInternalServerError)
	mutation.WithLabelValues(podPath, ours)
	mutation.WithLabelValues(bindingMutatePath, ours)
	validation.WithLabelValues(bindingValidatePath, ours)
}
