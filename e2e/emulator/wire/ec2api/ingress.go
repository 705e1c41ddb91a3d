// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2api

import (
	"encoding/xml"
	"net/netip"
	"strconv"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

type returnXML struct {
	XMLName xml.Name `xml:"return"`
	Value   bool     `xml:",chardata"`
}

func authorizeSecurityGroupIngress(q *call.Request) (any, error) {
	permissions, err := permissions(q)
	if err != nil {
		return nil, err
	}
	return returnXML{Value: true}, q.Cloud.EC2.AuthorizeIngress(q.Caller.Account, q.Text("GroupId"), permissions)
}

func revokeSecurityGroupIngress(q *call.Request) (any, error) {
	if _, err := permissions(q); err != nil {
		return nil, err
	}
	_, err := q.Cloud.EC2.RevokeIngress(q.Caller.Account, q.Text("GroupId"), q.Rules)
	return returnXML{Value: true}, err
}

// permissions reads the rules of a call, one for each source, and notes them in the log.
func permissions(q *call.Request) ([]ec2.Permission, error) {
	var all []ec2.Permission
	for _, entry := range q.List("IpPermissions") {
		of, err := permissionsOf(entry)
		if err != nil {
			return nil, err
		}
		all = append(all, of...)
	}
	for _, p := range all {
		q.Rules = append(q.Rules, p.Rule)
	}
	return all, nil
}

// permissionsOf are the rules of one entry. An entry without sources is one rule without a source.
func permissionsOf(p *call.Tree) ([]ec2.Permission, error) {
	from, fromErr := port(p, "FromPort")
	to, toErr := port(p, "ToPort")
	sources, err := sources(p)
	for _, err := range []error{fromErr, toErr, err} {
		if err != nil {
			return nil, err
		}
	}
	for i := range sources {
		sources[i].Protocol, sources[i].From, sources[i].To = p.Text("IpProtocol"), from, to
	}
	return sources, nil
}

// port reads a number, -1 if it is not there.
func port(p *call.Tree, name string) (int, error) {
	text := p.Text(name)
	if text == "" {
		return -1, nil
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return 0, invalidParameter("Invalid value '%s' for %s", text, name)
	}
	return port, nil
}

// sources are permissions that have only a source and a description yet.
func sources(p *call.Tree) ([]ec2.Permission, error) {
	var all []ec2.Permission
	add := func(entry *call.Tree, source ec2.Source) {
		all = append(all, ec2.Permission{Rule: ec2.Rule{Source: source}, Description: entry.Text("Description")})
	}
	for _, family := range []struct {
		list, field string
		v4          bool
	}{{"IpRanges", "CidrIp", true}, {"Ipv6Ranges", "CidrIpv6", false}} {
		for _, entry := range p.List(family.list) {
			cidr, err := netip.ParsePrefix(entry.Text(family.field))
			if err != nil || cidr.Addr().Is4() != family.v4 {
				return nil, invalidParameter("CIDR block %s is malformed", entry.Text(family.field))
			}
			add(entry, ec2.Source{CIDR: cidr})
		}
	}
	for _, entry := range p.List("Groups") {
		add(entry, ec2.Source{Group: entry.Text("GroupId")})
	}
	for _, entry := range p.List("PrefixListIds") {
		add(entry, ec2.Source{PrefixList: entry.Text("PrefixListId")})
	}
	if len(all) == 0 {
		add(p, ec2.Source{})
	}
	return all, nil
}
