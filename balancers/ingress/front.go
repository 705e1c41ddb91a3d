// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/targetgate/targetgate/balancers/stack"
)

// tcp is the protocol of the listeners in front.
const tcp = "TCP"

var parseAllocations = listOf("", regexp.MustCompile(`^eipalloc-[0-9a-f]+$`), "an ID such as eipalloc-0123456789abcdef0")

// parseFrontPorts parses ports of the load balancer by ports in front of it.
func parseFrontPorts(value string) (map[string]string, error) {
	pairs, err := parseMap(value)
	for front, behind := range pairs {
		for _, port := range []string{front, behind} {
			if _, err := intBetween(1, 65535)(port); err != nil {
				return nil, fmt.Errorf("port %.20q: %w", port, err)
			}
		}
	}
	return pairs, err
}

func parseCheckPort(value string) (string, error) {
	if _, err := intBetween(1, 65535)(value); err != nil && value != trafficPort {
		return "", fmt.Errorf("%w, or %s", err, trafficPort)
	}
	return value, nil
}

func parseFrontCodes(value string) (string, error) { return value, codesWithin(value, 200, 599) }

// readFront reads what is to stand in front of the group's load balancer.
func (r *reading) readFront() {
	say(r, EnableFront, "", "", yesNo)
	say(r, FrontScheme, "", "", asIs)
	subnets, _ := get(r, FrontSubnets)
	r.addSubnets(FrontSubnets.Name, subnets, Fault{Annotation: Prefix + FrontSubnets.Name})
	say(r, FrontAllocations, "", "", commas)
	r.addSecurityGroups(FrontSecurityGroups)
	for _, key := range []Key[string]{FrontCheckPort, FrontCheckProtocol, FrontCheckPath, FrontSuccessCodes} {
		if value, set := get(r, key); set {
			r.addText(key.Name, value, Fault{Annotation: Prefix + key.Name})
		}
	}
	for _, key := range []Key[int64]{FrontCheckInterval, FrontCheckTimeout, FrontHealthyThreshold, FrontUnhealthyThreshold} {
		say(r, key, "", "", decimal)
	}
	attributes, _ := get(r, FrontAttributes)
	r.addKeys(FrontAttributes.Name, attributes, Fault{Annotation: Prefix + FrontAttributes.Name})
	tags, _ := get(r, FrontTags)
	r.fail(r.in.Options.checkTags(Fault{Annotation: Prefix + FrontTags.Name, Value: r.annotations()[Prefix+FrontTags.Name]}, tags))
	r.addKeys(FrontTags.Name, tags, Fault{Annotation: Prefix + FrontTags.Name})
	r.checkFront(len(tags))
	ports, _ := get(r, FrontPorts)
	for front, behind := range ports {
		r.add(frontPort(front), behind, Fault{Annotation: Prefix + FrontPorts.Name})
	}
	r.mapsPorts = len(ports) > 0
}

// mostFrontTags is how many tags of users a Network Load Balancer may have besides those by which it is found again.
const mostFrontTags = mostTags - 3

// checkFront finds what is wrong with what a member says, whatever others say; by itself it has all defaults.
func (r *reading) checkFront(tags int) {
	if tags > mostFrontTags {
		r.fail(Fault{Annotation: Prefix + FrontTags.Name, Reason: fmt.Sprintf("has %d tags: want at most %d", tags, mostFrontTags)})
	}
	own := agreed{votes: r.votes}
	if reason := overlapping(own.frontCheck()); r.in.alone && reason != "" && own.get(EnableFront.Name, "") == yesNo(true) {
		fault := r.votes[EnableFront.Name].from
		fault.Reason = reason
		r.fail(fault)
	}
}

// overlapping says that one health check begins before the last one must have ended, "" if not.
func overlapping(check stack.HealthCheck) string {
	if check.Timeout < check.Interval {
		return ""
	}
	return fmt.Sprintf("health checks are every %d s and may take %d s: want an interval that is longer than the timeout in %s",
		check.Interval, check.Timeout, Prefix+FrontCheckInterval.Name)
}

