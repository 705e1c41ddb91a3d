// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Subnet is one of the VPC.
type Subnet struct {
	ID, Zone string
	// Locale is availability-zone, local-zone, wavelength-zone or outpost.
	Locale string
	// Free counts its free IPv4 addresses.
	Free   int32
	IPv6   bool // it has an IPv6 CIDR
	Public bool // its route table has a route to an internet gateway
	Tags   map[string]string
}

// SubnetIDs are the IDs of entries that are IDs or names, in their order. A name that is there n times takes n subnets of that name, those
// with the lowest IDs, the lowest first.
func (a *Answers) SubnetIDs(entries []string) ([]string, error) {
	if err := a.SubnetsUnknown(); err != nil {
		return nil, err
	}
	ids, taken := make([]string, len(entries)), map[string]int{}
	for i, entry := range entries {
		if strings.HasPrefix(entry, "subnet-") {
			if a.Subnet(entry) == nil {
				return nil, fmt.Errorf("the VPC has no subnet %s", entry)
			}
			ids[i] = entry
			continue
		}
		found := a.named(entry)
		if want := count(entries, entry); len(found) < want {
			return nil, fmt.Errorf("%d subnets of the VPC have the tag Name=%s: must be %d", len(found), entry, want)
		}
		ids[i] = found[taken[entry]]
		taken[entry]++
	}
	return ids, nil
}

// SubnetsUnknown says why the subnets of the VPC are not known; nil when they are.
func (a *Answers) SubnetsUnknown() error {
	if a.NoSubnets == "" {
		return nil
	}
	return errors.New("the subnets of the VPC could not be looked up: " + a.NoSubnets)
}

func count(items []string, item string) (n int) {
	for _, other := range items {
		if other == item {
			n++
		}
	}
	return n
}

func (a *Answers) named(name string) []string {
	var ids []string
	for _, subnet := range a.Subnets {
		if subnet.Tags["Name"] == name {
			ids = append(ids, subnet.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// Subnet is the one of that ID, nil if the VPC has none.
func (a *Answers) Subnet(id string) *Subnet {
	for i := range a.Subnets {
		if a.Subnets[i].ID == id {
			return &a.Subnets[i]
		}
	}
	return nil
}

// Explicit are the subnets of these IDs: one for each zone.
func (a *Answers) Explicit(ids []string, dualstack bool) ([]Subnet, error) {
	var subnets []Subnet
	zones := map[string]string{}
	for _, id := range ids {
		subnet := a.Subnet(id)
		if subnet == nil {
			return nil, fmt.Errorf("the VPC has no subnet %s", id)
		}
		if other, taken := zones[subnet.Zone]; taken {
			return nil, fmt.Errorf("subnets %s and %s are both in zone %s: set one for each zone", other, id, subnet.Zone)
		}
		zones[subnet.Zone] = id
		subnets = append(subnets, *subnet)
	}
	return subnets, a.CheckIPv6(ids, dualstack)
}

// CheckIPv6 is an error if a load balancer that is to be dualstack cannot be in these subnets, as far as they were looked up.
func (a *Answers) CheckIPv6(ids []string, dualstack bool) error {
	for _, id := range ids {
		if subnet := a.Subnet(id); dualstack && subnet != nil && !subnet.IPv6 {
			return fmt.Errorf("subnet %s has no IPv6 CIDR, which a dualstack load balancer needs", id)
		}
	}
	return nil
}
