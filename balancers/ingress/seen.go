// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/stack"
)

// seenLoadBalancer is the one that serves, else the first; nil if there is none.
func (in *Input) seenLoadBalancer() *stack.LoadBalancer {
	return serving(in.Seen.LoadBalancers)
}

// serving is the first that is active, else the first; nil if there is none.
func serving(balancers []stack.LoadBalancer) *stack.LoadBalancer {
	if i := slices.IndexFunc(balancers, func(lb stack.LoadBalancer) bool { return lb.Active }); i >= 0 {
		return &balancers[i]
	}
	if len(balancers) == 0 {
		return nil
	}
	return &balancers[0]
}

// seenVotes are what is seen of the settings that members share. They have no member.
func (in *Input) seenVotes() map[string]vote {
	lb, r := in.seenLoadBalancer(), &reading{votes: map[string]vote{}}
	if lb == nil {
		return nil
	}
	r.add(annotation.LoadBalancerNameKey.Name, lb.Name, annotation.Fault{})
	r.add(annotation.Scheme.Name, lb.Scheme, annotation.Fault{})
	r.add(annotation.AddressType.Name, lb.AddressType, annotation.Fault{})
	r.add(annotation.Subnets.Name, strings.Join(lb.Subnets, ","), annotation.Fault{})
	if given, backend := in.givenSecurityGroups(lb); len(given) > 0 {
		r.add(annotation.SecurityGroups.Name, strings.Join(given, ","), annotation.Fault{})
		r.add(annotation.ManageBackendRules.Name, yesNo(backend), annotation.Fault{})
	}
	if lb.Protection != nil {
		r.add(annotation.Shield.Name, yesNo(lb.Protection.ID != ""), annotation.Fault{})
	}
	if lb.IPAMPool != "" {
		r.addText(annotation.IPAMPool.Name, lb.IPAMPool, annotation.Fault{})
	}
	if lb.Capacity != nil {
		r.addText(annotation.Capacity.Name, decimal(int64(*lb.Capacity)), annotation.Fault{})
	}
	r.addSeenWebACLs(lb)
	r.addKeys(annotation.LoadBalancerAttributes.Name, lb.Attributes, annotation.Fault{})
	r.addKeys(annotation.Tags.Name, lb.Tags, annotation.Fault{})
	for _, part := range []string{stack.ClusterTag, stack.Ingresses.StackTag(), stack.Ingresses.ResourceTag()} {
		delete(r.votes, keyed(annotation.Tags.Name, part))
	}
	for _, listener := range lb.Listeners {
		r.addSeenListener(listener, in.seenInbound())
	}
	r.addSeenFront(in.Seen.Front, in.seenFront())
	return r.votes
}

func (r *reading) addSeenWebACLs(lb *stack.LoadBalancer) {
	if lb.WebACL != nil {
		r.add(annotation.WAFv2ACL.Name, cmp.Or(*lb.WebACL, annotation.NoWebACL), annotation.Fault{})
	}
	if lb.ClassicACL != nil {
		r.addText(annotation.WAFClassicACL.Name, cmp.Or(*lb.ClassicACL, annotation.NoWebACL), annotation.Fault{})
	}
	switch {
	case ptr.Deref(lb.WebACL, "") != "":
		r.addText(firewallSetting, firewall, annotation.Fault{})
	case ptr.Deref(lb.ClassicACL, "") != "":
		r.addText(firewallSetting, classicFirewall, annotation.Fault{})
	}
}

// addSeenFallbacks adds whose default backends the listeners have, as far as their target groups tell.
func (in *Input) addSeenFallbacks(readings []*reading, seen map[string]vote) {
	lb, parts := in.seenLoadBalancer(), in.seenParts()
	if lb == nil {
		return
	}
	for _, listener := range lb.Listeners {
		for _, r := range readings {
			if r.fallback == nil {
				continue
			}
			wanted := groupsOf(r.fallback.Action)
			if slices.ContainsFunc(groupsOf(listener.Default), func(arn string) bool { return slices.Contains(wanted, cmp.Or(parts[arn], arn)) }) {
				seen[of(fallbackSetting, listener.Port)] = vote{text: r.name, same: r.name}
			}
		}
	}
}

// seenParts are the parts of the target groups that are seen, by ARN.
func (in *Input) seenParts() map[string]string {
	parts := map[string]string{}
	for _, group := range in.Seen.TargetGroups {
		parts[group.ARN] = group.Part
	}
	return parts
}

func (r *reading) addSeenListener(listener stack.Listener, inbound []stack.Inbound) {
	r.add(of(protocolSetting, listener.Port), listener.Protocol, annotation.Fault{})
	if listener.SSLPolicy != "" {
		r.add(of(annotation.SSLPolicy.Name, listener.Port), listener.SSLPolicy, annotation.Fault{})
	}
	if listener.MutualAuth != nil {
		r.addText(of(annotation.MutualAuthentication.Name, listener.Port), mutualText(*listener.MutualAuth), annotation.Fault{})
	}
	r.addKeys(attributesOf(annotation.Protocol(listener.Protocol), listener.Port), listener.Attributes, annotation.Fault{})
	if port, ok := redirectsTo(listener); ok {
		r.add(annotation.SSLRedirect.Name, port, annotation.Fault{})
	}
	var cidrs, lists []string
	for _, rule := range inbound {
		switch _, err := netip.ParsePrefix(rule.Source); {
		case rule.From != listener.Port || rule.To != listener.Port:
		case err == nil:
			cidrs = append(cidrs, rule.Source)
		case strings.HasPrefix(rule.Source, "pl-"):
			lists = append(lists, rule.Source)
		}
	}
	if len(cidrs) > 0 {
		r.add(of(annotation.InboundCIDRs.Name, listener.Port), strings.Join(cidrs, ","), annotation.Fault{})
	}
	if len(lists) > 0 {
		r.add(of(annotation.PrefixLists.Name, listener.Port), strings.Join(lists, ","), annotation.Fault{})
	}
}

// redirectsTo is the port to which all requests of an HTTP listener are redirected, if they are.
func redirectsTo(listener stack.Listener) (port string, ok bool) {
	to := listener.Default.Redirect
	if to == nil || listener.Protocol != string(annotation.HTTP) || *to != *redirectAll(to.Port).Redirect {
		return "", false
	}
	_, err := strconv.Atoi(to.Port)
	return to.Port, err == nil
}

// redirectAll redirects to the HTTPS listener of a port.
func redirectAll(port string) stack.Action {
	return stack.Action{Redirect: &stack.Redirect{
		Protocol: string(annotation.HTTPS), Host: annotation.SameHost, Port: port, Path: annotation.SamePath, Query: annotation.SameQuery,
		Status: "HTTP_301",
	}}
}

// givenSecurityGroups are those of the load balancer that were made by others, and whether it has the shared one beside them. There are
// none if it has one that was made for it.
func (in *Input) givenSecurityGroups(lb *stack.LoadBalancer) (given []string, backend bool) {
	shared := in.Options.BackendSecurityGroup
	managed := ""
	for _, group := range in.Seen.SecurityGroups {
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

// seenInbound are the rules of the security group that was made for the load balancer.
func (in *Input) seenInbound() []stack.Inbound {
	for _, group := range in.Seen.SecurityGroups {
		if !group.Shared {
			return group.Inbound
		}
	}
	return nil
}

func seenListener(lb *stack.LoadBalancer, port int32) *stack.Listener {
	if lb == nil {
		return nil
	}
	for i := range lb.Listeners {
		if lb.Listeners[i].Port == port {
			return &lb.Listeners[i]
		}
	}
	return nil
}