// frontPort is the setting of a port in front.
func frontPort(port string) string { return FrontPorts.Name + " " + port }

// seenFront is what stands in front of the load balancer; nil if nothing does.
func (in *Input) seenFront() *stack.LoadBalancer {
	if in.Seen.Front == nil {
		return nil
	}
	return serving(in.Seen.Front.LoadBalancers)
}

// addSeenFront adds what is seen in front of the load balancer.
func (r *reading) addSeenFront(seen *stack.Stack, lb *stack.LoadBalancer) {
	if lb == nil {
		return
	}
	r.add(EnableFront.Name, yesNo(true), Fault{})
	r.add(FrontScheme.Name, lb.Scheme, Fault{})
	r.add(FrontSubnets.Name, strings.Join(lb.Subnets, ","), Fault{})
	if len(lb.Allocations) > 0 {
		r.add(FrontAllocations.Name, strings.Join(lb.Allocations, ","), Fault{})
	}
	ids := make([]string, len(lb.SecurityGroups))
	for i, group := range lb.SecurityGroups {
		ids[i] = group.ID
	}
	r.add(FrontSecurityGroups.Name, strings.Join(ids, ","), Fault{})
	r.addKeys(FrontAttributes.Name, lb.Attributes, Fault{})
	r.addKeys(FrontTags.Name, lb.Tags, Fault{})
	for _, key := range []string{stack.ClusterTag, stack.Ingresses.StackTag(), stack.Ingresses.ResourceTag()} {
		delete(r.votes, keyed(FrontTags.Name, key))
	}
	for _, group := range seen.TargetGroups {
		if port := stack.FrontPort(group.Part); group.TargetPort != 0 {
			r.add(frontPort(decimal(int64(port))), decimal(int64(group.TargetPort)), Fault{})
		}
		check := group.HealthCheck
		r.addText(FrontCheckPort.Name, check.Port, Fault{})
		r.addText(FrontCheckProtocol.Name, check.Protocol, Fault{})
		r.addText(FrontCheckPath.Name, check.Path, Fault{})
		r.addText(FrontSuccessCodes.Name, check.Matcher, Fault{})
		r.add(FrontCheckInterval.Name, decimal(int64(check.Interval)), Fault{})
		r.add(FrontCheckTimeout.Name, decimal(int64(check.Timeout)), Fault{})
		r.add(FrontHealthyThreshold.Name, decimal(int64(check.Healthy)), Fault{})
		r.add(FrontUnhealthyThreshold.Name, decimal(int64(check.Unhealthy)), Fault{})
	}
}

// needsFrontSubnets reports whether the subnets of the VPC are needed for what stands in front.
func (in *Input) needsFrontSubnets(member Member) bool {
	enabled, _, _ := EnableFront.In(member.Ingress.Annotations)
	subnets, _, _ := FrontSubnets.In(member.Ingress.Annotations)
	scheme, _, _ := FrontScheme.In(member.Ingress.Annotations)
	seen := in.seenFront()
	return len(subnets) > 0 || enabled && (seen == nil || seen.Scheme != cmp.Or(scheme, in.Options.DefaultScheme))
}

