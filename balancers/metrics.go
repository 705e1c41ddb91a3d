// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/targetgate/targetgate/balancers/parts"
	"github.com/targetgate/targetgate/balancers/stack"
)

var lastGood = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "targetgate_ingress_group_reconciled_timestamp_seconds",
	Help: "When a pass over the group of Ingresses last ended without a failure, of the group or of a member. " +
		"If none has since targetgate began, when its first pass ended.",
}, []string{"group"})

var failing = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "targetgate_ingress_group_failing",
	Help: "1 while passes over the group of Ingresses end with a failure, of the group or of a member, otherwise 0.",
}, []string{"group"})

var held = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "targetgate_ingress_group_held_ingresses",
	Help: "How many Ingresses of the group stay as they were in AWS, as what they ask for is wrong.",
}, []string{"group"})

var used = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "targetgate_load_balancer_quota_used",
	Help: "How much of a quota of AWS the group's load balancer uses: rules, certificates or target groups.",
}, []string{"group", "quota"})

var limits = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "targetgate_load_balancer_quota_limit",
	Help: "The quota of each load balancer: for rules and certificates as the flags say, for target groups AWS's default.",
}, []string{"quota"})

var expires = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "targetgate_ingress_group_certificate_expiration_timestamp_seconds",
	Help: "When the first certificate of the group's load balancer expires, of those that were found in ACM by their hosts.",
}, []string{"group"})

var withoutIngress = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "targetgate_load_balancer_without_ingresses",
	Help: "How many groups have a load balancer and no Ingress that belongs to them or names them.",
})

func init() {
	metrics.Registry.MustRegister(lastGood, failing, held, used, limits, expires, withoutIngress)
}

// The quotas of a load balancer, as the metrics call them.
const (
	quotaRules        = "rules"
	quotaCertificates = "certificates"
	quotaTargetGroups = "target_groups"
)

func setLimits(l parts.Limits) {
	for quota, limit := range map[string]int{
		quotaRules: l.Rules, quotaCertificates: l.Certificates, quotaTargetGroups: l.TargetGroups,
	} {
		limits.WithLabelValues(quota).Set(float64(limit))
	}
}

// gauges sets the metrics of a group.
type gauges struct{ *pass }

// measure takes in the end of a pass; a group without members has no metrics.
func (p gauges) measure(good bool, now time.Time) {
	name := p.group.String()
	if p.isEmpty() {
		for _, of := range []*prometheus.GaugeVec{lastGood, failing, held, used, expires} {
			of.DeletePartialMatch(prometheus.Labels{"group": name})
		}
		return
	}
	if p.result.Interrupted {
		return // what fails may be left to the next pass
	}
	failing.WithLabelValues(name).Set(1)
	if good {
		failing.WithLabelValues(name).Set(0)
	}
	if last := lastGood.WithLabelValues(name); good || value(last) == 0 {
		last.Set(float64(now.Unix()))
	}
	if !p.built {
		return // nothing is known of the members
	}
	n := 0
	for _, member := range p.wanted.Members {
		if member.Held {
			n++
		}
	}
	held.WithLabelValues(name).Set(float64(n))
	if balancer := statuses(p).shown(); balancer != nil {
		p.measureBalancer(name, balancer)
	}
}

func (p gauges) measureBalancer(name string, balancer *stack.LoadBalancer) {
	rules, certificates, groups := 0, 0, 0
	var first time.Time
	for _, l := range balancer.Listeners {
		rules, certificates = rules+len(l.Rules), certificates+len(l.Additional())
		for _, arn := range l.Certificates {
			if at := p.expiries[arn]; !at.IsZero() && (first.IsZero() || at.Before(first)) {
				first = at
			}
		}
	}
	for _, group := range p.seen.TargetGroups {
		if slices.Contains(group.LoadBalancers, balancer.ARN) {
			groups++
		}
	}
	used.WithLabelValues(name, quotaRules).Set(float64(rules))
	used.WithLabelValues(name, quotaCertificates).Set(float64(certificates))
	used.WithLabelValues(name, quotaTargetGroups).Set(float64(groups))
	if first.IsZero() {
		expires.DeleteLabelValues(name)
	} else {
		expires.WithLabelValues(name).Set(float64(first.Unix()))
	}
}

func value(of prometheus.Gauge) float64 {
	var read dto.Metric
	if err := of.Write(&read); err != nil {
		return 0
	}
	return read.GetGauge().GetValue()
}
