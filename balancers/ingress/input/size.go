// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package input

import networkingv1 "k8s.io/api/networking/v1"

// MostEntries is how many rules, paths, entries of spec.tls and hosts there an Ingress may have in all to be read.
func (l Limits) MostEntries() int { return 10 * l.MostPaths() }

// HasTooMany reports whether an Ingress has more than that.
func (l Limits) HasTooMany(ingress *networkingv1.Ingress) bool {
	entries := len(ingress.Spec.Rules) + PathsOf(ingress) + len(ingress.Spec.TLS)
	for _, tls := range ingress.Spec.TLS {
		entries += len(tls.Hosts)
	}
	return entries > l.MostEntries()
}

// Strip returns a cache transform that leaves of the rules and TLS of an Ingress with too many only that: hundreds of thousands of empty
// ones fit into one that is stored, and an Ingress that has too many is held, whatever they are.
func (l Limits) Strip() func(any) (any, error) {
	tooMany := make([]networkingv1.IngressRule, l.MostEntries()+1) // shared, as nobody changes what is in a cache
	return func(o any) (any, error) {
		if ingress, ok := o.(*networkingv1.Ingress); ok && l.HasTooMany(ingress) {
			ingress.Spec.Rules, ingress.Spec.TLS = tooMany, nil
		}
		return o, nil
	}
}
