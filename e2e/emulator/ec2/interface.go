// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
)

// Interface is a network interface. Its slices must not be written to.
type Interface struct {
	ID string
	// VPC is the first one when empty, Account the default one.
	VPC, Account string
	// Addresses are its private ones, the primary one first; Prefixes are those delegated to it, of any length: on AWS
	// they are a /28 or a /80. All must be in the VPC.
	Addresses []netip.Addr
	Prefixes  []netip.Prefix
	// Groups are the ids of its security groups, of the same VPC, at most five. With none, everything gets in.
	Groups []string
	// Instance is where it is attached, as device DeviceIndex: 0 is the primary one. "" is nowhere.
	Instance    string
	DeviceIndex int
}

// mostInterfaceGroups is how many security groups an interface may have.
const mostInterfaceGroups = 5

// PutInterface makes a network interface known, or replaces it.
func (n *Network) PutInterface(i Interface) error {
	now := n.enter()
	defer n.leave()
	i.VPC = cmp.Or(i.VPC, n.opts.VPCs[0].ID)
	i.Account = n.region.Account(i.Account)
	if err := n.validateInterface(i); err != nil {
		return err
	}
	i.Addresses, i.Prefixes, i.Groups = slices.Clone(i.Addresses), slices.Clone(i.Prefixes), slices.Clone(i.Groups)
	n.putInterface(i, now)
	return nil
}

func (n *Network) putInterface(i Interface, now time.Time) {
	n.interfaces.Put(i.ID, i, now, n.oldest(now))
}

func (n *Network) validateInterface(i Interface) error {
	vpc, ok := n.VPC(i.VPC)
	switch {
	case !WellFormed("eni-", i.ID):
		return refusal.New("InvalidNetworkInterfaceId.Malformed", "Invalid id: \"%s\" (expecting \"eni-...\")", i.ID)
	case !ok:
		return vpcNotFound(i.VPC)
	case len(i.Addresses) == 0:
		return refusal.New("MissingParameter", "Interface '%s' has no private address", i.ID)
	}
	for _, prefix := range i.ranges() {
		if !slices.ContainsFunc(vpc.CIDRs, func(c netip.Prefix) bool { return c.Contains(prefix.Addr()) && c.Bits() <= prefix.Bits() }) {
			return invalidValue("Address %s does not fall within the address ranges of '%s'", prefix, vpc.ID)
		}
	}
	for _, other := range n.interfaces.All() {
		if err := i.validateBeside(other); err != nil {
			return err
		}
	}
	if _, ok := n.instances[i.Instance]; !ok && i.Instance != "" {
		return instanceNotFound(i.Instance)
	}
	return n.validateInterfaceGroups(i, i.Groups)
}

// ranges are the addresses and prefixes of an interface, each as a prefix.
func (i Interface) ranges() []netip.Prefix {
	ranges := slices.Clone(i.Prefixes)
	for _, addr := range i.Addresses {
		ranges = append(ranges, netip.PrefixFrom(addr, addr.BitLen()))
	}
	return ranges
}

// validateBeside finds what two interfaces cannot share. An address may be in a prefix of the same interface: a whole range of
// pods may be delegated to the node that has the first address of it.
func (i Interface) validateBeside(other Interface) error {
	if i.ID == other.ID {
		return nil
	}
	if i.Instance != "" && i.Instance == other.Instance && i.DeviceIndex == other.DeviceIndex {
		return refusal.New("InvalidParameterCombination", "Instance '%s' already has an interface attached at device index '%d'.",
			i.Instance, i.DeviceIndex)
	}
	for _, mine := range i.ranges() {
		if i.VPC == other.VPC && slices.ContainsFunc(other.ranges(), mine.Overlaps) {
			return refusal.New("InvalidIPAddress.InUse", "Address %s is in use.", mine)
		}
	}
	return nil
}

func (n *Network) validateInterfaceGroups(i Interface, groups []string) error {
	if len(groups) > mostInterfaceGroups {
		return refusal.New("SecurityGroupsPerInterfaceLimitExceeded",
			"The maximum number of security groups per interface has been reached.")
	}
	for at, id := range groups {
		g, err := n.securityGroup(id)
		switch {
		case err != nil:
			return err
		case g.VPC != i.VPC:
			return invalidValue("You have specified two resources that belong to different networks.")
		case slices.Contains(groups[:at], id):
			return invalidValue("Security group '%s' is given twice", id)
		}
	}
	return nil
}

func interfaceNotFound(id string) error {
	return refusal.New("InvalidNetworkInterfaceID.NotFound", "The networkInterface ID '%s' does not exist", id)
}

// SetInterfaceGroups replaces the security groups of an interface.
func (n *Network) SetInterfaceGroups(id string, groups ...string) error {
	now := n.enter()
	defer n.leave()
	i, ok := n.interfaces.Latest(id)
	if !ok {
		return interfaceNotFound(id)
	}
	if err := n.validateInterfaceGroups(i, groups); err != nil {
		return err
	}
	i.Groups = slices.Clone(groups)
	n.putInterface(i, now)
	return nil
}

// DeleteInterface removes an interface, attached or not.
func (n *Network) DeleteInterface(id string) error {
	now := n.enter()
	defer n.leave()
	if _, ok := n.interfaces.Latest(id); !ok {
		return interfaceNotFound(id)
	}
	n.interfaces.End(id, now, n.oldest(now))
	return nil
}

// DescribeInterfaces returns an account's interfaces ("" is the default one) with one of the ids, or all, as they were some
// time ago (Options.Lag). An id that did not exist then is an error.
func (n *Network) DescribeInterfaces(account string, ids ...string) ([]Interface, error) {
	now := n.enter()
	defer n.leave()
	seen := n.interfaces.At(n.lagged(now))
	seen = slices.DeleteFunc(seen, func(i Interface) bool { return i.Account != n.region.Account(account) })
	for _, id := range ids {
		if !WellFormed("eni-", id) {
			return nil, refusal.New("InvalidNetworkInterfaceId.Malformed", "Invalid id: \"%s\" (expecting \"eni-...\")", id)
		}
		if !slices.ContainsFunc(seen, func(i Interface) bool { return i.ID == id }) {
			return nil, interfaceNotFound(id)
		}
	}
	return slices.DeleteFunc(seen, func(i Interface) bool { return len(ids) > 0 && !slices.Contains(ids, i.ID) }), nil
}
