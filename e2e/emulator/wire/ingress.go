// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/xml"
	"net/netip"
	"strconv"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

type returnXML struct {
	XMLName xml.Name `xml:"return"`
	Value   bool     `xml:",chardata"`
}

func authorizeSecurityGroupIngress(s *Server, q *request) (any, error) {
	permissions, err := q.permissions()
	if err != nil {
		return nil, err
	}
	return returnXML{Value: true}, s.machine.AuthorizeIngress(q.caller.account, q.text("GroupId"), permissions)
}

func revokeSecurityGroupIngress(s *Server, q *request) (any, error) {
	if _, err := q.permissions(); err != nil {
		return nil, err
	}
	_, err := s.machine.RevokeIngress(q.caller.account, q.text("GroupId"), q.log.Rules)
	return returnXML{Value: true}, err
}

// permissions reads the rules of a call, one for each source, and notes them in the log.
func (q *request) permissions() ([]state.Permission, error) {
	var all []state.Permission
	for _, entry := range q.list("IpPermissions") {
		permissions, err := entry.permissions()
		if err != nil {
			return nil, err
		}
		all = append(all, permissions...)
	}
	for _, p := range all {
		q.log.Rules = append(q.log.Rules, p.Rule)
	}
	return all, nil
}

// permissions are the rules of one entry. An entry without sources is one rule without a source.
func (p *params) permissions() ([]state.Permission, error) {
	from, fromErr := p.port("FromPort")
	to, toErr := p.port("ToPort")
	sources, err := p.sources()
	for _, err := range []error{fromErr, toErr, err} {
		if err != nil {
			return nil, err
		}
	}
	for i := range sources {
		sources[i].Protocol, sources[i].From, sources[i].To = p.text("IpProtocol"), from, to
	}
	return sources, nil
}

// port reads a number, -1 if it is not there.
func (p *params) port(name string) (int, error) {
	text := p.text(name)
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
func (p *params) sources() ([]state.Permission, error) {
	var all []state.Permission
	add := func(entry *params, source state.Source) {
		all = append(all, state.Permission{Rule: state.Rule{Source: source}, Description: entry.text("Description")})
	}
	for _, family := range []struct {
		list, field string
		v4          bool
	}{{"IpRanges", "CidrIp", true}, {"Ipv6Ranges", "CidrIpv6", false}} {
		for _, entry := range p.list(family.list) {
			cidr, err := netip.ParsePrefix(entry.text(family.field))
			if err != nil || cidr.Addr().Is4() != family.v4 {
				return nil, invalidParameter("CIDR block %s is malformed", entry.text(family.field))
			}
			add(entry, state.Source{CIDR: cidr})
		}
	}
	for _, entry := range p.list("Groups") {
		add(entry, state.Source{Group: entry.text("GroupId")})
	}
	for _, entry := range p.list("PrefixListIds") {
		add(entry, state.Source{PrefixList: entry.text("PrefixListId")})
	}
	if len(all) == 0 {
		add(p, state.Source{})
	}
	return all, nil
}
