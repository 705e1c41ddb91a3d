// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targetgroup

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// These measure whether pods are deregistered in time: while their load balancer may still send to them, they serve.
var (
	deregisteredSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "targetgate_pod_deregistered_seconds",
		Help: "Time from the deletion of a pod, in whole seconds as the API server keeps it, to AWS's answer to its deregistration, " +
			"of pods that have to be deregistered at once.",
		Buckets: []float64{0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 20, 30, 60},
	})
	marginSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "targetgate_deregistration_margin_seconds",
		Help: "Time left to the deadline of a pod's deregistration when AWS accepted it; below 0 it was late. " +
			"Deregistrations without a deadline are not counted.",
		Buckets: []float64{-60, -30, -10, -5, -2, -1, 0, 0.25, 0.5, 1, 2, 4, 8, 16, 30, 60, 120},
	})
	lateTotal = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "targetgate_deregistrations_late_total",
		Help: "Deregistrations of pods that AWS accepted after their deadline: requests to these pods may have failed.",
	})
	leastMargin = &least{desc: prometheus.NewDesc("targetgate_deregistration_margin_least_seconds",
		"The least of targetgate_deregistration_margin_seconds since the process started. There is no series before the first.", nil, nil)}
)

func init() {
	metrics.Registry.MustRegister(deregisteredSeconds, marginSeconds, lateTotal, leastMargin)
}

func observeDeregistered(batch Deregistrations, now time.Time) {
	for _, d := range batch {
		if d.Deadline.IsZero() {
			if !d.Since.IsZero() {
				deregisteredSeconds.Observe(max(0, now.Sub(d.Since).Seconds()))
			}
			continue
		}
		margin := d.Deadline.Sub(now)
		marginSeconds.Observe(margin.Seconds())
		leastMargin.observe(margin)
		if margin < 0 {
			lateTotal.Inc()
		}
	}
}

// least is a prometheus.Collector of the smallest duration observed. Safe for concurrent use.
type least struct {
	desc *prometheus.Desc

	mu    sync.Mutex
	some  bool
	value time.Duration
}

func (l *least) observe(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.some || d < l.value {
		l.some, l.value = true, d
	}
}

// Describe implements prometheus.Collector.
func (l *least) Describe(descs chan<- *prometheus.Desc) { descs <- l.desc }

// Collect implements prometheus.Collector.
func (l *least) Collect(out chan<- prometheus.Metric) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.some {
		out <- prometheus.MustNewConstMetric(l.desc, prometheus.GaugeValue, l.value.Seconds())
	}
}
