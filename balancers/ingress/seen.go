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
	r.add(LoadBalancerNameKey.Name, lb.Name, Fault{})
	r.add(Scheme.Name, lb.Scheme, Fault{})
	r.add(AddressType.Name, lb.AddressType, Fault{})
	r.add(Subnets.Name, strings.Join(lb.Subnets, ","), Fault{})
	if given, backend := in.givenSecurityGroups(lb); len(given) > 0 {
		r.add(SecurityGroups.Name, strings.Join(given, ","), Fault{})
		r.add(ManageBackendRules.Name, yesNo(backend), Fault{})
	}
	if lb.Protection != nil {
		r.add(Shield.Name, yesNo(lb.Protection.ID != ""), Fault{})
	}
	if lb.IPAMPool != "" {
		r.addText(IPAMPool.Name, lb.IPAMPool, Fault{})
	}
	if lb.Capacity != nil {
		r.addText(Capacity.Name, decimal(int64(*lb.Capacity)), Fault{})
	}
	r.addSeenWebACLs(lb)
	r.addKeys(LoadBalancerAttributes.Name, lb.Attributes, Fault{})
	r.addKeys(Tags.Name, lb.Tags, Fault{})
	for _, part := range []string{stack.ClusterTag, stack.Ingresses.StackTag(), stack.Ingresses.ResourceTag()} {
		delete(r.votes, keyed(Tags.Name, part))
	}
	for _, listener := range lb.Listeners {
		r.addSeenListener(listener, in.seenInbound())
	}
	r.addSeenFront(in.Seen.Front, in.seenFront())
	return r.votes
}

func (r *reading) addSeenWebACLs(lb *stack.LoadBalancer) {
	if lb.WebACL != nil {
		r.add(WAFv2ACL.Name, cmp.Or(*lb.WebACL, noWebACL), Fault{})
	}
	if lb.ClassicACL != nil {
		r.addText(WAFClassicACL.Name, cmp.Or(*lb.ClassicACL, noWebACL), Fault{})
	}
	switch {
	case ptr.Deref(lb.WebACL, "") != "":
		r.addText(firewallSetting, firewall, Fault{})
	case ptr.Deref(lb.ClassicACL, "") != "":
		r.addText(firewallSetting, classicFirewall, Fault{})
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
	r.add(of(protocolSetting, listener.Port), listener.Protocol, Fault{})
	if listener.SSLPolicy != "" {
		r.add(of(SSLPolicy.Name, listener.Port), listener.SSLPolicy, Fault{})
	}
	if listener.MutualAuth != nil {
		r.addText(of(MutualAuthentication.Name, listener.Port), mutualText(*listener.MutualAuth), Fault{})
	}
	r.addKeys(attributesOf(Protocol(listener.Protocol), listener.Port), listener.Attributes, Fault{})
	if port, ok := redirectsTo(listener); ok {
		r.add(SSLRedirect.Name, port, Fault{})
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
		r.add(of(InboundCIDRs.Name, listener.Port), strings.Join(cidrs, ","), Fault{})
	}
	if len(lists) > 0 {
		r.add(of(PrefixLists.Name, listener.Port), strings.Join(lists, ","), Fault{})
	}
}

// redirectsTo is the port to which all requests of an HTTP listener are redirected, if they are.
func redirectsTo(listener stack.Listener) (port string, ok bool) {
	to := listener.Default.Redirect
	if to == nil || listener.Protocol != string(HTTP) || *to != *redirectAll(to.Port).Redirect {
		return "", false
	}
	_, err := strconv.Atoi(to.Port)
	return to.Port, err == nil
}

// redirectAll redirects to the HTTPS listener of a port.
func redirectAll(port string) stack.Action {
	return stack.Action{Redirect: &stack.Redirect{
		Protocol: string(HTTPS), Host: sameHost, Port: port, Path: samePath, Query: sameQuery, Status: "HTTP_301",
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
