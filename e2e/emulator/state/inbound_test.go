// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestInbound(t *testing.T) {
	b := newEC2Bed(t, Options{})
	front, pods := b.create(SecurityGroupSpec{Name: "front"}), b.create(SecurityGroupSpec{Name: "pods"})
	list := PrefixList{ID: "pl-00000000", MaxEntries: 9, Entries: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/9"), netip.MustParsePrefix("10.128.0.0/9")}}
	wantRefusal(t, b.PutPrefixList(list), "")
	fromList := Rule{Protocol: "tcp", From: 1, To: 2, Source: Source{PrefixList: list.ID}}
	wantRefusal(t, b.AuthorizeIngress("", b.group, permit(tcpFrom(front))), "")
	wantRefusal(t, b.AuthorizeIngress("", pods, permit(fromList)), "")

	nodes := eni("eni-00000001", "10.1.0.1", b.group)
	nodes.Instance = machine1
	nodes.Addresses = append(nodes.Addresses, netip.MustParseAddr("2001:db8:1200::1"))
	second := eni("eni-00000002", "10.1.0.2", pods, b.group)
	second.Instance, second.DeviceIndex = machine1, 1
	second.Prefixes = []netip.Prefix{netip.MustParsePrefix("10.1.1.0/28")}
	b.SetInstance(machine1, Instance{Address: "10.1.0.2", Running: true})
	b.SetInstance(machine2, Instance{Address: "10.2.0.1", Running: true})
	for _, i := range []Interface{nodes, second, eni("eni-00000003", "10.3.0.1")} {
		wantRefusal(t, b.PutInterface(i), "")
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
	ips, instances := group(DefaultVPCID, TypeIP, lb.ARN, 80), group(DefaultVPCID, TypeInstance, lb.ARN, 81)
	elsewhere, alone := group(PeeredVPCID, TypeIP, away.ARN, 82), group(DefaultVPCID, TypeIP, "", 83)
	peered := []netip.Addr{netip.MustParseAddr("172.31.0.5"), netip.MustParseAddr("172.31.16.5")}
	v4 := []netip.Addr{netip.MustParseAddr("10.0.0.4"), netip.MustParseAddr("10.64.0.4")}
	v6 := []netip.Addr{netip.MustParseAddr("2001:db8:1200::4")}
	spelledOut := []Rule{tcp(1, 2, "10.0.0.0/9"), tcp(1, 2, "10.128.0.0/9")}
	at := func(id, address string) Target { return Target{Key: Key{ID: id}, Address: address} }
	for name, tc := range map[string]struct {
		group  string
		target Target
		want   Inbound
	}{
		"an address":                          {ips, at("10.1.0.1", "10.1.0.1"), Inbound{true, []Rule{tcpFrom(front)}, []string{front}, v4}},
		"an IPv6 address":                     {ips, at("2001:db8:1200::1", "2001:db8:1200::1"), Inbound{true, []Rule{tcpFrom(front)}, []string{front}, v6}},
		"an address in a prefix":              {ips, at("10.1.1.9", "10.1.1.9"), Inbound{true, append(spelledOut, tcpFrom(front)), []string{front}, v4}},
		"an address beyond a prefix":          {ips, at("10.1.1.16", "10.1.1.16"), Inbound{}},
		"an interface without groups":         {ips, at("10.3.0.1", "10.3.0.1"), Inbound{}},
		"an instance's primary interface":     {instances, at(machine1, "10.1.0.2"), Inbound{true, []Rule{tcpFrom(front)}, []string{front}, v4}},
		"an instance without interfaces":      {instances, at(machine2, "10.2.0.1"), Inbound{}},
		"a load balancer as target":           {ips, at(lb.ARN, lb.ARN), Inbound{}},
		"a load balancer of another VPC":      {elsewhere, at("10.1.0.1", "10.1.0.1"), Inbound{true, []Rule{tcpFrom(front)}, nil, peered}},
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
