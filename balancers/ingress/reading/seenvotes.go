// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package reading

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/stack"
)

// seenVoter is the voter that stands for what is seen.
type seenVoter struct{ voter }

// SeenVotes are what is seen of the settings that members share. They have no member.
func SeenVotes(in *input.Input) map[string]Vote {
	lb, v := in.SeenLoadBalancer(), &seenVoter{voter{Votes: map[string]Vote{}}}
	if lb == nil {
		return nil
	}
	v.add(annotation.LoadBalancerNameKey.Name, lb.Name, fault.Fault{})
	v.add(annotation.Scheme.Name, lb.Scheme, fault.Fault{})
	v.add(annotation.AddressType.Name, lb.AddressType, fault.Fault{})
	v.add(annotation.Subnets.Name, strings.Join(lb.Subnets, ","), fault.Fault{})
	if given, backend := in.Options.GivenSecurityGroups(&in.Seen, lb); len(given) > 0 {
		v.add(annotation.SecurityGroups.Name, strings.Join(given, ","), fault.Fault{})
		v.add(annotation.ManageBackendRules.Name, YesNo(backend), fault.Fault{})
	}
	if lb.Protection != nil {
		v.add(annotation.Shield.Name, YesNo(lb.Protection.ID != ""), fault.Fault{})
	}
	if lb.IPAMPool != "" {
		v.addText(annotation.IPAMPool.Name, lb.IPAMPool, fault.Fault{})
	}
	if lb.Capacity != nil {
		v.addText(annotation.Capacity.Name, decimal(int64(*lb.Capacity)), fault.Fault{})
	}
	v.addWebACLs(lb)
	v.addKeys(annotation.LoadBalancerAttributes.Name, lb.Attributes, fault.Fault{})
	v.addTags(annotation.Tags.Name, lb.Tags)
	for _, listener := range lb.Listeners {
		v.addListener(listener, in.Seen.InboundOfMade())
	}
	v.addFront(in.Seen.Front, in.SeenFront())
	return v.Votes
}

// addTags adds a vote for each tag that users may set.
func (v *seenVoter) addTags(setting string, tags map[string]string) {
	for key, value := range tags {
		if stack.ReservedBy(key) == "" {
			v.addText(stack.OfKey(setting, key), value, fault.Fault{})
		}
	}
}

func (v *seenVoter) addWebACLs(lb *stack.LoadBalancer) {
	if lb.WebACL != nil {
		v.add(annotation.WAFv2ACL.Name, cmp.Or(*lb.WebACL, annotation.NoWebACL), fault.Fault{})
	}
	if lb.ClassicACL != nil {
		v.addText(annotation.WAFClassicACL.Name, cmp.Or(*lb.ClassicACL, annotation.NoWebACL), fault.Fault{})
	}
	switch {
	case ptr.Deref(lb.WebACL, "") != "":
		v.addText(firewallSetting, firewall, fault.Fault{})
	case ptr.Deref(lb.ClassicACL, "") != "":
		v.addText(firewallSetting, classicFirewall, fault.Fault{})
	}
}

// SeenFallback is whose default backend the listener of the port is seen to have, as far as its target groups tell; nil for nobody's.
func SeenFallback(in *input.Input, readings []*Reading, port int32) *Reading {
	listener, parts := in.SeenLoadBalancer().ListenerOn(port), in.SeenParts()
	if listener == nil {
		return nil
	}
	i := slices.IndexFunc(readings, func(r *Reading) bool {
		return r.Fallback != nil && r.Listens(port) && slices.ContainsFunc(GroupsOf(listener.Default), func(arn string) bool {
			return slices.Contains(GroupsOf(r.Fallback.Action), cmp.Or(parts[arn], arn))
		})
	})
	if i < 0 {
		return nil
	}
	return readings[i]
}

