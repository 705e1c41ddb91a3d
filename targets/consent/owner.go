// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package consent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// OtherCluster is the cluster that the group's tags call its owner; empty when that is the binding's own, or nobody says. It is the one
// that has made the group, and of a group that no cluster has made the first one that may bind it, where the binding may not.
func (b Binder) OtherCluster(tags map[string]string) string {
	if maker := cmp.Or(tags[clusterTag], tags[oldClusterTag]); maker != "" {
		if maker == b.Cluster {
			return ""
		}
		return maker
	}
	if b.isNamed(tags) {
		return ""
	}
	for _, entry := range strings.Fields(tags[TagKey]) {
		cluster, _, named := strings.Cut(entry, "/")
		if named && cluster != "" && cluster != "+" && cluster != "*" && cluster != b.Cluster {
			return cluster
		}
	}
	return ""
}

// OwnerRefusal is why the binding may not have the group for itself by the group's tags, and what to do; empty when it may. The words do
// not show a tag's value.
func (b Binder) OwnerRefusal(tags map[string]string) string {
	if b.OtherCluster(tags) == "" || b.isNamed(tags) {
		return ""
	}
	return fmt.Sprintf("the target group's tags name another cluster, which may have targets in it: set multiClusterTargetGroup: true in the "+
		"bindings of both clusters, or name another target group. If the other cluster gives it up, its owner can add %s to its tag %s",
		b.entry(), TagKey)
}

// isNamed reports whether the group's owner has named the binding.
func (b Binder) isNamed(tags map[string]string) bool {
	return slices.ContainsFunc(strings.Fields(tags[TagKey]), b.isNamedBy)
}
