// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package parts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
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

// Subnets chooses the subnets of a load balancer.
type Subnets struct {
	AWS     *lookup.Answers
	Options *Options
	// Rediscover looks for subnets in zones that the load balancer is not in.
	Rediscover bool
	// Setting is where users name subnets, in messages.
	Setting string
}

// Choose has the subnets of the load balancer, as the vote for them says; else those it has, else those that are found by their tags.
func (c *Subnets) Choose(vote, scheme, addressType string, present []string) ([]string, error) {
	dualstack := stack.IsDualstack(addressType)
	if vote == "" && len(present) > 0 {
		return c.withZones(present, scheme, dualstack)
	}
	subnets, err := c.choose(vote, scheme, dualstack)
	if err != nil {
		return nil, err
	}
	if len(subnets) == 0 {
		return nil, fmt.Errorf("no subnet of the VPC fits a load balancer that is %s and %s: tag subnets with kubernetes.io/role/elb for "+
			"internet-facing or kubernetes.io/role/internal-elb for internal ones, or name them in %s",
			scheme, addressType, c.Setting)
	}
	if err := c.Options.checkSubnets(subnets); err != nil {
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
func (c *Subnets) choose(vote, scheme string, dualstack bool) ([]lookup.Subnet, error) {
	if err := c.AWS.SubnetsUnknown(); err != nil {
		return nil, err
	}
	switch text, byTags := strings.CutPrefix(vote, tagsPrefix); {
	case byTags:
		var tags map[string][]string
		if err := json.Unmarshal([]byte(text), &tags); err != nil {
			return nil, err
		}
		return c.onePerZone(c.AWS.Subnets, func(s lookup.Subnet) bool { return hasAll(s, tags) && c.eligible(s, dualstack) }), nil
	case vote != "":
		return c.AWS.Explicit(strings.Split(vote, ","), dualstack)
	}
	return c.Discover(scheme, dualstack), nil
}

// withZones are these subnets, and those that are added in other zones.
func (c *Subnets) withZones(present []string, scheme string, dualstack bool) ([]string, error) {
	if err := c.AWS.CheckIPv6(present, dualstack); err != nil {
		return nil, err
	}
	if !c.Options.AddZones {
		return present, nil
	}
	return slices.Sorted(slices.Values(append(c.Elsewhere(present, scheme, dualstack), present...))), nil
}

// Elsewhere are the subnets that would be found now in zones that none of these is in; none unless they are looked for.
func (c *Subnets) Elsewhere(present []string, scheme string, dualstack bool) (ids []string) {
	if !c.Rediscover {
		return nil
	}
	zones := map[string]bool{}
	for _, id := range present {
		if subnet := c.AWS.Subnet(id); subnet != nil {
			zones[subnet.Zone] = true
		}
	}
	for _, subnet := range c.Discover(scheme, dualstack) {
		if len(zones) > 0 && !zones[subnet.Zone] { // else nothing is known of them
			ids = append(ids, subnet.ID)
		}
	}
	return ids
}

// Discover finds subnets by the tag of their role; if none has it, by their routes.
func (c *Subnets) Discover(scheme string, dualstack bool) []lookup.Subnet {
	role := "kubernetes.io/role/internal-elb"
	if scheme == stack.InternetFacing {
		role = "kubernetes.io/role/elb"
	}
	tagged := func(s lookup.Subnet) bool {
		value, ok := s.Tags[role]
		return ok && (value == "" || value == "1")
	}
	if slices.ContainsFunc(c.AWS.Subnets, tagged) || !c.Options.ByReachability {
		return c.onePerZone(c.AWS.Subnets, func(s lookup.Subnet) bool { return tagged(s) && c.eligible(s, dualstack) })
	}
	return c.onePerZone(c.AWS.Subnets, func(s lookup.Subnet) bool {
		return s.Public == (scheme == stack.InternetFacing) && c.eligible(s, dualstack)
	})
}

func hasAll(s lookup.Subnet, tags map[string][]string) bool {
	for key, values := range tags {
		if value, ok := s.Tags[key]; !ok || !slices.Contains(values, value) {
			return false
		}
	}
	return true
}

const clusterTagPrefix = "kubernetes.io/cluster/"

// eligible reports whether a subnet can be chosen: it is not other clusters' alone, and has free addresses.
func (c *Subnets) eligible(s lookup.Subnet, dualstack bool) bool {
	const leastFree = 8
	_, ours := s.Tags[clusterTagPrefix+c.Options.Cluster]
	others := slices.ContainsFunc(slices.Collect(maps.Keys(s.Tags)), func(key string) bool { return strings.HasPrefix(key, clusterTagPrefix) })
	return s.Free >= leastFree && (s.IPv6 || !dualstack) && (ours || !others || !c.Options.CheckClusterTag)
}

// onePerZone takes one of those that fit in each zone: one that is tagged for the cluster first, then that of the lowest ID.
func (c *Subnets) onePerZone(subnets []lookup.Subnet, fits func(lookup.Subnet) bool) []lookup.Subnet {
	rank := func(s lookup.Subnet) int {
		if _, ours := s.Tags[clusterTagPrefix+c.Options.Cluster]; ours {
			return 0
		}
		return 1
	}
	sorted := slices.SortedFunc(slices.Values(subnets), func(a, b lookup.Subnet) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.ID, b.ID))
	})
	var out []lookup.Subnet
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
func (o *Options) checkSubnets(subnets []lookup.Subnet) error {
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
