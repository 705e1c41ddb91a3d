// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/targets/endpoints"
)

// Place is where rules for a member go.
type Place struct {
	eni   ec2.Interface
	Group string // ID of the security group, empty for a member outside AWS: it gets no rule
	Err   error  // the member is not resolved
	// RetryAt is until when the error is remembered, zero if it is not.
	RetryAt time.Time
}

// finder finds the network interfaces of members, with a call or a few for all of them.
type finder struct {
	ec2   EC2
	vpc   func(context.Context) (string, error)
	class budget.Class
}

// find is the network interface of each member, by its index. A member outside AWS has none.
func (f finder) find(ctx context.Context, members []Member) []Place {
	places := make([]Place, len(members))
	var branch, instance, address []int
	for i, m := range members {
		switch {
		case m.Fault != "":
			places[i].Err = errors.New(m.Fault)
		case m.Class == ClassHybrid:
		case m.Pod && (m.Class == ClassFargate || m.Class == ClassHyperPod):
			address = append(address, i)
		case m.BranchENI != "":
			branch = append(branch, i)
		case m.Instance == "":
			places[i].Err = errors.New("the node's spec.providerID names no EC2 instance: it must be aws:///<zone>/i-<id>")
		default:
			instance = append(instance, i)
		}
	}
	f.byID(ctx, members, branch, places)
	f.byInstance(ctx, members, instance, places)
	f.byAddress(ctx, members, address, places)
	return places
}

// byID finds the interfaces that pods have for themselves. They must have the pod's address: the ID is from an annotation.
func (f finder) byID(ctx context.Context, members []Member, at []int, places []Place) {
	if len(at) == 0 {
		return
	}
	found, err := f.ec2.Interfaces(ctx, f.class, textsOf(members, at, func(m Member) string { return m.BranchENI }))
	byID := map[string]ec2.Interface{}
	for _, eni := range found {
		byID[eni.ID] = eni
	}
	for _, i := range at {
		eni := byID[members[i].BranchENI]
		switch {
		case err != nil:
			places[i].Err = FailedRead("network interfaces", err)
		case owns(eni, members[i].Address):
			places[i].eni = eni
		default:
			places[i].Err = fmt.Errorf("network interface %s of the pod's annotation %s has not the address %s, or does not exist",
				members[i].BranchENI, endpoints.PodENIAnnotation, members[i].Address)
		}
	}
}

// byInstance finds a pod's interface by its address among those of its instance, prefixes included, and the primary one of a node.
func (f finder) byInstance(ctx context.Context, members []Member, at []int, places []Place) {
	if len(at) == 0 {
		return
	}
	found, err := f.ec2.Instances(ctx, f.class, textsOf(members, at, func(m Member) string { return m.Instance }))
	byID := map[string]ec2.Instance{}
	for _, instance := range found {
		byID[instance.ID] = instance
	}
	for _, i := range at {
		instance, ok := byID[members[i].Instance]
		switch {
		case err != nil:
			places[i].Err = FailedRead("instances", err)
		case !ok:
			places[i].Err = fmt.Errorf("EC2 knows no instance %s", members[i].Instance)
		default:
			places[i].eni, places[i].Err = interfaceOf(instance, members[i])
		}
	}
}

func interfaceOf(instance ec2.Instance, member Member) (ec2.Interface, error) {
	at := slices.IndexFunc(instance.Interfaces, func(eni ec2.Interface) bool {
		if member.Pod {
			return owns(eni, member.Address)
		}
		return eni.DeviceIndex == 0
	})
	switch {
	case at >= 0:
		return instance.Interfaces[at], nil
	case member.Pod:
		return ec2.Interface{}, fmt.Errorf("no network interface of instance %s has the address %s", instance.ID, member.Address)
	default:
		return ec2.Interface{}, fmt.Errorf("instance %s has no primary network interface", instance.ID)
	}
}

// byAddress finds the interface of a Fargate or HyperPod pod by its address in the VPC; that of a HyperPod pod whose address is from
// a prefix, by the address of its node.
func (f finder) byAddress(ctx context.Context, members []Member, at []int, places []Place) {
	rest := f.search(ctx, members, at, places, func(m Member) netip.Addr { return m.Address })
	rest = slices.DeleteFunc(rest, func(i int) bool {
		return members[i].Class != ClassHyperPod || !members[i].NodeAddress.IsValid()
	})
	f.search(ctx, members, rest, places, func(m Member) netip.Addr { return m.NodeAddress })
}

// search looks interfaces up by these addresses, and yields the members without one among them that has the pod's address.
func (f finder) search(
	ctx context.Context, members []Member, at []int, places []Place, addressOf func(Member) netip.Addr,
) (rest []int) {
	if len(at) == 0 {
		return nil
	}
	var addresses []netip.Addr
	for _, i := range at {
		addresses = append(addresses, addressOf(members[i]))
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	vpc, err := f.vpc(ctx)
	var found []ec2.Interface
	if err == nil {
		found, err = f.ec2.InterfacesByAddress(ctx, f.class, vpc, slices.Compact(addresses))
	}
	if err != nil {
		for _, i := range at {
			places[i].Err = FailedRead("network interfaces", err)
		}
		return nil
	}
	index := newAddressIndex(found)
	for _, i := range at {
		if eni, ok := index.find(members[i].Address, addressOf(members[i])); ok {
			places[i] = Place{eni: eni}
			continue
		}
		places[i].Err = fmt.Errorf("no network interface in %s has the address %s", vpc, members[i].Address)
		rest = append(rest, i)
	}
	return rest
}

// addressIndex finds interfaces by one of their own addresses, without a comparison of each pod with each interface.
type addressIndex map[netip.Addr]ec2.Interface

func newAddressIndex(interfaces []ec2.Interface) addressIndex {
	index := addressIndex{}
	for _, eni := range interfaces {
		for _, address := range eni.Addresses {
			index[address.Unmap()] = eni
		}
	}
	return index
}

// find is the interface that has the address: itself, or as the one that has the address via and a prefix with the address.
func (x addressIndex) find(address, via netip.Addr) (ec2.Interface, bool) {
	eni, ok := x[via]
	return eni, ok && owns(eni, address)
}

func owns(eni ec2.Interface, address netip.Addr) bool {
	return slices.ContainsFunc(eni.Addresses, func(a netip.Addr) bool { return a.Unmap() == address }) ||
		slices.ContainsFunc(eni.Prefixes, func(p netip.Prefix) bool { return p.Contains(address) })
}

// textsOf are the different IDs of the members at these indexes, sorted.
func textsOf(members []Member, at []int, id func(Member) string) []string {
	var ids []string
	for _, i := range at {
		ids = append(ids, id(members[i]))
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
