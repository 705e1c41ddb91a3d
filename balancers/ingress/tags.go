// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"maps"
	"slices"

	"github.com/targetgate/targetgate/balancers/stack"
)

// The values of resource tags, besides those of target groups, listeners and rules.
const (
	loadBalancerPart  = "LoadBalancer"
	securityGroupPart = "ManagedLBSecurityGroup"
	backendPart       = "backend-sg"
)

// IsTrackingTag reports whether what is made is found again by the tag of that key: users may not set it.
func IsTrackingTag(key string) bool {
	return slices.Contains([]string{stack.ClusterTag, stack.Ingresses.StackTag(), stack.Ingresses.ResourceTag()}, key)
}

// tagsOf are all tags of a part of the stack. Users' tags count the less the earlier they come; what finds the part again counts most.
func (in *Input) tagsOf(part string, users ...map[string]string) map[string]string {
	tags := in.Options.tags(users...)
	maps.Copy(tags, stack.Tags(in.Options.Cluster, stack.Ingresses, in.Group.String(), part))
	return tags
}

// tags are those of users with the default ones.
func (o *Options) tags(users ...map[string]string) map[string]string {
	layers := append(slices.Clone(users), o.DefaultTags)
	if o.DefaultTagsLast {
		layers = append([]map[string]string{o.DefaultTags}, users...)
	}
	tags := map[string]string{}
	for _, layer := range layers {
		maps.Copy(tags, layer)
	}
	return tags
}

// checkTags is the fault with the Reason filled in when users may not set one of the tags.
func (o *Options) checkTags(fault Fault, tags map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		switch {
		case IsTrackingTag(key):
			fault.Reason = fmt.Sprintf("the tag %s is the controller's own: leave it out", key)
			return fault
		case slices.Contains(o.ExternalTags, key):
			fault.Reason = fmt.Sprintf("the tag %s is left to others by --external-managed-tags: leave it out", key)
			return fault
		}
	}
	return nil
}
