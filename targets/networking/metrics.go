// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	rulesTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "targetgate_security_group_rules_total",
		Help: "Inbound rules that were added to security groups (granted), removed from them (revoked), or that EC2 did not add (refused).",
	}, []string{"result"})

	rulesWanted = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "targetgate_wanted_security_group_rules",
		Help: "Inbound rules that bindings need in security groups.",
	})
	rulesMissing = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "targetgate_missing_security_group_rules",
		Help: "Inbound rules that bindings need and that are not in the security groups.",
	})
	rulesUnowned = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "targetgate_unowned_security_group_rules",
		Help: "Inbound rules with aws-load-balancer-controller's description that no binding needs and that targetgate has not added: they stay.",
	})
)

func init() {
	metrics.Registry.MustRegister(rulesTotal, rulesWanted, rulesMissing, rulesUnowned)
	for _, result := range []string{"granted", "revoked", "refused"} {
		rulesTotal.WithLabelValues(result)
	}
}