// checkFront finds what stands in front of the load balancer. If nothing can, those who ask for it have a fault.
func (d *draft) checkFront() map[*reading]Fault {
	if len(d.built) == 0 || d.get(EnableFront.Name, "") != yesNo(true) {
		return nil
	}
	lb := stack.LoadBalancer{
		Network: true, Name: stack.FrontName(d.name()),
		SpareName: stack.FrontName(spareLoadBalancerName(d.in.Options.Cluster, d.in.Group, d.frontScheme())),
		Scheme:    d.frontScheme(), AddressType: d.addressType(), Allocations: d.list(FrontAllocations.Name),
		Attributes: d.keys(FrontAttributes.Name), Tags: d.frontTags(stack.FrontPart),
	}
	if lb.AddressType == onlyPublicIPv6 {
		lb.AddressType = "dualstack"
	}
	lb.Presets = d.in.presets(frontAttributes, lb.Attributes)
	for _, id := range d.list(FrontSecurityGroups.Name) {
		lb.SecurityGroups = append(lb.SecurityGroups, stack.Ref{ID: id})
	}
	var err error
	if lb.Subnets, err = d.frontSubnets(); err != nil {
		return d.voters(EnableFront.Name, err.Error())
	}
	check := d.frontCheck()
	switch n := len(lb.Allocations); {
	case n > 0 && lb.Scheme != internetFacing:
		return d.voters(FrontAllocations.Name, "the Network Load Balancer is internal and has no public addresses: want the scheme "+
			internetFacing+" in "+Prefix+FrontScheme.Name)
	case n > 0 && n != len(lb.Subnets):
		return d.voters(FrontAllocations.Name, fmt.Sprintf("%d addresses for %d subnets: want one for each", n, len(lb.Subnets)))
	case overlapping(check) != "":
		return d.voters(EnableFront.Name, overlapping(check))
	case len(d.keys(FrontTags.Name)) > mostFrontTags:
		return d.voters(EnableFront.Name, fmt.Sprintf("the Ingresses of the group say %d tags in %s: the quota is %d",
			len(d.keys(FrontTags.Name)), Prefix+FrontTags.Name, mostFrontTags))
	}
	d.front = &stack.Stack{LoadBalancers: []stack.LoadBalancer{lb}}
	d.addFrontListeners(check)
	return nil
}

func (d *draft) frontScheme() string { return d.get(FrontScheme.Name, d.in.Options.DefaultScheme) }

// frontTags are the load balancer's, unless others are given: then those alone, without the default ones.
func (d *draft) frontTags(part string) map[string]string {
	tags := d.keys(FrontTags.Name)
	if len(tags) == 0 {
		return d.in.tagsOf(part, d.keys(Tags.Name))
	}
	maps.Copy(tags, stack.Tags(d.in.Options.Cluster, stack.Ingresses, d.in.Group.String(), part))
	return tags
}

// frontSubnets are those that are given; else those that there are; else those of the load balancer, or, for another scheme, those that are
// found by their tags.
func (d *draft) frontSubnets() ([]string, error) {
	dualstack := isDualstack(d.addressType())
	if given := d.list(FrontSubnets.Name); len(given) > 0 {
		_, err := d.in.AWS.explicit(given, dualstack)
		return given, err
	}
	if seen := d.in.seenFront(); seen != nil && seen.Scheme == d.frontScheme() {
		return seen.Subnets, nil
	}
	if d.frontScheme() == d.scheme() {
		return d.subnets, nil
	}
	var ids []string
	for _, subnet := range d.in.discover(d.frontScheme(), dualstack) {
		ids = append(ids, subnet.ID)
	}
	if len(ids) == 0 {
		return nil, errors.New("no subnet of the VPC fits a Network Load Balancer that is " + d.frontScheme() + ": name some in " +
			Prefix + FrontSubnets.Name)
	}
	return ids, nil
}

// frontCheck is how the load balancer is checked.
func (a agreed) frontCheck() stack.HealthCheck {
	number := func(key Key[int64]) int32 {
		n, _ := strconv.ParseInt(a.get(key.Name, key.Default), 10, 32) // it is one
		return int32(n)
	}
	return stack.HealthCheck{
		Port: a.get(FrontCheckPort.Name, FrontCheckPort.Default), Protocol: a.get(FrontCheckProtocol.Name, FrontCheckProtocol.Default),
		Path: a.get(FrontCheckPath.Name, FrontCheckPath.Default), Matcher: a.get(FrontSuccessCodes.Name, FrontSuccessCodes.Default),
		Interval: number(FrontCheckInterval), Timeout: number(FrontCheckTimeout),
		Healthy: number(FrontHealthyThreshold), Unhealthy: number(FrontUnhealthyThreshold),
	}
}

