// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/reading"
	"github.com/targetgate/targetgate/balancers/stack"
)

// settle has a Network Load Balancer that stays keep what AWS changes of none: the Elastic IP addresses of its subnets. Those who ask for
// others are told.
func (d frontBuilder) settle(lb *stack.LoadBalancer) {
	seen := d.in.SeenFront()
	if seen == nil || seen.Scheme != lb.Scheme {
		return
	}
	d.frontStays = map[string]string{}
	asked := lb.Allocations
	allocations := make([]string, len(lb.Subnets))
	for i, id := range lb.Subnets {
		switch {
		case slices.Contains(seen.Subnets, id):
			allocations[i] = seen.Allocation(id)
		case len(asked) > 0: // one for each subnet
			allocations[i] = asked[i]
		}
	}
	lb.Allocations = allocations
	kept := lb.Elastic()
	if len(kept) == 0 {
		lb.Allocations = nil
	}
	if len(asked) > 0 && !slices.Equal(slices.Sorted(slices.Values(asked)), slices.Sorted(slices.Values(kept))) {
		d.frontStays[annotation.FrontAllocations.Name] = "a Network Load Balancer keeps the addresses that it was made with, in AWS: want " +
			cmp.Or(strings.Join(kept, ","), "none, as this one has Amazon's")
	}
}

// warnOfStays tells those who ask for what AWS does not change.
func (d frontBuilder) warnOfStays(warn func(*reading.Reading, annotation.Fault)) {
	for _, setting := range slices.Sorted(maps.Keys(d.frontStays)) {
		for r, fault := range d.voters(setting, d.frontStays[setting]) {
			warn(r, fault)
		}
	}
}
