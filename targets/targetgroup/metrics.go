// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targetgroup

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// deregisteredSeconds measures rule 5: how fast a pod on its way out gets no new requests.
var deregisteredSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
	Name:    "targetgate_pod_deregistered_seconds",
	Help:    "Time from the deletion of a pod, in whole seconds as the API server keeps it, to AWS's answer to its deregistration.",
	Buckets: []float64{0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 20, 30, 60},
})

func init() { metrics.Registry.MustRegister(deregisteredSeconds) }

func observeDeregistered(batch Deregistrations, now time.Time) {
	for _, d := range batch {
		if !d.Since.IsZero() {
			deregisteredSeconds.Observe(max(0, now.Sub(d.Since).Seconds()))
		}
	}
}
