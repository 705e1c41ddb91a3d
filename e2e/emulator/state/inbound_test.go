// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/region"
)

const (
	machine1 = "i-0123456789abc0001"
	machine2 = "i-0123456789abc0002"
)

var comparePrefixes = cmp.Options{cmpopts.EquateComparable(netip.Prefix{}, netip.Addr{})}

// secured is a machine whose network a test gives security groups, interfaces and instances.
type secured struct {
	*Machine
	t *testing.T
}

func newSecured(t *testing.T) secured { return secured{in(region.Options{}, Options{}), t} }

func (s secured) group(spec ec2.SecurityGroupSpec, rules ...ec2.Rule) string {
	s.t.Helper()
	g, err := s.ec2.CreateSecurityGroup("", spec)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range rules {
		wantRefusal(s.t, s.ec2.AuthorizeIngress("", g.ID, []ec2.Permission{{Rule: r}}), "")
	}
	return g.ID
}

func tcp(from, to int, source ec2.Source) ec2.Rule {
	return ec2.Rule{Protocol: "tcp", From: from, To: to, Source: source}
}

func eni(id, address string, groups ...string) ec2.Interface {
	return ec2.Interface{ID: id, Addresses: []netip.Addr{netip.MustParseAddr(address)}, Groups: groups}
}

func TestInbound(t *testing.T) {
	b := newSecured(t)
	halves := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/9"), netip.MustParsePrefix("10.128.0.0/9")}
	list := ec2.PrefixList{ID: "pl-00000000", MaxEntries: 9, Entries: halves}
	wantRefusal(t, b.ec2.PutPrefixList(list), "")
	front := b.group(ec2.SecurityGroupSpec{Name: "front"})
	fromFront := tcp(80, 80, ec2.Source{Group: front})
	machines := b.group(ec2.SecurityGroupSpec{Name: "nodes"}, fromFront)
	pods := b.group(ec2.SecurityGroupSpec{Name: "pods"}, tcp(1, 2, ec2.Source{PrefixList: list.ID}))

	nodes := eni("eni-00000001", "10.1.0.1", machines)
	nodes.Instance = machine1
	nodes.Addresses = append(nodes.Addresses, netip.MustParseAddr("2001:db8:1200::1"))
	second := eni("eni-00000002", "10.1.0.2", pods, machines)
	second.Instance, second.DeviceIndex = machine1, 1
	second.Prefixes = []netip.Prefix{netip.MustParsePrefix("10.1.1.0/28")}
	b.ec2.SetInstance(machine1, ec2.Instance{Address: "10.1.0.2", Running: true})
	b.ec2.SetInstance(machine2, ec2.Instance{Address: "10.2.0.1", Running: true})
	for _, i := range []ec2.Interface{nodes, second, eni("eni-00000003", "10.3.0.1")} {
		wantRefusal(t, b.ec2.PutInterface(i), "")
	}
	lb, err := b.CreateBalancer("", BalancerSpec{Name: "lb", Subnets: bothZones, SecurityGroups: []string{front}})
	if err != nil {
		t.Fatal(err)
	}
	group := func(vpc, kind, lb string, port int) string {
		g, err := b.CreateGroup("", GroupSpec{Name: fmt.Sprint("g", port), Protocol: ProtocolHTTP, Port: 80, VPC: vpc, TargetType: kind})
		if err != nil {
			t.Fatal(err)
		}
		if lb == "" {
			return g.ARN
		}
		if _, err := b.CreateListener(ListenerSpec{LoadBalancer: lb, Protocol: ProtocolHTTP, Port: port, Group: g.ARN}); err != nil {
			t.Fatal(err)
		}
		return g.ARN
	}
	away, err := b.CreateBalancer("", BalancerSpec{Name: "away", Subnets: []string{"subnet-0a000000000000011", "subnet-0b000000000000012"}})
	if err != nil {
		t.Fatal(err)
	}
	ips, instances := group(ec2.DefaultVPCID, TypeIP, lb.ARN, 80), group(ec2.DefaultVPCID, TypeInstance, lb.ARN, 81)
	elsewhere, alone := group(ec2.PeeredVPCID, TypeIP, away.ARN, 82), group(ec2.DefaultVPCID, TypeIP, "", 83)
	peered := []netip.Addr{netip.MustParseAddr("172.31.0.5"), netip.MustParseAddr("172.31.16.5")}
	v4 := []netip.Addr{netip.MustParseAddr("10.0.0.4"), netip.MustParseAddr("10.64.0.4")}
	v6 := []netip.Addr{netip.MustParseAddr("2001:db8:1200::4")}
	spelledOut := []ec2.Rule{tcp(1, 2, ec2.Source{CIDR: halves[0]}), tcp(1, 2, ec2.Source{CIDR: halves[1]})}
	at := func(id, address string) Target { return Target{Key: Key{ID: id}, Address: address} }
	for name, tc := range map[string]struct {
		group  string
		target Target
		want   Inbound
	}{
		"an address":                          {ips, at("10.1.0.1", "10.1.0.1"), Inbound{true, []ec2.Rule{fromFront}, []string{front}, v4}},
		"an IPv6 address":                     {ips, at("2001:db8:1200::1", "2001:db8:1200::1"), Inbound{true, []ec2.Rule{fromFront}, []string{front}, v6}},
		"an address in a prefix":              {ips, at("10.1.1.9", "10.1.1.9"), Inbound{true, append(spelledOut, fromFront), []string{front}, v4}},
		"an address beyond a prefix":          {ips, at("10.1.1.16", "10.1.1.16"), Inbound{}},
		"an interface without groups":         {ips, at("10.3.0.1", "10.3.0.1"), Inbound{}},
		"an instance's primary interface":     {instances, at(machine1, "10.1.0.2"), Inbound{true, []ec2.Rule{fromFront}, []string{front}, v4}},
		"an instance without interfaces":      {instances, at(machine2, "10.2.0.1"), Inbound{}},
		"a load balancer as target":           {ips, at(lb.ARN, lb.ARN), Inbound{}},
		"a load balancer of another VPC":      {elsewhere, at("10.1.0.1", "10.1.0.1"), Inbound{true, []ec2.Rule{fromFront}, nil, peered}},
		"a group that is attached to nothing": {alone, at("10.1.0.1", "10.1.0.1"), Inbound{}},
		"a group that is not there":           {"arn", at("10.1.0.1", "10.1.0.1"), Inbound{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := b.Inbound(tc.group, tc.target)
			if diff := cmp.Diff(tc.want, got, comparePrefixes, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("inbound (-want +got):\n%s", diff)
			}
		})
	}
	next, err := b.CreateBalancer("", BalancerSpec{Name: "next", Subnets: bothZones})
	if err != nil || next.Addresses[0] == lb.Addresses[0] {
		t.Errorf("addresses of the next load balancer are %v: %v", next.Addresses, err)
	}
}

