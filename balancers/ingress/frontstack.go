// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/reading"
	"github.com/targetgate/targetgate/balancers/parts"
	"github.com/targetgate/targetgate/balancers/stack"
)

// frontBuilder builds what stands in front of the load balancer.
type frontBuilder struct{ *draft }

// checkFront finds what stands in front of the load balancer. If nothing can, those who ask for it have a fault.
func (d frontBuilder) checkFront() map[*reading.Reading]fault.Fault {
	if len(d.built) == 0 || !d.wantsFront() {
		return nil
	}
	subnets, err := d.frontSubnets()
	if err != nil {
		return d.voters(annotation.EnableFront.Name, err.Error())
	}
	subnets = d.inOrder(subnets)
	ports := d.frontPorts()
	if setting, reason := d.frontFault(len(subnets), ports); reason != "" {
		return d.voters(setting, reason)
	}
	if faults := newQuotaChecker(d.draft).checkFrontPorts(); len(faults) > 0 {
		return faults
	}
	d.front = &stack.Stack{LoadBalancers: []stack.LoadBalancer{d.frontBalancer(subnets)}}
	d.addFrontListeners(ports)
	return nil
}

// frontFault says what is wrong with what the group agrees on, "" for nothing, and of which setting.
func (d frontBuilder) frontFault(subnets int, ports map[int32]int32) (setting, reason string) {
	addresses, tags := len(d.List(annotation.FrontAllocations.Name)), len(d.keysOf(annotation.FrontTags.Name))
	overlap := d.Overlapping(slices.Collect(maps.Keys(ports)))
	switch {
	case addresses > 0 && d.frontScheme() != annotation.InternetFacing:
		return annotation.FrontAllocations.Name, "the Network Load Balancer is internal and has no public addresses: set the scheme " +
			annotation.InternetFacing +
			" in " + annotation.FrontScheme.FullName()
	case addresses > 0 && addresses != subnets:
		return annotation.FrontAllocations.Name, fmt.Sprintf("%d addresses for %d subnets: set one for each", addresses, subnets)
	case overlap != "":
		return annotation.EnableFront.Name, overlap
	case tags > reading.MostFrontTags:
		return annotation.EnableFront.Name, fmt.Sprintf("the group has %d tags in %s: the quota is %d",
			tags, annotation.FrontTags.FullName(), reading.MostFrontTags)
	}
	return "", ""
}

// frontBalancer is the Network Load Balancer, without listeners.
func (d frontBuilder) frontBalancer(subnets []string) stack.LoadBalancer {
	lb := stack.LoadBalancer{
		Network: true, Name: stack.FrontName(d.name()),
		SpareName: stack.FrontName(input.SpareLoadBalancerName(d.in.Options.Cluster, d.in.Group, d.frontScheme())),
		Scheme:    d.frontScheme(), AddressType: d.addressType(), Subnets: subnets, Allocations: d.allocations(),
		Attributes: d.keysOf(annotation.FrontAttributes.Name), Tags: d.frontTags(stack.FrontPart),
	}
	if lb.AddressType == annotation.OnlyPublicIPv6 {
		lb.AddressType = "dualstack"
	}
	d.settle(&lb)
	lb.Presets = d.in.Presets(annotation.AttributesOfFront, lb.Attributes)
	for _, id := range d.List(annotation.FrontSecurityGroups.Name) {
		lb.SecurityGroups = append(lb.SecurityGroups, stack.Ref{ID: id})
	}
	return lb
}

func (d frontBuilder) frontScheme() string {
	return d.Get(annotation.FrontScheme.Name, d.in.Options.DefaultScheme)
}

// frontTags are the load balancer's, unless others are given: then those alone, without the default ones.
func (d frontBuilder) frontTags(part string) map[string]string {
	tags := d.keysOf(annotation.FrontTags.Name)
	if len(tags) == 0 {
		return d.in.TagsOf(part, d.keysOf(annotation.Tags.Name))
	}
	maps.Copy(tags, stack.Tags(d.in.Options.Cluster, stack.Ingresses, d.in.Group.String(), part))
	return tags
}

// frontSubnets are those that are given; else those that there are; else those of the load balancer, or, for another scheme, those that are
// found by their tags.
func (d frontBuilder) frontSubnets() ([]string, error) {
	dualstack := stack.IsDualstack(d.addressType())
	if given := d.List(annotation.FrontSubnets.Name); len(given) > 0 {
		if d.in.AWS.NoSubnets != "" { // who names some is held, so that these are those that there are
			return given, nil
		}
		_, err := d.in.AWS.Explicit(given, dualstack)
		return given, err
	}
	if seen := d.in.SeenFront(); seen != nil && seen.Scheme == d.frontScheme() {
		return seen.Subnets, d.in.AWS.CheckIPv6(seen.Subnets, dualstack)
	}
	if d.frontScheme() == d.scheme() {
		return d.subnets, nil
	}
	if err := d.in.AWS.SubnetsUnknown(); err != nil {
		return nil, err
	}
	var ids []string
	for _, subnet := range d.in.Subnets().Discover(d.frontScheme(), dualstack) {
		ids = append(ids, subnet.ID)
	}
	if len(ids) == 0 {
		return nil, errors.New("no subnet of the VPC fits a Network Load Balancer that is " + d.frontScheme() + ": name some in " +
			annotation.FrontSubnets.FullName())
	}
	return ids, nil
}

