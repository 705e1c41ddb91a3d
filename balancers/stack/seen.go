// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import "slices"

// Serving is the first load balancer that is active, else the first; nil if there is none.
func Serving(balancers []LoadBalancer) *LoadBalancer {
	if i := slices.IndexFunc(balancers, func(lb LoadBalancer) bool { return lb.Active }); i >= 0 {
		return &balancers[i]
	}
	if len(balancers) == 0 {
		return nil
	}
	return &balancers[0]
}

// InboundOfMade are the rules of the security group that was made for the load balancer.
func (s *Stack) InboundOfMade() []Inbound {
	for _, group := range s.SecurityGroups {
		if !group.Shared {
			return group.Inbound
		}
	}
	return nil
}

// ListenerOn is the listener of that port, nil if there is none or no load balancer.
func (b *LoadBalancer) ListenerOn(port int32) *Listener {
	if b == nil {
		return nil
	}
	for i := range b.Listeners {
		if b.Listeners[i].Port == port {
			return &b.Listeners[i]
		}
	}
	return nil
}
