// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
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
	group := func(kind string, port int) string {
		g, err := b.CreateGroup("", GroupSpec{Name: kind, Protocol: ProtocolHTTP, Port: 80, VPC: DefaultVPCID, TargetType: kind})
		if err != nil {
			t.Fatal(err)
		}
		if port == 0 {
			return g.ARN
		}
		if _, err := b.CreateListener(ListenerSpec{LoadBalancer: lb.ARN, Protocol: ProtocolHTTP, Port: port, Group: g.ARN}); err != nil {
			t.Fatal(err)
		}
		return g.ARN
	}
	ips, instances := group(TypeIP, 80), group(TypeInstance, 81)
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
		"a group that is attached to nothing": {"arn", at("10.1.0.1", "10.1.0.1"), Inbound{}},
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
