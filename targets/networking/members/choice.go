// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"fmt"
	"slices"

	"github.com/targetgate/targetgate/aws/ec2"
)

const clusterTagPrefix = "kubernetes.io/cluster/"

// Choice says which of an interface's security groups gets the rules.
type Choice struct {
	Cluster string
	Tags    map[string]string // that the group must have besides the cluster's, where there are several
}

// of is the ID of the one security group, by the rule and with the errors of the incumbent: the only one, whatever its tags are, or the
// only one that has the cluster's tag, with any value, and all of the extra ones. The groups are those of the interface that exist.
func (c Choice) of(eni ec2.Interface, groups map[string]ec2.SecurityGroup) (string, error) {
	if len(eni.Groups) == 1 {
		return eni.Groups[0], nil
	}
	var tagged []string
	for _, id := range eni.Groups {
		if group, ok := groups[id]; ok && c.matches(group.Tags) {
			tagged = append(tagged, id)
		}
	}
	if len(tagged) == 1 {
		return tagged[0], nil
	}
	slices.Sort(tagged)
	key := clusterTagPrefix + c.Cluster
	if len(c.Tags) > 0 {
		return "", fmt.Errorf("expected exactly one securityGroup tagged with %v and %v for eni %v, got: %v (clusterName: %v)",
			key, c.Tags, eni.ID, tagged, c.Cluster)
	}
	return "", fmt.Errorf("expected exactly one securityGroup tagged with %v for eni %v, got: %v (clusterName: %v)",
		key, eni.ID, tagged, c.Cluster)
}

func (c Choice) matches(tags map[string]string) bool {
	if _, ok := tags[clusterTagPrefix+c.Cluster]; !ok {
		return false
	}
	for key, value := range c.Tags {
		if got, ok := tags[key]; !ok || got != value {
			return false
		}
	}
	return true
}
