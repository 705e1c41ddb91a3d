// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

// deregisteredSeconds measures rule 5: how fast a pod on its way out gets no new requests.
var deregisteredSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
	Name:    "targetgate_pod_deregistered_seconds",
	Help:    "Time from the deletion of a pod, in whole seconds as the API server keeps it, to AWS's answer to its deregistration.",
	Buckets: []float64{0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 20, 30, 60},
})

// driftRepaired counts what others than us have changed in a group, and we have changed back.
var driftRepaired = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "targetgate_drift_repaired_total",
	Help: "Targets that others registered (kind foreign) or deregistered (kind missing), and that were set right.",
}, []string{"kind"})

// valveEngaged counts how often rule 6 kept targets that would have gone otherwise.
var valveEngaged = prometheus.NewCounter(prometheus.CounterOpts{
	Name: "targetgate_safety_valve_engaged_total",
	Help: "Times that unready pods of a binding stayed registered because too few others were healthy.",
})

func init() {
	metrics.Registry.MustRegister(deregisteredSeconds, driftRepaired, valveEngaged)
}

// countEvent counts what an event of that reason tells.
func countEvent(reason string) {
	switch reason {
	case reasonForeignTarget:
		driftRepaired.WithLabelValues("foreign").Inc()
	case reasonTargetMissing:
		driftRepaired.WithLabelValues("missing").Inc()
	case v1beta1.ReasonUnreadyPodsKept:
		valveEngaged.Inc()
	}
}

func observeDepartures(batch departures, now time.Time) {
	for _, since := range batch {
		if !since.IsZero() {
			deregisteredSeconds.Observe(max(0, now.Sub(since).Seconds()))
		}
	}
}
