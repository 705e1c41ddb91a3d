// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2api

import (
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

type tagItemXML struct {
	Key   string `xml:"key"`
	Value string `xml:"value"`
}

type rangeXML struct {
	CIDR        string `xml:"cidrIp"`
	Description string `xml:"description,omitempty"`
}

type range6XML struct {
	CIDR        string `xml:"cidrIpv6"`
	Description string `xml:"description,omitempty"`
}

type groupPairXML struct {
	GroupID     string `xml:"groupId"`
	UserID      string `xml:"userId"`
	Description string `xml:"description,omitempty"`
}

type prefixListXML struct {
	ID          string `xml:"prefixListId"`
	Description string `xml:"description,omitempty"`
}

type permissionXML struct {
	Protocol    string               `xml:"ipProtocol"`
	From        *int                 `xml:"fromPort"`
	To          *int                 `xml:"toPort"`
	Groups      items[groupPairXML]  `xml:"groups"`
	Ranges      items[rangeXML]      `xml:"ipRanges"`
	Range6s     items[range6XML]     `xml:"ipv6Ranges"`
	PrefixLists items[prefixListXML] `xml:"prefixListIds"`
}

type securityGroupXML struct {
	OwnerID     string               `xml:"ownerId"`
	GroupID     string               `xml:"groupId"`
	GroupName   string               `xml:"groupName"`
	Description string               `xml:"groupDescription"`
	VpcID       string               `xml:"vpcId"`
	Permissions items[permissionXML] `xml:"ipPermissions"`
	Tags        items[tagItemXML]    `xml:"tagSet"`
}

var securityGroupListing = listing[ec2.SecurityGroup, securityGroupXML]{
	set:    "securityGroupInfo",
	id:     func(g ec2.SecurityGroup) string { return g.ID },
	has:    securityGroupFields,
	answer: securityGroupAnswer,
}

func describeSecurityGroups(q *call.Request) (any, error) {
	groups, err := q.Cloud.EC2.DescribeSecurityGroups(q.Caller.Account, q.Texts("GroupId")...)
	if err != nil {
		return nil, err
	}
	return securityGroupListing.page(q, groups)
}

func securityGroupFields(g ec2.SecurityGroup, filter string) ([]string, bool) {
	switch filter {
	case "vpc-id":
		return []string{g.VPC}, true
	case "group-id":
		return []string{g.ID}, true
	case "group-name":
		return []string{g.Name}, true
	case "ip-permission.group-id":
		var ids []string
		for _, p := range g.Ingress {
			ids = append(ids, p.Source.Group)
		}
		return ids, true
	}
	return tagFields(g.Tags, filter)
}

func securityGroupAnswer(g ec2.SecurityGroup) securityGroupXML {
	return securityGroupXML{
		OwnerID: g.Account, GroupID: g.ID, GroupName: g.Name, Description: g.Description, VpcID: g.VPC,
		Permissions: items[permissionXML]{permissionAnswers(g)}, Tags: items[tagItemXML]{tagItems(g.Tags)},
	}
}

// permissionAnswers puts the rules of one protocol and range of ports together, as EC2 does.
func permissionAnswers(g ec2.SecurityGroup) []permissionXML {
	type key struct {
		protocol string
		from, to int
	}
	places := map[key]int{}
	var answers []permissionXML
	for _, p := range g.Ingress {
		k := key{p.Protocol, p.From, p.To}
		at, ok := places[k]
		if !ok {
			at = len(answers)
			places[k] = at
			answers = append(answers, permissionXML{Protocol: p.Protocol, From: portAnswer(p.Rule, p.From), To: portAnswer(p.Rule, p.To)})
		}
		answers[at].add(p, g.Account)
	}
	return answers
}

// portAnswer leaves the ports out for protocols that have none.
func portAnswer(r ec2.Rule, port int) *int {
	switch r.Protocol {
	case "tcp", "udp", "icmp", "icmpv6":
		return &port
	}
	return nil
}

func (x *permissionXML) add(p ec2.Permission, account string) {
	switch source := p.Source; {
	case source.Group != "":
		x.Groups.Items = append(x.Groups.Items, groupPairXML{source.Group, account, p.Description})
	case source.PrefixList != "":
		x.PrefixLists.Items = append(x.PrefixLists.Items, prefixListXML{source.PrefixList, p.Description})
	case source.CIDR.Addr().Is4():
		x.Ranges.Items = append(x.Ranges.Items, rangeXML{source.CIDR.String(), p.Description})
	default:
		x.Range6s.Items = append(x.Range6s.Items, range6XML{source.CIDR.String(), p.Description})
	}
}
