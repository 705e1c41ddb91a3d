// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2api

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

func tagItems(tags map[string]string) []tagItemXML {
	var shown []tagItemXML
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		shown = append(shown, tagItemXML{key, tags[key]})
	}
	return shown
}

type subnetXML struct {
	ID      string            `xml:"subnetId"`
	VpcID   string            `xml:"vpcId"`
	OwnerID string            `xml:"ownerId"`
	State   string            `xml:"state"`
	Zone    string            `xml:"availabilityZone"`
	ZoneID  string            `xml:"availabilityZoneId"`
	CIDR    string            `xml:"cidrBlock,omitempty"`
	CIDR6s  items[cidr6XML]   `xml:"ipv6CidrBlockAssociationSet"`
	Native  bool              `xml:"ipv6Native"`
	Free    int               `xml:"availableIpAddressCount"`
	Outpost string            `xml:"outpostArn,omitempty"`
	Tags    items[tagItemXML] `xml:"tagSet"`
}

func describeSubnets(q *call.Request) (any, error) {
	if err := eitherIDs(q, "SubnetId"); err != nil {
		return nil, err
	}
	subnets, err := q.Cloud.EC2.DescribeSubnets(q.Caller.Account, q.Texts("SubnetId")...)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(subnets, func(a, b ec2.DescribedSubnet) int { return strings.Compare(a.ID, b.ID) })
	ids := zoneIDs(q)
	return listing[ec2.DescribedSubnet, subnetXML]{
		set:    "subnetSet",
		id:     func(n ec2.DescribedSubnet) string { return n.ID },
		has:    subnetFields,
		answer: func(n ec2.DescribedSubnet) subnetXML { return subnetAnswer(n, ids[n.Zone]) },
	}.page(q, subnets)
}

func zoneIDs(q *call.Request) map[string]string {
	ids := map[string]string{}
	for _, z := range q.Cloud.EC2.Zones() {
		ids[z.Name] = z.ID
	}
	return ids
}

func subnetFields(s ec2.DescribedSubnet, filter string) ([]string, bool) {
	switch filter {
	case "vpc-id":
		return []string{s.VPC}, true
	case "subnet-id":
		return []string{s.ID}, true
	case "availability-zone":
		return []string{s.Zone}, true
	case "state":
		return []string{"available"}, true
	}
	return tagFields(s.Tags, filter)
}

func subnetAnswer(s ec2.DescribedSubnet, zoneID string) subnetXML {
	answer := subnetXML{
		ID: s.ID, VpcID: s.VPC, OwnerID: s.Account, State: "available", Zone: s.Zone, ZoneID: zoneID,
		Native: !s.CIDR.Addr().Is4(), Free: s.Free, Outpost: s.Outpost, Tags: items[tagItemXML]{tagItems(s.Tags)},
	}
	six := s.CIDR6
	if answer.Native {
		six = s.CIDR
	} else {
		answer.CIDR = s.CIDR.String()
	}
	if six != (netip.Prefix{}) {
		id := "subnet-cidr-assoc-" + strings.TrimPrefix(s.ID, "subnet-")
		answer.CIDR6s.Items = []cidr6XML{{id, six.String(), cidrStateXML{"associated"}}}
	}
	return answer
}

type associationXML struct {
	ID      string       `xml:"routeTableAssociationId"`
	TableID string       `xml:"routeTableId"`
	Subnet  string       `xml:"subnetId,omitempty"`
	Main    bool         `xml:"main"`
	State   cidrStateXML `xml:"associationState"`
}

type routeXML struct {
	CIDR      string `xml:"destinationCidrBlock,omitempty"`
	CIDR6     string `xml:"destinationIpv6CidrBlock,omitempty"`
	Gateway   string `xml:"gatewayId,omitempty"`
	NAT       string `xml:"natGatewayId,omitempty"`
	Interface string `xml:"networkInterfaceId,omitempty"`
	State     string `xml:"state"`
}

type routeTableXML struct {
	ID           string                `xml:"routeTableId"`
	VpcID        string                `xml:"vpcId"`
	OwnerID      string                `xml:"ownerId"`
	Associations items[associationXML] `xml:"associationSet"`
	Routes       items[routeXML]       `xml:"routeSet"`
}

var routeTableListing = listing[ec2.DescribedRouteTable, routeTableXML]{
	set:    "routeTableSet",
	id:     func(t ec2.DescribedRouteTable) string { return t.ID },
	has:    routeTableFields,
	answer: routeTableAnswer,
}

func describeRouteTables(q *call.Request) (any, error) {
	if err := eitherIDs(q, "RouteTableId"); err != nil {
		return nil, err
	}
	tables, ids := q.Cloud.EC2.RouteTables(q.Caller.Account), q.Texts("RouteTableId")
	for _, id := range ids {
		if !slices.ContainsFunc(tables, func(t ec2.DescribedRouteTable) bool { return t.ID == id }) {
			return nil, refusal.New("InvalidRouteTableID.NotFound", "The routeTable ID '%s' does not exist", id)
		}
	}
	tables = slices.DeleteFunc(tables, func(t ec2.DescribedRouteTable) bool { return len(ids) > 0 && !slices.Contains(ids, t.ID) })
	slices.SortFunc(tables, func(a, b ec2.DescribedRouteTable) int { return strings.Compare(a.ID, b.ID) })
	return routeTableListing.page(q, tables)
}

func routeTableFields(t ec2.DescribedRouteTable, filter string) (values []string, known bool) {
	switch filter {
	case "vpc-id":
		return []string{t.VPC}, true
	case "route-table-id":
		return []string{t.ID}, true
	case "association.subnet-id":
		return t.Subnets, true
	case "association.main":
		return []string{strconv.FormatBool(t.Main)}, true
	}
	return nil, false
}

func routeTableAnswer(t ec2.DescribedRouteTable) routeTableXML {
	answer := routeTableXML{ID: t.ID, VpcID: t.VPC, OwnerID: t.Account}
	associate := func(subnet string, main bool) {
		id := "rtbassoc-" + strings.TrimPrefix(t.ID, "rtb-") + strings.TrimPrefix(subnet, "subnet-")
		answer.Associations.Items = append(answer.Associations.Items, associationXML{id, t.ID, subnet, main, cidrStateXML{"associated"}})
	}
	if t.Main {
		associate("", true)
	}
	for _, subnet := range t.Subnets {
		associate(subnet, false)
	}
	for _, r := range t.Routes {
		answer.Routes.Items = append(answer.Routes.Items, routeAnswer(r))
	}
	return answer
}

func routeAnswer(r ec2.Route) routeXML {
	answer := routeXML{State: "active"}
	if strings.Contains(r.Destination, ":") {
		answer.CIDR6 = r.Destination
	} else {
		answer.CIDR = r.Destination
	}
	switch {
	case strings.HasPrefix(r.Target, "nat-"):
		answer.NAT = r.Target
	case strings.HasPrefix(r.Target, "eni-"):
		answer.Interface = r.Target
	default:
		answer.Gateway = r.Target
	}
	return answer
}
