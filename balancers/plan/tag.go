// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"slices"
	"strings"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// formerTags are those of the incumbent's former versions, besides kubernetes.io/cluster/NAME. They are never removed.
var formerTags = []string{
	"kubernetes.io/cluster-name", "kubernetes.io/namespace", "kubernetes.io/ingress-name", "kubernetes.io/service-name",
	"kubernetes.io/service-port", "ingress.k8s.aws/cluster",
}

// tag brings the tags of all parts that are seen and stay to what is wanted.
func (p *planner) tag() {
	if p.balancer != nil {
		p.retag(p.to(), withoutCluster(p.wanted.LoadBalancers[0].Tags), p.balancer.Tags)
	}
	for _, group := range p.wanted.SecurityGroups {
		if seen := p.seenSecurityGroup(group.Part()); seen != nil {
			p.retag(stack.Ref{ID: seen.ID, Part: seen.Part()}, withoutCluster(group.Tags), seen.Tags)
		}
	}
	for _, g := range p.groups {
		if g.seen != nil {
			p.retag(g.ref(), withoutCluster(g.wanted.Tags), g.seen.Tags)
		}
	}
	for _, l := range p.listeners.list {
		if l.gone || l.seen == nil {
			continue
		}
		p.retag(l.ref(), versioned(l.wanted.Tags, l.wanted.Default, l.seen.Default), l.seen.Tags)
		for i, at := range l.places {
			if at.seen != nil {
				wanted := versioned(l.ruleTags(i, p.wanted.ID.Kind), at.final.Action, at.seen.Action)
				p.retag(ruleRef(l, at.seen), wanted, at.seen.Tags)
			}
		}
	}
}

// versioned are the wanted tags without the version of a client secret that is only assumed and stays, so that adopting what the incumbent
// has made changes nothing. One that an earlier pass has written gets its tag, as that pass may not have come to it.
func versioned(wanted map[string]string, to, seen stack.Action) map[string]string {
	if wanted == nil || !seen.IsVersionAssumed() || to.SecretVersion() != seen.SecretVersion() {
		return wanted
	}
	wanted = maps.Clone(wanted)
	delete(wanted, stack.SecretTag)
	return wanted
}

// withoutCluster are tags without that of the cluster, by which parts are found that a load balancer does not list: it stays as it is.
func withoutCluster(tags map[string]string) map[string]string {
	tags = maps.Clone(tags)
	delete(tags, stack.ClusterTag)
	return tags
}

// retag does nothing to a part of which no tags are wanted. A tag that users may not set stays until something else changes: the incumbent
// has set it for them, and adopting what it has made changes nothing.
func (p *planner) retag(of stack.Ref, wanted, seen map[string]string) {
	if wanted == nil {
		return
	}
	add := map[string]string{}
	for key, value := range wanted {
		if has, ok := seen[key]; !ok || has != value {
			add[key] = value
		}
	}
	if len(add) > 0 {
		p.doLate("tags differ", steps.Tag{Of: of, Tags: add})
	}
	remove, reserved := p.surplusTags(wanted, seen)
	if len(reserved) > 0 && len(p.plan) > 0 { // at once: later nothing else may change
		p.do("users may not set them", steps.Untag{Of: of, Keys: reserved})
	}
	if len(remove) > 0 {
		p.doLate("no member wants them", steps.Untag{Of: of, Keys: remove})
	}
}

// surplusTags are the keys of those that are not wanted, and of those that users may not set.
func (p *planner) surplusTags(wanted, seen map[string]string) (remove, reserved []string) {
	for _, key := range slices.Sorted(maps.Keys(seen)) {
		switch _, ok := wanted[key]; {
		case ok || p.keepsTag(key):
		case stack.ReservedBy(key) != "" && key != stack.SecretTag && key != stack.OrphanTag: // which are ours
			reserved = append(reserved, key)
		default:
			remove = append(remove, key)
		}
	}
	return remove, reserved
}

func (p *planner) keepsTag(key string) bool {
	return key == stack.ClusterTag || strings.HasPrefix(key, "aws:") || slices.Contains(formerTags, key) ||
		key == "kubernetes.io/cluster/"+p.wanted.ID.Cluster || p.options.KeepTag != nil && p.options.KeepTag(key)
}