func TestCreateBalancerWithSecurityGroups(t *testing.T) {
	b := newSecured(t)
	group, peer := b.group(ec2.SecurityGroupSpec{Name: "nodes"}), b.group(ec2.SecurityGroupSpec{Name: "peer", VPC: ec2.PeeredVPCID})
	for name, tc := range map[string]struct{ group, code string }{
		"of its VPC":   {group, ""},
		"of another":   {peer, "InvalidSecurityGroup"},
		"not existing": {"sg-00000000000000000", "InvalidSecurityGroup"},
	} {
		t.Run(name, func(t *testing.T) {
			lb, err := b.CreateBalancer("", BalancerSpec{Name: "lb", Subnets: bothZones, SecurityGroups: []string{tc.group}})
			wantRefusal(t, err, tc.code)
			if err == nil && !cmp.Equal(lb.SecurityGroups, []string{tc.group}) {
				t.Errorf("groups are %v", lb.SecurityGroups)
			}
			wantRefusal(t, b.DeleteBalancer(lb.ARN), "")
		})
	}
}

func TestBalancerKeepsItsSecurityGroups(t *testing.T) {
	b := newSecured(t)
	old, next := b.group(ec2.SecurityGroupSpec{Name: "old"}), b.group(ec2.SecurityGroupSpec{Name: "next"})
	lb, err := b.CreateBalancer("", BalancerSpec{Name: "lb", Subnets: bothZones, SecurityGroups: []string{old}})
	wantRefusal(t, err, "")
	wantRefusal(t, b.ec2.DeleteSecurityGroup(old), "DependencyViolation")
	wantRefusal(t, b.SetSecurityGroups(lb.ARN, []string{next}), "")
	wantRefusal(t, b.ec2.DeleteSecurityGroup(old), "")
	wantRefusal(t, b.ec2.DeleteSecurityGroup(next), "DependencyViolation")
	wantRefusal(t, b.DeleteBalancer(lb.ARN), "")
	wantRefusal(t, b.ec2.DeleteSecurityGroup(next), "")
}
