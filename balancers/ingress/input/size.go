// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package input

import (
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/balancers/parts"
)

// Sizes are how many rules, paths and hosts an Ingress may have to be read, by the quotas of the account.
type Sizes struct{ parts.Limits }

// Sizes are those of the quotas.
func (o Options) Sizes() Sizes { return Sizes{o.Limits} }

// MostPaths is how many paths an Ingress may have to be read: five times the rules of a load balancer. Somewhat more paths than rules may
// fit, as rules that no request needs are left out. AWS has 100 rules for a load balancer, unless the quota is raised
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html).
func (s Sizes) MostPaths() int { return 5 * s.Rules }

// MostEntries is how many rules, paths, entries of spec.tls and hosts there an Ingress may have in all to be read.
func (s Sizes) MostEntries() int { return 10 * s.MostPaths() }

// HasTooMany reports whether an Ingress has more than that.
func (s Sizes) HasTooMany(ingress *networkingv1.Ingress) bool {
	entries := len(ingress.Spec.Rules) + PathsOf(ingress) + len(ingress.Spec.TLS)
	for _, tls := range ingress.Spec.TLS {
		entries += len(tls.Hosts)
	}
	return entries > s.MostEntries()
}

// Strip returns a cache transform that leaves of the rules and TLS of an Ingress with too many only that: hundreds of thousands of empty
// ones fit into one that is stored, and an Ingress that has too many is held, whatever they are.
func (s Sizes) Strip() func(any) (any, error) {
	tooMany := make([]networkingv1.IngressRule, s.MostEntries()+1) // shared, as nobody changes what is in a cache
	return func(o any) (any, error) {
		if ingress, ok := o.(*networkingv1.Ingress); ok && s.HasTooMany(ingress) {
			ingress.Spec.Rules, ingress.Spec.TLS = tooMany, nil
		}
		return o, nil
	}
}
