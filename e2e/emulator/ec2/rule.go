// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
)

// Rule is an inbound rule of a security group: one protocol, one range of ports, one source. Equal ones are duplicates to
// EC2, once they are canonical.
type Rule struct {
	// Protocol is tcp, udp, icmp, icmpv6, a number, or -1 for all.
	Protocol string
	// From and To are the first and the last port, of ICMP the type and the code. Both are -1 where there are no ports.
	From, To int
	Source   Source
}

// Source is where a rule allows traffic from; one field is set.
type Source struct {
	CIDR       netip.Prefix
	Group      string // security group
	PrefixList string
}

// Permission is a rule as a security group holds it. Its description is not part of the rule.
type Permission struct {
	Rule
	Description string
}

// String gives the source as EC2 writes it.
func (s Source) String() string {
	if id := cmp.Or(s.Group, s.PrefixList); id != "" {
		return id
	}
	return s.CIDR.String()
}

// String gives the rule as EC2 does in its errors.
func (r Rule) String() string {
	return fmt.Sprintf("peer: %s, %s, from port: %d, to port: %d, ALLOW", r.Source, strings.ToUpper(r.Protocol), r.From, r.To)
}

const highestPort = 65535

var (
	protocolNames = map[string]string{"6": "tcp", "17": "udp", "1": "icmp", "58": "icmpv6"}
	protocol      = regexp.MustCompile(`^(tcp|udp|icmp|icmpv6|-1|1?\d?\d|2[0-4]\d|25[0-5])$`)

	ruleDescription = regexp.MustCompile(`^[a-zA-Z0-9. _\-:/()#,@\[\]+=&;{}!$*]{0,255}$`)
)

// canonical is a rule as EC2 stores it, or what is wrong with it.
func (r Rule) canonical() (Rule, error) {
	r.Protocol = strings.ToLower(r.Protocol)
	r.Protocol = cmp.Or(protocolNames[r.Protocol], r.Protocol)
	r.Source.CIDR = r.Source.CIDR.Masked()
	switch r.Protocol {
	case "tcp", "udp":
		if r.From < 0 || r.To < 0 {
			return r, invalidValue("Invalid value 'Must specify both from and to ports with TCP/UDP.' for portRange.")
		}
		if r.From > r.To || r.To > highestPort {
			return r, invalidValue("Invalid TCP/UDP port range (%d:%d)", r.From, r.To)
		}
	case "icmp", "icmpv6":
	default:
		if !protocol.MatchString(r.Protocol) {
			return r, invalidValue("Invalid value '%s' for IP protocol. Unknown protocol.", r.Protocol)
		}
		r.From, r.To = -1, -1
	}
	return r, r.Source.validate()
}

func (s Source) validate() error {
	set := 0
	for _, given := range []bool{s.CIDR.IsValid(), s.Group != "", s.PrefixList != ""} {
		if given {
			set++
		}
	}
	if set != 1 {
		return refusal.New("MissingParameter", "Source group ID missing.")
	}
	return nil
}

// validate checks what EC2 checks of a description.
func (p Permission) validate() error {
	if !ruleDescription.MatchString(p.Description) {
		return invalidValue("Invalid rule description. Valid descriptions are strings less than 256 characters from the following set: " +
			" a-zA-Z0-9. _-:/()#,@[]+=&;{}!$*")
	}
	return nil
}

// canonicalPermissions are the permissions of one call as EC2 stores them; the same rule twice is an error.
func canonicalPermissions(permissions []Permission) ([]Permission, error) {
	if len(permissions) == 0 {
		return nil, refusal.New("MissingParameter", "The request must contain the parameter ipPermissions")
	}
	seen := map[Rule]bool{}
	stored := make([]Permission, len(permissions))
	for i, p := range permissions {
		rule, err := p.canonical()
		if err := cmp.Or(err, p.validate()); err != nil {
			return nil, err
		}
		if seen[rule] {
			return nil, invalidValue("The same permission must not appear multiple times")
		}
		seen[rule] = true
		stored[i] = Permission{rule, p.Description}
	}
	return stored, nil
}
