// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package input

import (
	"slices"

	"github.com/targetgate/targetgate/balancers/stack"
)

// SeenLoadBalancer is the one that serves, else the first; nil if there is none.
func (in *Input) SeenLoadBalancer() *stack.LoadBalancer {
	return serving(in.Seen.LoadBalancers)
}

// serving is the first that is active, else the first; nil if there is none.
func serving(balancers []stack.LoadBalancer) *stack.LoadBalancer {
	if i := slices.IndexFunc(balancers, func(lb stack.LoadBalancer) bool { return lb.Active }); i >= 0 {
		return &balancers[i]
	}
	if len(balancers) == 0 {
		return nil
	}
	return &balancers[0]
}

// SeenParts are the parts of the target groups that are seen, by ARN.
func (in *Input) SeenParts() map[string]string {
	parts := map[string]string{}
	for _, group := range in.Seen.TargetGroups {
		parts[group.ARN] = group.Part
	}
	return parts
}

// GivenSecurityGroups are those of the load balancer that were made by others, and whether it has the shared one beside them. There are
// none if it has one that was made for it.
func (in *Input) GivenSecurityGroups(lb *stack.LoadBalancer) (given []string, backend bool) {
	shared := in.Options.BackendSecurityGroup
	managed := ""
	for _, group := range in.Seen.SecurityGroups {
		if group.Shared && shared == "" {
			shared = group.ID
		} else if !group.Shared {
			managed = group.ID
		}
	}
	for _, ref := range lb.SecurityGroups {
		switch ref.ID {
		case shared:
			backend = true
		case managed:
			return nil, false
		default:
			given = append(given, ref.ID)
		}
	}
	return given, backend
}

// SeenInbound are the rules of the security group that was made for the load balancer.
func (in *Input) SeenInbound() []stack.Inbound {
	for _, group := range in.Seen.SecurityGroups {
		if !group.Shared {
			return group.Inbound
		}
	}
	return nil
}

// SeenListener is the listener of that port, nil if there is none or no load balancer.
func SeenListener(lb *stack.LoadBalancer, port int32) *stack.Listener {
	if lb == nil {
		return nil
	}
	for i := range lb.Listeners {
		if lb.Listeners[i].Port == port {
			return &lb.Listeners[i]
		}
	}
	return nil
}

// SeenFront is what stands in front of the load balancer; nil if nothing does.
func (in *Input) SeenFront() *stack.LoadBalancer {
	if in.Seen.Front == nil {
		return nil
	}
	return serving(in.Seen.Front.LoadBalancers)
}
