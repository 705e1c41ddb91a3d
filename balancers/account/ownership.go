// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"strings"

	"github.com/targetgate/targetgate/balancers/stack"
)

// The values of the resource tag.
const (
	loadBalancerPart  = "LoadBalancer"
	securityGroupPart = "ManagedLBSecurityGroup"
	sharedPart        = "backend-sg"
	// otherGroups begins those of target groups that the incumbent makes for a Network Load Balancer in front. They are left alone.
	otherGroups = "FrontendNlb-"
)

// kinds are those whose stacks are seen.
var kinds = []stack.Kind{stack.Ingresses}

// legacyClusterTag is the key under which the incumbent once wrote the cluster's name.
func legacyClusterTag(kind stack.Kind) string { return string(kind) + "/cluster" }

// owner is the stack whose part the tags say that something is, and which part; without part it is none of ours.
func owner(cluster string, tags map[string]string) (id stack.ID, part string) {
	for _, kind := range kinds {
		if tags[stack.ClusterTag] != cluster && tags[legacyClusterTag(kind)] != cluster {
			continue
		}
		name, part := tags[kind.StackTag()], tags[kind.ResourceTag()]
		if name != "" && part != "" {
			return stack.ID{Cluster: cluster, Kind: kind, Name: name}, part
		}
	}
	return stack.ID{}, ""
}

// isShared reports whether the tags are those of the security group that all load balancers of the cluster have.
func isShared(cluster string, tags map[string]string) bool {
	return tags[stack.ClusterTag] == cluster && tags[stack.SharedResourceTag] == sharedPart
}

func isOwnGroup(part string) bool { return part != "" && !strings.HasPrefix(part, otherGroups) }
