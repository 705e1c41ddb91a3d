// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package input

import "github.com/targetgate/targetgate/balancers/stack"

// SeenLoadBalancer is the one that serves, else the first; nil if there is none.
func (in *Input) SeenLoadBalancer() *stack.LoadBalancer {
	return stack.Serving(in.Seen.LoadBalancers)
}

// SeenParts are the parts of the target groups that are seen, by ARN.
func (in *Input) SeenParts() map[string]string {
	parts := map[string]string{}
	for _, group := range in.Seen.TargetGroups {
		parts[group.ARN] = group.Part
	}
	return parts
}

// SeenFront is what stands in front of the load balancer; nil if nothing does.
func (in *Input) SeenFront() *stack.LoadBalancer {
	if in.Seen.Front == nil {
		return nil
	}
	return stack.Serving(in.Seen.Front.LoadBalancers)
}