// frontPorts are the ports of the load balancer by those in front. A member that maps none has all be the same.
func (d *draft) frontPorts() map[int32]int32 {
	ports := map[int32]int32{}
	listens := func(port int32) bool {
		return slices.ContainsFunc(d.listeners, func(l listener) bool { return l.port == port })
	}
	for setting, vote := range d.votes {
		if front, ok := strings.CutPrefix(setting, frontPort("")); ok {
			from, _ := strconv.ParseInt(front, 10, 32) // they are ports
			to, _ := strconv.ParseInt(vote.text, 10, 32)
			if listens(int32(to)) {
				ports[int32(from)] = int32(to)
			}
		}
	}
	if slices.ContainsFunc(d.built, func(r *reading) bool { return !r.mapsPorts }) {
		for _, l := range d.listeners {
			if _, mapped := ports[l.port]; !mapped {
				ports[l.port] = l.port
			}
		}
	}
	return ports
}

// addFrontListeners adds the listeners in front, each with the target group that it sends to.
func (d *draft) addFrontListeners(check stack.HealthCheck) {
	ports, lb := d.frontPorts(), &d.front.LoadBalancers[0]
	for _, port := range slices.Sorted(maps.Keys(ports)) {
		part := stack.FrontGroupPart(port)
		hashed := []string{
			d.in.Options.Cluster, d.in.Group.String(), strconv.Itoa(int(port)), "alb", tcp, check.Port, check.Protocol,
		}
		d.front.TargetGroups = append(d.front.TargetGroups, stack.TargetGroup{
			Part: part, Name: stack.Name(d.in.Group.parts(), hashed...), SpareName: stack.Name(d.in.Group.parts(), append(hashed, spare)...),
			TargetType: "alb", Protocol: tcp, Port: port, AddressType: "ipv4", TargetPort: ports[port],
			HealthCheck: check, Tags: d.frontTags(part),
		})
		l := stack.Listener{
			Port: port, Protocol: tcp,
			Default: stack.Action{Forward: &stack.Forward{Groups: []stack.Weighted{{Group: stack.Ref{Part: part}, Weight: 1}}}},
		}
		if d.in.Options.TagListenersAndRules {
			l.Tags = d.frontTags(l.Part())
		}
		lb.Listeners = append(lb.Listeners, l)
	}
}

// warnOfFront finds ports in front at which the security group that is made lets in nobody.
func (d *draft) warnOfFront(warn func(*reading, Fault)) {
	if d.front == nil || len(d.list(SecurityGroups.Name))+len(d.list(FrontSecurityGroups.Name)) > 0 {
		return
	}
	for _, r := range d.built {
		for _, l := range d.front.LoadBalancers[0].Listeners {
			isOpen := slices.ContainsFunc(d.listeners, func(other listener) bool { return other.port == l.Port })
			if r.says(frontPort(strconv.Itoa(int(l.Port)))) && !isOpen {
				warn(r, Fault{Annotation: Prefix + FrontPorts.Name, Value: r.annotations()[Prefix+FrontPorts.Name], Reason: fmt.Sprintf(
					"the load balancer's security group lets in nobody at port %d of the Network Load Balancer: give it one in %s",
					l.Port, Prefix+FrontSecurityGroups.Name)})
			}
		}
	}
}

// ShowsFrontAlone reports whether the member's status is to name what stands in front of the load balancer alone.
func (m Member) ShowsFrontAlone() bool {
	return m.Ingress.Annotations[FrontAloneAnnotation] == "true" || m.Params != nil && m.Params.Annotations[FrontAloneAnnotation] == "true"
}
