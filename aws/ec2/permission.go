// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// allProtocols is the protocol of a rule for all of them.
const allProtocols = "-1"

// expand are the rules of a permission of EC2's, which has many sources: one for each.
func expand(p types.IpPermission) (out []Permission, err error) {
	rule := Rule{Protocol: aws.ToString(p.IpProtocol), From: port(p.FromPort), To: port(p.ToPort)}
	if rule.Protocol == "" {
		return nil, errors.New("a rule without protocol")
	}
	if rule.Protocol == allProtocols {
		rule.From, rule.To = -1, -1
	}
	add := func(source Source, description *string) {
		rule.Source = source
		out = append(out, Permission{Rule: rule, Description: aws.ToString(description)})
	}
	var faults []error
	addCIDR := func(text, description *string) {
		prefix, err := netip.ParsePrefix(aws.ToString(text))
		if err != nil {
			faults = append(faults, fmt.Errorf("reading the source of a rule: %w", err))
		}
		add(Source{CIDR: prefix.Masked()}, description)
	}
	addID := func(source Source, description *string) {
		if source == (Source{}) {
			faults = append(faults, errors.New("a rule whose source has no ID"))
		}
		add(source, description)
	}
	for _, r := range p.IpRanges {
		addCIDR(r.CidrIp, r.Description)
	}
	for _, r := range p.Ipv6Ranges {
		addCIDR(r.CidrIpv6, r.Description)
	}
	for _, l := range p.PrefixListIds {
		addID(Source{PrefixList: aws.ToString(l.PrefixListId)}, l.Description)
	}
	for _, g := range p.UserIdGroupPairs {
		addID(Source{Group: aws.ToString(g.GroupId)}, g.Description)
	}
	return out, errors.Join(faults...)
}

// port is -1 where EC2 has none, as of a rule for all protocols or for a number without ports.
func port(n *int32) int32 {
	if n == nil {
		return -1
	}
	return *n
}

// compose are rules as EC2 takes them, a permission of one source for each.
func compose(rules []Permission) []types.IpPermission {
	out := make([]types.IpPermission, 0, len(rules))
	for _, rule := range rules {
		p := types.IpPermission{IpProtocol: aws.String(rule.Protocol)}
		if rule.Protocol != allProtocols {
			p.FromPort, p.ToPort = aws.Int32(rule.From), aws.Int32(rule.To)
		}
		var description *string
		if rule.Description != "" {
			description = aws.String(rule.Description)
		}
		switch s := rule.Source; {
		case s.Group != "":
			p.UserIdGroupPairs = []types.UserIdGroupPair{{GroupId: aws.String(s.Group), Description: description}}
		case s.PrefixList != "":
			p.PrefixListIds = []types.PrefixListId{{PrefixListId: aws.String(s.PrefixList), Description: description}}
		case s.CIDR.Addr().Is4():
			p.IpRanges = []types.IpRange{{CidrIp: aws.String(s.CIDR.Masked().String()), Description: description}}
		default:
			p.Ipv6Ranges = []types.Ipv6Range{{CidrIpv6: aws.String(s.CIDR.Masked().String()), Description: description}}
		}
		out = append(out, p)
	}
	return out
}
