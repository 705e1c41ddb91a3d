// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/targetgate/targetgate/balancers/stack"
)

// assemble has the stacks that were swept, without details, and the security groups that they share. What we have deleted is left out;
// what we have made has its tags. The caller holds the lock.
func (v *View) assemble(s swept) (entries map[stack.ID]*entry, shared []stack.SecurityGroup, err error) {
	entries = map[stack.ID]*entry{}
	known := v.known()
	of := func(id stack.ID) *stack.Stack {
		if entries[id] == nil {
			entries[id] = &entry{seen: stack.Stack{ID: id}}
		}
		return &entries[id].seen
	}
	for _, b := range s.balancers {
		tags, id, part := v.owned(aws.ToString(b.LoadBalancerArn), s.tags[aws.ToString(b.LoadBalancerArn)], known)
		if balancer := loadBalancer(b, tags); part == balancer.Part() {
			in := of(id).In(balancer.Network)
			in.LoadBalancers = append(in.LoadBalancers, balancer)
		}
	}
	for _, g := range s.groups {
		tags, id, part := v.owned(aws.ToString(g.TargetGroupArn), s.tags[aws.ToString(g.TargetGroupArn)], known)
		if part != "" {
			in, group := of(id).In(stack.IsFrontGroup(part)), targetGroup(g, part, tags)
			group.LoadBalancers = slices.DeleteFunc(group.LoadBalancers, func(arn string) bool { return !v.gone[arn].IsZero() })
			in.TargetGroups = append(in.TargetGroups, group)
		}
	}
	shared, err = v.assembleSecurityGroups(s, known, of)
	for _, e := range entries {
		for _, s := range e.seen.All() {
			sortParts(s)
		}
	}
	return entries, shared, err
}

func (v *View) assembleSecurityGroups(s swept, known map[string]place, of func(stack.ID) *stack.Stack) (
	shared []stack.SecurityGroup, err error,
) {
	for _, g := range s.security {
		group, err := securityGroup(g)
		if err != nil {
			return nil, err
		}
		switch _, id, part := v.owned(group.ID, group.Tags, known); {
		case part == stack.SecurityGroupPart:
			of(id).SecurityGroups = append(of(id).SecurityGroups, group)
		case part == stack.SharedPart || isShared(v.Cluster, group.Tags) && v.gone[group.ID].IsZero():
			group.Shared = true
			shared = append(shared, group)
		}
	}
	return shared, nil
}

// owned is whose part something is. What we have made a short time ago has the tags that we gave it, though AWS does not show them yet;
// what we have deleted is nobody's. What is known stays what it is while it has the cluster's tag: somebody else has changed its others.
func (v *View) owned(arn string, tags map[string]string, known map[string]place) (shown map[string]string, id stack.ID, part string) {
	if !v.gone[arn].IsZero() {
		return nil, stack.ID{}, ""
	}
	if before, ok := known[arn]; ok && isOfCluster(v.Cluster, tags) {
		return tags, before.in, before.part
	}
	if id, part = Owner(v.Cluster, tags); part == "" {
		tags = v.made[arn].tags
		id, part = Owner(v.Cluster, tags)
	}
	return tags, id, part
}

// dropOld forgets what AWS has had the time to show. The caller holds the lock.
func (v *View) dropOld(now time.Time) {
	for arn, m := range v.made {
		if now.Sub(m.at) >= lag {
			delete(v.made, arn)
		}
	}
	for _, times := range []map[string]time.Time{v.gone, v.awaited} {
		maps.DeleteFunc(times, func(_ string, at time.Time) bool { return now.Sub(at) >= lag })
	}
}

// isYoung reports whether a part of the stack was made a short time ago. The caller holds the lock.
func (v *View) isYoung(s stack.Stack) bool {
	var young stack.Stack
	v.addYoung(&young, s)
	return young.Front != nil || len(young.LoadBalancers)+len(young.TargetGroups)+len(young.SecurityGroups) > 0
}

// addYoung adds the parts that were made a short time ago and are not listed by AWS yet. The caller holds the lock.
func (v *View) addYoung(now *stack.Stack, old stack.Stack) {
	isYoung := func(id string) bool { return v.made[id].tags != nil }
	now.LoadBalancers = addMissing(now.LoadBalancers, old.LoadBalancers, func(b stack.LoadBalancer) string { return b.ARN }, isYoung)
	now.TargetGroups = addMissing(now.TargetGroups, old.TargetGroups, func(g stack.TargetGroup) string { return g.ARN }, isYoung)
	now.SecurityGroups = addMissing(now.SecurityGroups, old.SecurityGroups, func(g stack.SecurityGroup) string { return g.ID }, isYoung)
	if old.Front != nil && v.isYoung(*old.Front) {
		v.addYoung(now.In(true), *old.Front)
	}
}

// addMissing adds the parts that were known before and are not there now, as far as they are young.
func addMissing[Part any](now, old []Part, id func(Part) string, isYoung func(id string) bool) []Part {
	for _, part := range old {
		same := func(other Part) bool { return id(other) == id(part) }
		if isYoung(id(part)) && !slices.ContainsFunc(now, same) {
			now = append(now, part)
		}
	}
	return now
}

// keepKnown has load balancers have the details that they had before. When these are read again, AWS may not show all of them yet.
func keepKnown(now *stack.Stack, old stack.Stack) {
	for i := range now.LoadBalancers {
		b := &now.LoadBalancers[i]
		for _, before := range old.LoadBalancers {
			if before.ARN == b.ARN {
				b.Listeners, b.Attributes = before.Listeners, before.Attributes
			}
		}
	}
	if now.Front != nil && old.Front != nil {
		keepKnown(now.Front, *old.Front)
	}
}

// sortParts has parts in the same order each time.
func sortParts(s *stack.Stack) {
	slices.SortFunc(s.LoadBalancers, func(a, b stack.LoadBalancer) int { return strings.Compare(a.ARN, b.ARN) })
	slices.SortFunc(s.TargetGroups, func(a, b stack.TargetGroup) int { return strings.Compare(a.ARN, b.ARN) })
	slices.SortFunc(s.SecurityGroups, func(a, b stack.SecurityGroup) int { return strings.Compare(a.ID, b.ID) })
}

// place is which part of which stack something is; of no stack what all stacks share.
type place struct {
	in   stack.ID
	part string
}

// known are the places of all load balancers, target groups and security groups, by ARN or ID. The caller holds the lock.
func (v *View) known() map[string]place {
	out := map[string]place{}
	for id, e := range v.entries {
		for _, s := range e.seen.All() {
			for _, b := range s.LoadBalancers {
				out[b.ARN] = place{id, b.Part()}
			}
			for _, g := range s.TargetGroups {
				out[g.ARN] = place{id, g.Part}
			}
			for _, g := range s.SecurityGroups {
				out[g.ID] = place{id, stack.SecurityGroupPart}
			}
		}
	}
	for _, g := range v.shared {
		out[g.ID] = place{part: stack.SharedPart}
	}
	return out
}
