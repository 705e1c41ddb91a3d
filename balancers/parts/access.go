// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package parts

import (
	"maps"

	"github.com/targetgate/targetgate/balancers/stack"
)

// Access says who may send to a load balancer, and from which security group it sends to its targets.
type Access struct {
	Groups []stack.Ref           // of the load balancer
	Made   []stack.SecurityGroup // for it
	Peer   stack.Ref             // empty where targets' rules are the user's business
}

// AccessTo a load balancer with the security groups of these IDs, beside which it gets the shared one if rules of targets are managed;
// without any, with the one that managed describes.
func (o *Options) AccessTo(given []string, manage bool, managed func() stack.SecurityGroup) (a Access) {
	for _, id := range given {
		a.Groups = append(a.Groups, stack.Ref{ID: id})
	}
	if len(given) == 0 {
		a.Peer = stack.Ref{Part: stack.SecurityGroupPart}
		a.Groups = []stack.Ref{a.Peer}
		a.Made = []stack.SecurityGroup{managed()}
	}
	if !o.BackendSecurityGroups || len(given) > 0 && !manage {
		return a
	}
	a.Peer = stack.Ref{ID: o.BackendSecurityGroup}
	if a.Peer.ID == "" {
		a.Peer = stack.Ref{Part: stack.SharedPart}
		a.Made = append(a.Made, o.shared())
	}
	a.Groups = append(a.Groups, a.Peer)
	return a
}

// shared is the security group that all load balancers of a cluster have.
func (o *Options) shared() stack.SecurityGroup {
	tags := o.Tags()
	maps.Copy(tags, map[string]string{stack.ClusterTag: o.Cluster, stack.SharedResourceTag: stack.SharedPart})
	return stack.SecurityGroup{
		Name:        stack.BackendSecurityGroupName(o.Cluster),
		Description: stack.SharedDescription,
		Shared:      true,
		Tags:        tags,
	}
}

// GivenSecurityGroups are those of the load balancer that were made by others, and whether it has the shared one beside them. There are
// none if it has one that was made for it.
func (o *Options) GivenSecurityGroups(seen *stack.Stack, lb *stack.LoadBalancer) (given []string, backend bool) {
	shared := o.BackendSecurityGroup
	managed := ""
	for _, group := range seen.SecurityGroups {
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
