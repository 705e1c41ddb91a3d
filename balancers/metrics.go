// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/targetgate/targetgate/balancers/ingress"
)

var lastGood = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "targetgate_ingress_group_reconciled_timestamp_seconds",
	Help: "When a pass over the group of Ingresses last ended without a failure, of the group or of a member.",
}, []string{"group"})

var failing = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "targetgate_ingress_group_failing",
	Help: "1 while passes over the group of Ingresses end with a failure, of the group or of a member, otherwise 0.",
}, []string{"group"})

func init() { metrics.Registry.MustRegister(lastGood, failing) }

// observePass takes in the end of a pass; a group without members has no metrics.
func observePass(group ingress.Group, empty, good bool, now time.Time) {
	switch name := group.String(); {
	case empty:
		lastGood.DeleteLabelValues(name)
		failing.DeleteLabelValues(name)
	case good:
		lastGood.WithLabelValues(name).Set(float64(now.Unix()))
		failing.WithLabelValues(name).Set(0)
	default:
		failing.WithLabelValues(name).Set(1)
	}
}