// inOrder has the subnets in the order in which they pair with Elastic IP addresses: as the member that names these has written them, in
// the list for what stands in front or else in the load balancer's; else as the first member that has written them.
func (d frontBuilder) inOrder(subnets []string) []string {
	members := slices.Clone(d.built)
	if names := d.allocator(); names != nil {
		members = append([]*reading.Reading{names}, members...)
	}
	for _, setting := range []string{annotation.FrontSubnets.Name, annotation.Subnets.Name} {
		for _, r := range members {
			if written := r.List(setting); sameItems(written, subnets) {
				return written
			}
		}
	}
	return subnets
}

// allocations are the Elastic IP addresses, in the order in which a member that is built has written them.
func (d frontBuilder) allocations() []string {
	if r := d.allocator(); r != nil {
		return r.List(annotation.FrontAllocations.Name)
	}
	return d.List(annotation.FrontAllocations.Name)
}

// allocator is the first member that is built and names Elastic IP addresses, nil for none.
func (d frontBuilder) allocator() *reading.Reading {
	i := slices.IndexFunc(d.built, func(r *reading.Reading) bool { return r.Says(annotation.FrontAllocations.Name) })
	if i < 0 {
		return nil
	}
	return d.built[i]
}

func sameItems(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// frontPorts are the ports of the load balancer by those in front that members want.
func (d frontBuilder) frontPorts() map[int32]int32 {
	ports := map[int32]int32{}
	for _, r := range d.built {
		for _, front := range r.FrontPorts {
			behind, _ := strconv.ParseInt(d.Get(reading.FrontPort(front), ""), 10, 32) // it is one, which the member listens on
			ports[front] = int32(behind)
		}
	}
	return ports
}

// addFrontListeners adds the listeners in front, each with the target group that it sends to.
func (d frontBuilder) addFrontListeners(ports map[int32]int32) {
	lb := &d.front.LoadBalancers[0]
	for _, port := range slices.Sorted(maps.Keys(ports)) {
		part, check := stack.FrontGroupPart(port), d.FrontCheck(port)
		hashed := []string{
			d.in.Options.Cluster, d.in.Group.String(), strconv.Itoa(int(port)), "alb", reading.TCP, check.Port, check.Protocol,
		}
		d.front.TargetGroups = append(d.front.TargetGroups, stack.TargetGroup{
			Part: part, Name: stack.Name(d.in.Group.NameParts(), hashed...),
			SpareName:  stack.Name(d.in.Group.NameParts(), append(hashed, parts.Spare)...),
			TargetType: "alb", Protocol: reading.TCP, Port: port, AddressType: "ipv4", TargetPort: ports[port],
			HealthCheck: check, Tags: d.frontTags(part),
		})
		l := stack.Listener{
			Port: port, Protocol: reading.TCP,
			Default: stack.Action{Forward: &stack.Forward{Groups: []stack.Weighted{{Group: stack.Ref{Part: part}, Weight: 1}}}},
		}
		if d.in.Options.TagListenersAndRules {
			l.Tags = d.frontTags(l.Part())
		}
		lb.Listeners = append(lb.Listeners, l)
	}
}

// warnOfFront finds ports in front at which the security group that is made lets in nobody.
func (d frontBuilder) warnOfFront(warn func(*reading.Reading, fault.Fault)) {
	if d.front == nil || len(d.List(annotation.SecurityGroups.Name))+len(d.List(annotation.FrontSecurityGroups.Name)) > 0 {
		return
	}
	for _, r := range d.built {
		for _, l := range d.front.LoadBalancers[0].Listeners {
			isOpen := slices.ContainsFunc(d.listeners, func(other listener) bool { return other.port == l.Port })
			if r.Says(reading.FrontPort(l.Port)) && !isOpen {
				warn(r, fault.Fault{
					Annotation: annotation.FrontPorts.FullName(), Value: r.Annotations()[annotation.FrontPorts.FullName()],
					Reason: fmt.Sprintf("the load balancer's security group allows no client at port %d of the Network Load Balancer: "+
						"name a security group for the Network Load Balancer in %s", l.Port, annotation.FrontSecurityGroups.FullName()),
				})
			}
		}
	}
}
