// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/targetgate/targetgate/aws/ec2"
)

// protocols are the names that EC2 gives to numbers.
var protocols = map[string]string{"1": "icmp", "6": "tcp", "17": "udp", "58": "icmpv6"}

// portless is the port of a rule whose protocol has none.
const portless = -1

var validDescription = regexp.MustCompile(`^[a-zA-Z0-9. _\-:/()#,@\[\]+=&;{}!$*]{0,255}$`)

// read takes rules from a call, one for each source, and returns the first reason to refuse them.
func read(permissions []types.IpPermission) (rules []ec2.Permission, invalid error) {
	for _, p := range permissions {
		base, err := ruleOf(p)
		invalid = cmp.Or(invalid, err)
		add := func(source ec2.Source, description *string) {
			base.Source = source
			rules = append(rules, ec2.Permission{Rule: base, Description: aws.ToString(description)})
			if !validDescription.MatchString(aws.ToString(description)) {
				invalid = cmp.Or(invalid, refusal("InvalidParameterValue", "Invalid rule description. Valid descriptions are strings less than "+
					"256 characters from the following set:  a-zA-Z0-9. _-:/()#,@[]+=&;{}!$*"))
			}
		}
		addCIDR := func(text, description *string) {
			prefix, err := netip.ParsePrefix(aws.ToString(text))
			if err != nil {
				invalid = cmp.Or(invalid, refusal("InvalidParameterValue", fmt.Sprintf("CIDR block %s is malformed", aws.ToString(text))))
				return
			}
			add(ec2.Source{CIDR: prefix.Masked()}, description)
		}
		for _, r := range p.IpRanges {
			addCIDR(r.CidrIp, r.Description)
		}
		for _, r := range p.Ipv6Ranges {
			addCIDR(r.CidrIpv6, r.Description)
		}
		for _, l := range p.PrefixListIds {
			add(ec2.Source{PrefixList: aws.ToString(l.PrefixListId)}, l.Description)
		}
		for _, g := range p.UserIdGroupPairs {
			add(ec2.Source{Group: aws.ToString(g.GroupId)}, g.Description)
		}
	}
	return rules, invalid
}

// ruleOf is the rule of a permission but for its source, as EC2 keeps it.
func ruleOf(p types.IpPermission) (ec2.Rule, error) {
	protocol := aws.ToString(p.IpProtocol)
	protocol = cmp.Or(protocols[protocol], protocol)
	rule := ec2.Rule{Protocol: protocol, From: portless, To: portless}
	switch protocol {
	case "tcp", "udp":
		if p.FromPort == nil || p.ToPort == nil || *p.FromPort < 0 || *p.FromPort > *p.ToPort || *p.ToPort > 65535 {
			return rule, refusal("InvalidParameterValue", fmt.Sprintf(
				"Invalid value '%d' for portRange. Must specify both from and to ports with TCP/UDP.", aws.ToInt32(p.FromPort)))
		}
		rule.From, rule.To = *p.FromPort, *p.ToPort
	case "icmp", "icmpv6":
		if p.FromPort != nil && p.ToPort != nil {
			rule.From, rule.To = *p.FromPort, *p.ToPort
		}
	}
	return rule, nil
}

// written are rules as EC2 describes them: those of the same protocol and ports are one permission with many sources.
func written(rules map[ec2.Rule]ec2.Permission) []types.IpPermission {
	byPorts := map[string]*types.IpPermission{}
	for _, rule := range slices.SortedFunc(maps.Values(rules), func(x, y ec2.Permission) int {
		return strings.Compare(x.String(), y.String())
	}) {
		key := fmt.Sprint(rule.Protocol, " ", rule.From, " ", rule.To)
		if byPorts[key] == nil {
			byPorts[key] = &types.IpPermission{IpProtocol: aws.String(rule.Protocol)}
			if rule.From != portless || strings.HasPrefix(rule.Protocol, "icmp") {
				byPorts[key].FromPort, byPorts[key].ToPort = aws.Int32(rule.From), aws.Int32(rule.To)
			}
		}
		addSource(byPorts[key], rule)
	}
	var out []types.IpPermission
	for _, p := range sortedBy(byPorts) {
		out = append(out, *p)
	}
	return out
}

func addSource(p *types.IpPermission, rule ec2.Permission) {
	var description *string
	if rule.Description != "" {
		description = aws.String(rule.Description)
	}
	source := aws.String(rule.Source.String())
	switch {
	case rule.Source.Group != "":
		p.UserIdGroupPairs = append(p.UserIdGroupPairs,
			types.UserIdGroupPair{GroupId: source, UserId: aws.String("123456789012"), Description: description})
	case rule.Source.PrefixList != "":
		p.PrefixListIds = append(p.PrefixListIds, types.PrefixListId{PrefixListId: source, Description: description})
	case rule.Source.CIDR.Addr().Is4():
		p.IpRanges = append(p.IpRanges, types.IpRange{CidrIp: source, Description: description})
	default:
		p.Ipv6Ranges = append(p.Ipv6Ranges, types.Ipv6Range{CidrIpv6: source, Description: description})
	}
}

// duplicate is EC2's refusal of a rule that is there already.
func duplicate(rule ec2.Rule) error {
	ports := fmt.Sprintf("%s, from port: %d, to port: %d", strings.ToUpper(rule.Protocol), rule.From, rule.To)
	switch {
	case rule.Protocol == "-1":
		ports = "ALL"
	case rule.From == portless:
		ports = "protocol: " + rule.Protocol
	}
	return refusal("InvalidPermission.Duplicate", fmt.Sprintf("the specified rule \"peer: %s, %s, ALLOW\" already exists", rule.Source, ports))
}
