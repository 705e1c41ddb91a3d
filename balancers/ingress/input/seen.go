// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package input

import (
	"slices"
	"strings"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/stack"
)

// SeenLoadBalancer is the one that serves, else the first; nil if there is none.
func (in *Input) SeenLoadBalancer() *stack.LoadBalancer {
	return stack.Serving(in.Seen.LoadBalancers)
}

// IsOthersName reports whether a name that a user gives a load balancer is, or may be, that of another group's. AWS may not tell capitals
// from small letters.
func (in *Input) IsOthersName(name string) bool {
	isSeen := func(b stack.LoadBalancer) bool { return b.Name == name }
	if !strings.HasPrefix(strings.ToLower(name), "k8s-") || slices.ContainsFunc(in.Seen.LoadBalancers, isSeen) {
		return false
	}
	return name != LoadBalancerName(in.Options.Cluster, in.Group, annotation.Internal) &&
		name != LoadBalancerName(in.Options.Cluster, in.Group, annotation.InternetFacing)
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
