// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package input

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
)

// tagsPrefix begins the vote for subnets by their tags.
const tagsPrefix = "tags:"

// Selector writes tags that subnets must have as a vote.
func Selector(tags map[string][]string) string {
	text, err := json.Marshal(tags) // with its keys sorted
	if err != nil {
		panic(err) // no map of texts has one
	}
	return tagsPrefix + string(text)
}

// SubnetIDs are the IDs of entries that are IDs or names, in their order. A name that is there n times takes n subnets of that name, those
// with the lowest IDs, the lowest first.
func (a *AWS) SubnetIDs(entries []string) ([]string, error) {
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
func (a *AWS) SubnetsUnknown() error {
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

func (a *AWS) named(name string) []string {
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
func (a *AWS) Subnet(id string) *Subnet {
	for i := range a.Subnets {
		if a.Subnets[i].ID == id {
			return &a.Subnets[i]
		}
	}
	return nil
}

// Subnets are those of the load balancer, as the vote for them says; else those it has, else those that are found by their tags.
func (in *Input) Subnets(vote, scheme, addressType string, present []string) ([]string, error) {
	dualstack := IsDualstack(addressType)
	if vote == "" && len(present) > 0 {
		return in.withZones(present, scheme, dualstack)
	}
	subnets, err := in.choose(vote, scheme, dualstack)
	if err != nil {
		return nil, err
	}
	if len(subnets) == 0 {
		return nil, fmt.Errorf("no subnet of the VPC fits a load balancer that is %s and %s: tag subnets with kubernetes.io/role/elb for "+
			"internet-facing or kubernetes.io/role/internal-elb for internal ones, or name them in %s",
			scheme, addressType, annotation.Subnets.FullName())
	}
	if err := in.Options.checkSubnets(subnets); err != nil {
		return nil, err
	}
	ids := make([]string, len(subnets))
	for i, subnet := range subnets {
		ids[i] = subnet.ID
	}
	slices.Sort(ids)
	return ids, nil
}

// choose finds subnets by a vote, or without one by the tags of the scheme.
func (in *Input) choose(vote, scheme string, dualstack bool) ([]Subnet, error) {
	if err := in.AWS.SubnetsUnknown(); err != nil {
		return nil, err
	}
	switch text, byTags := strings.CutPrefix(vote, tagsPrefix); {
	case byTags:
		var tags map[string][]string
		if err := json.Unmarshal([]byte(text), &tags); err != nil {
			return nil, err
		}
		return in.onePerZone(in.AWS.Subnets, func(s Subnet) bool { return s.hasAll(tags) && in.eligible(s, dualstack) }), nil
	case vote != "":
		return in.AWS.Explicit(strings.Split(vote, ","), dualstack)
	}
	return in.Discover(scheme, dualstack), nil
}

// IsDualstack reports whether a load balancer of that address type has IPv6 addresses.
func IsDualstack(addressType string) bool { return strings.HasPrefix(addressType, "dualstack") }

// Explicit are the subnets of these IDs: one for each zone.
func (a *AWS) Explicit(ids []string, dualstack bool) ([]Subnet, error) {
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
func (a *AWS) CheckIPv6(ids []string, dualstack bool) error {
	for _, id := range ids {
		if subnet := a.Subnet(id); dualstack && subnet != nil && !subnet.IPv6 {
			return fmt.Errorf("subnet %s has no IPv6 CIDR, which a dualstack load balancer needs", id)
		}
	}
	return nil
}

// withZones are these subnets, and those that are added in other zones.
func (in *Input) withZones(present []string, scheme string, dualstack bool) ([]string, error) {
	if err := in.AWS.CheckIPv6(present, dualstack); err != nil {
		return nil, err
	}
	if !in.Options.AddZones {
		return present, nil
	}
	return slices.Sorted(slices.Values(append(in.Elsewhere(present, scheme, dualstack), present...))), nil
}

// Elsewhere are the subnets that would be found now in zones that none of these is in; none unless they are looked for.
func (in *Input) Elsewhere(present []string, scheme string, dualstack bool) (ids []string) {
	if !in.Rediscover {
		return nil
	}
	zones := map[string]bool{}
	for _, id := range present {
		if subnet := in.AWS.Subnet(id); subnet != nil {
			zones[subnet.Zone] = true
		}
	}
	for _, subnet := range in.Discover(scheme, dualstack) {
		if len(zones) > 0 && !zones[subnet.Zone] { // else nothing is known of them
			ids = append(ids, subnet.ID)
		}
	}
	return ids
}

// Discover finds subnets by the tag of their role; if none has it, by their routes.
func (in *Input) Discover(scheme string, dualstack bool) []Subnet {
	role := "kubernetes.io/role/internal-elb"
	if scheme == annotation.InternetFacing {
		role = "kubernetes.io/role/elb"
	}
	tagged := func(s Subnet) bool {
		value, ok := s.Tags[role]
		return ok && (value == "" || value == "1")
	}
	if slices.ContainsFunc(in.AWS.Subnets, tagged) || !in.Options.ByReachability {
		return in.onePerZone(in.AWS.Subnets, func(s Subnet) bool { return tagged(s) && in.eligible(s, dualstack) })
	}
	return in.onePerZone(in.AWS.Subnets, func(s Subnet) bool {
		return s.Public == (scheme == annotation.InternetFacing) && in.eligible(s, dualstack)
	})
}

func (s *Subnet) hasAll(tags map[string][]string) bool {
	for key, values := range tags {
		if value, ok := s.Tags[key]; !ok || !slices.Contains(values, value) {
			return false
		}
	}
	return true
}

const clusterTagPrefix = "kubernetes.io/cluster/"

// eligible reports whether a subnet can be chosen: it is not other clusters' alone, and has free addresses.
func (in *Input) eligible(s Subnet, dualstack bool) bool {
	const leastFree = 8
	_, ours := s.Tags[clusterTagPrefix+in.Options.Cluster]
	others := slices.ContainsFunc(slices.Collect(maps.Keys(s.Tags)), func(key string) bool { return strings.HasPrefix(key, clusterTagPrefix) })
	return s.Free >= leastFree && (s.IPv6 || !dualstack) && (ours || !others || !in.Options.CheckClusterTag)
}

// onePerZone takes one of those that fit in each zone: one that is tagged for the cluster first, then that of the lowest ID.
func (in *Input) onePerZone(subnets []Subnet, fits func(Subnet) bool) []Subnet {
	rank := func(s Subnet) int {
		if _, ours := s.Tags[clusterTagPrefix+in.Options.Cluster]; ours {
			return 0
		}
		return 1
	}
	sorted := slices.SortedFunc(slices.Values(subnets), func(a, b Subnet) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.ID, b.ID))
	})
	var out []Subnet
	zones := map[string]bool{}
	for _, subnet := range sorted {
		if fits(subnet) && !zones[subnet.Zone] {
			zones[subnet.Zone] = true
			out = append(out, subnet)
		}
	}
	return out
}

// checkSubnets is an error if no load balancer can have these.
func (o *Options) checkSubnets(subnets []Subnet) error {
	locale := subnets[0].Locale
	for _, subnet := range subnets[1:] {
		if subnet.Locale != locale {
			return fmt.Errorf("subnet %s is in a zone of kind %s, %s of kind %s: set subnets of one kind",
				subnets[0].ID, locale, subnet.ID, subnet.Locale)
		}
	}
	if len(subnets) == 1 && locale == "availability-zone" && !o.SingleSubnet {
		return fmt.Errorf("subnet %s is the only one: set subnets in at least 2 zones", subnets[0].ID)
	}
	return nil
}