func (v *seenVoter) addListener(listener stack.Listener, inbound []stack.Inbound) {
	v.add(stack.OfPort(protocolSetting, listener.Port), listener.Protocol, fault.Fault{})
	if listener.SSLPolicy != "" {
		v.add(stack.OfPort(annotation.SSLPolicy.Name, listener.Port), listener.SSLPolicy, fault.Fault{})
	}
	if listener.MutualAuth != nil {
		v.addText(stack.OfPort(annotation.MutualAuthentication.Name, listener.Port), mutualText(*listener.MutualAuth), fault.Fault{})
	}
	v.addKeys(stack.ListenerAttributes(listener.Protocol, listener.Port), listener.Attributes, fault.Fault{})
	if port, ok := redirectsTo(listener); ok {
		v.add(annotation.SSLRedirect.Name, port, fault.Fault{})
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
		v.add(stack.OfPort(annotation.InboundCIDRs.Name, listener.Port), strings.Join(cidrs, ","), fault.Fault{})
	}
	if len(lists) > 0 {
		v.add(stack.OfPort(annotation.PrefixLists.Name, listener.Port), strings.Join(lists, ","), fault.Fault{})
	}
}

// redirectsTo is the port to which all requests of an HTTP listener are redirected, if they are.
func redirectsTo(listener stack.Listener) (port string, ok bool) {
	to := listener.Default.Redirect
	if to == nil || listener.Protocol != string(annotation.HTTP) || *to != *RedirectAll(to.Port).Redirect {
		return "", false
	}
	_, err := strconv.Atoi(to.Port)
	return to.Port, err == nil
}

// RedirectAll redirects to the HTTPS listener of a port.
func RedirectAll(port string) stack.Action {
	return stack.Action{Redirect: &stack.Redirect{
		Protocol: string(annotation.HTTPS), Host: annotation.SameHost, Port: port, Path: annotation.SamePath, Query: annotation.SameQuery,
		Status: "HTTP_301",
	}}
}

// addFront adds what is seen in front of the load balancer.
func (v *seenVoter) addFront(seen *stack.Stack, lb *stack.LoadBalancer) {
	if lb == nil {
		return
	}
	v.add(annotation.EnableFront.Name, YesNo(true), fault.Fault{})
	v.add(annotation.FrontScheme.Name, lb.Scheme, fault.Fault{})
	v.add(annotation.FrontSubnets.Name, strings.Join(lb.Subnets, ","), fault.Fault{})
	if all := lb.Elastic(); len(all) > 0 && len(all) == len(lb.Subnets) {
		v.add(annotation.FrontAllocations.Name, strings.Join(all, ","), fault.Fault{})
	}
	ids := make([]string, len(lb.SecurityGroups))
	for i, group := range lb.SecurityGroups {
		ids[i] = group.ID
	}
	v.add(annotation.FrontSecurityGroups.Name, strings.Join(ids, ","), fault.Fault{})
	v.addKeys(annotation.FrontAttributes.Name, lb.Attributes, fault.Fault{})
	v.addTags(annotation.FrontTags.Name, lb.Tags)
	for _, group := range seen.TargetGroups {
		port, check := stack.FrontPort(group.Part), group.HealthCheck
		if group.TargetPort != 0 {
			v.add(FrontPort(port), decimal(int64(group.TargetPort)), fault.Fault{})
		}
		for name, value := range map[string]string{
			annotation.FrontCheckPort.Name: check.Port, annotation.FrontCheckProtocol.Name: check.Protocol,
			annotation.FrontCheckPath.Name: check.Path, annotation.FrontSuccessCodes.Name: check.Matcher,
			annotation.FrontCheckInterval.Name:      decimal(int64(check.Interval)),
			annotation.FrontCheckTimeout.Name:       decimal(int64(check.Timeout)),
			annotation.FrontHealthyThreshold.Name:   decimal(int64(check.Healthy)),
			annotation.FrontUnhealthyThreshold.Name: decimal(int64(check.Unhealthy)),
		} {
			v.addText(stack.OfPort(name, port), value, fault.Fault{})
		}
	}
}

// GroupsOf are the target groups that an action sends to.
func GroupsOf(action stack.Action) []string {
	if action.Forward == nil {
		return nil
	}
	var keys []string
	for _, weighted := range action.Forward.Groups {
		keys = append(keys, cmp.Or(weighted.Group.Part, weighted.Group.ID))
	}
	return keys
}
