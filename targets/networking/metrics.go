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
		Name: "targetgate_security_group_rules_wanted",
		Help: "Inbound rules that bindings need in security groups.",
	})
	rulesMissing = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "targetgate_security_group_rules_missing",
		Help: "Inbound rules that bindings need and that are not in the security groups.",
	})
	groupsUnowned = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "targetgate_security_groups_with_unowned_rules",
		Help: "Security groups with rules that have the controllers' label, that no binding needs, and that targetgate has not added.",
	})
)

func init() {
	metrics.Registry.MustRegister(rulesTotal, rulesWanted, rulesMissing, groupsUnowned)
	for _, result := range []string{"granted", "revoked", "refused"} {
		rulesTotal.WithLabelValues(result)
	}
}
