// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"slices"
	"strconv"
	"strings"
)

// The values of the resource tags of load balancers: that of a stack, and the Network Load Balancer in front of it.
const (
	LoadBalancerPart = "LoadBalancer"
	FrontPart        = "FrontendNlb"
)

// frontGroups begins the resource tags of the target groups of a Network Load Balancer in front.
const frontGroups = FrontPart + "-tg-"

// FrontGroupPart is the resource tag of the target group of a listener of a Network Load Balancer in front.
func FrontGroupPart(port int32) string { return frontGroups + "TCP-" + strconv.Itoa(int(port)) }

// FrontPort is the port of the listener whose target group has the resource tag, 0 for another tag.
func FrontPort(part string) int32 {
	text, _ := strings.CutPrefix(part, frontGroups+"TCP-")
	port, _ := strconv.ParseInt(text, 10, 32)
	return int32(port)
}

// IsFrontGroup reports whether a resource tag is that of a target group of a Network Load Balancer in front.
func IsFrontGroup(part string) bool { return strings.HasPrefix(part, frontGroups) }

// Part is the listener's resource tag.
func (l *Listener) Part() string {
	port := strconv.Itoa(int(l.Port))
	if l.Protocol == "TCP" {
		return FrontPart + "-ls-TCP-" + port
	}
	return port
}

// Part is the load balancer's resource tag.
func (b *LoadBalancer) Part() string {
	if b.Network {
		return FrontPart
	}
	return LoadBalancerPart
}

// FrontWeight is as how many targets AWS counts the load balancer at each port of a Network Load Balancer with these attributes
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/network/load-balancer-limits.html).
func FrontWeight(attributes map[string]string) int {
	if attributes["load_balancing.cross_zone.enabled"] == "true" {
		return 100
	}
	return 50
}

// SetSubnets sets the subnets, sorted, and with each its Elastic IP address, if any has one.
func (b *LoadBalancer) SetSubnets(subnets, allocations []string) {
	order := make([]int, len(subnets))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return strings.Compare(subnets[i], subnets[j]) })
	b.Subnets, b.Allocations = nil, nil
	for _, i := range order {
		b.Subnets = append(b.Subnets, subnets[i])
		if i < len(allocations) {
			b.Allocations = append(b.Allocations, allocations[i])
		}
	}
	if len(b.Elastic()) == 0 {
		b.Allocations = nil
	}
}

// Allocation is the ID of the Elastic IP address of a subnet, "" for none.
func (b *LoadBalancer) Allocation(subnet string) string {
	if i := slices.Index(b.Subnets, subnet); i >= 0 && i < len(b.Allocations) {
		return b.Allocations[i]
	}
	return ""
}

// Elastic are the IDs of all Elastic IP addresses.
func (b *LoadBalancer) Elastic() []string {
	return slices.DeleteFunc(slices.Clone(b.Allocations), func(id string) bool { return id == "" })
}

// FrontName is the name of the Network Load Balancer in front of the load balancer of that name.
func FrontName(behind string) string { return behind[:min(28, len(behind))] + "-nlb" }
