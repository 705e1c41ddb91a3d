// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/reading"
	"github.com/targetgate/targetgate/balancers/stack"
)

// settle has a Network Load Balancer that stays keep what AWS does not change of it: the subnet of a zone, and the Elastic IP address of a
// subnet. Those who want others are told.
func (d frontBuilder) settle(lb *stack.LoadBalancer) {
	seen := d.in.SeenFront()
	if seen == nil || seen.Scheme != lb.Scheme {
		return
	}
	d.frontStays = map[string]string{}
	d.settleSubnets(lb, seen)
	d.settleAllocations(lb, seen)
}

func (d frontBuilder) settleSubnets(lb, seen *stack.LoadBalancer) {
	present := map[string]string{} // by zone
	for _, id := range seen.Subnets {
		if subnet := d.in.AWS.Subnet(id); subnet != nil {
			present[subnet.Zone] = id
		}
	}
	lb.Subnets = slices.Clone(lb.Subnets)
	for i, id := range lb.Subnets {
		subnet := d.in.AWS.Subnet(id)
		if subnet == nil || slices.Contains(seen.Subnets, id) || present[subnet.Zone] == "" {
			continue
		}
		lb.Subnets[i] = present[subnet.Zone]
		d.frontStays[annotation.FrontSubnets.Name] = "the Network Load Balancer is in zone " + subnet.Zone + " by " + lb.Subnets[i] +
			", and AWS does not exchange that for " + id + ": set " + lb.Subnets[i] + ", or no subnet of the zone until it has left it"
	}
}

func (d frontBuilder) settleAllocations(lb, seen *stack.LoadBalancer) {
	asked := lb.Allocations
	lb.Allocations = make([]string, len(lb.Subnets))
	for i, id := range lb.Subnets {
		switch {
		case slices.Contains(seen.Subnets, id):
			lb.Allocations[i] = seen.Allocation(id)
		case len(asked) > 0: // one for each subnet
			lb.Allocations[i] = asked[i]
		}
	}
	has := lb.Elastic()
	if len(has) == 0 {
		lb.Allocations = nil
	}
	if len(asked) > 0 && !sameItems(asked, has) {
		d.frontStays[annotation.FrontAllocations.Name] = "AWS does not change the addresses of a Network Load Balancer: set " +
			cmp.Or(strings.Join(has, ","), "none, as this one was made without")
	}
}

// warnOfStays tells those who ask for what AWS does not change.
func (d frontBuilder) warnOfStays(warn func(*reading.Reading, fault.Fault)) {
	for _, setting := range slices.Sorted(maps.Keys(d.frontStays)) {
		for r, fault := range d.voters(setting, d.frontStays[setting]) {
			warn(r, fault)
		}
	}
}
