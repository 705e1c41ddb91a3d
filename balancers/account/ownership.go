// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"slices"

	"github.com/targetgate/targetgate/balancers/stack"
)

// kinds are those whose stacks are seen.
var kinds = []stack.Kind{stack.Ingresses}

// formerClusterTag is the key under which the incumbent once wrote the cluster's name.
func formerClusterTag(kind stack.Kind) string { return string(kind) + "/cluster" }

// clusterOf is the cluster that the tags name. The former tag counts only where the present one is absent: else whoever may write it, such
// as by an annotation in another cluster, would have this cluster take what is not its own.
func clusterOf(kind stack.Kind, tags map[string]string) string {
	if cluster, ok := tags[stack.ClusterTag]; ok {
		return cluster
	}
	return tags[formerClusterTag(kind)]
}

// Owner is the stack whose part the tags say that something is, and which part; without part it is none of ours.
func Owner(cluster string, tags map[string]string) (id stack.ID, part string) {
	for _, kind := range kinds {
		if clusterOf(kind, tags) != cluster {
			continue
		}
		name, part := tags[kind.StackTag()], tags[kind.ResourceTag()]
		if name != "" && part != "" {
			return stack.ID{Cluster: cluster, Kind: kind, Name: name}, part
		}
	}
	return stack.ID{}, ""
}

// isOfCluster reports whether the tags name the cluster.
func isOfCluster(cluster string, tags map[string]string) bool {
	return slices.ContainsFunc(kinds, func(kind stack.Kind) bool { return clusterOf(kind, tags) == cluster })
}

// isShared reports whether the tags are those of the security group that all load balancers of the cluster have.
func isShared(cluster string, tags map[string]string) bool {
	return tags[stack.ClusterTag] == cluster && tags[stack.SharedResourceTag] == stack.SharedPart
}
