// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ruleset

import (
	"fmt"
	"net/netip"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/targets/fixture"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

func TestReachOfASpec(t *testing.T) {
	udp53 := ec2.Rule{Protocol: "udp", From: 53, To: 53, Source: ec2.Source{Group: "sg-1"}}
	tests := map[string]struct {
		rules    []v1beta1.NetworkingIngressRule
		touched  []ec2.Rule
		separate []ec2.Rule
	}{
		"nothing":                           {separate: []ec2.Rule{rule(80, 80, "sg-1")}},
		"a number is that port":             {rules: []v1beta1.NetworkingIngressRule{from("sg-1", 80)}, touched: []ec2.Rule{rule(80, 80, "sg-1"), rule(1, 80, "sg-1"), rule(80, 90, "sg-1"), rule(0, lastPort, "sg-1")}, separate: []ec2.Rule{rule(79, 79, "sg-1"), rule(81, 30000, "sg-1"), rule(80, 80, "sg-2"), udp53}},
		"between two numbers is neither":    {rules: []v1beta1.NetworkingIngressRule{from("sg-1", 443, 80)}, touched: []ec2.Rule{rule(80, 80, "sg-1"), rule(100, 443, "sg-1")}, separate: []ec2.Rule{rule(81, 442, "sg-1")}},
		"numbers of several rules":          {rules: []v1beta1.NetworkingIngressRule{from("sg-1", 80), from("sg-1", 443)}, touched: []ec2.Rule{rule(80, 80, "sg-1"), rule(443, 443, "sg-1")}, separate: []ec2.Rule{rule(81, 442, "sg-1")}},
		"ranges that overlap are joined":    {rules: []v1beta1.NetworkingIngressRule{from("sg-1", 80, nil, 443)}, touched: []ec2.Rule{rule(8080, 8080, "sg-1")}},
		"a name may be any port":            {rules: []v1beta1.NetworkingIngressRule{from("sg-1", "http")}, touched: []ec2.Rule{rule(8080, 8080, "sg-1")}, separate: []ec2.Rule{udp53, rule(8080, 8080, "10.0.0.0/8")}},
		"no port is all ports":              {rules: []v1beta1.NetworkingIngressRule{from("sg-1", nil)}, touched: []ec2.Rule{rule(8080, 8080, "sg-1")}},
		"no ports are all of TCP":           {rules: []v1beta1.NetworkingIngressRule{from("sg-1")}, touched: []ec2.Rule{rule(8080, 8080, "sg-1")}, separate: []ec2.Rule{udp53}},
		"port 0 may be merged to all":       {rules: []v1beta1.NetworkingIngressRule{from("sg-1", 0)}, touched: []ec2.Rule{rule(0, lastPort, "sg-1"), rule(80, 80, "sg-1")}},
		"protocols are apart":               {rules: []v1beta1.NetworkingIngressRule{{From: []v1beta1.NetworkingPeer{peer("sg-1")}, Ports: []v1beta1.NetworkingPort{tcp(80), udp(53)}}}, touched: []ec2.Rule{rule(80, 80, "sg-1"), udp53}, separate: []ec2.Rule{rule(53, 53, "sg-1")}},
		"a number that is none may be any":  {rules: []v1beta1.NetworkingIngressRule{from("a b", 80), from("sg-1", 70000)}, touched: []ec2.Rule{rule(80, 80, "sg-1")}, separate: []ec2.Rule{rule(80, 80, "a b")}},
		"a CIDR is compared as EC2 has it":  {rules: []v1beta1.NetworkingIngressRule{from("10.0.0.5/8", 80)}, touched: []ec2.Rule{rule(80, 80, "10.0.0.0/8")}},
		"a port that is named twice is one": {rules: []v1beta1.NetworkingIngressRule{from("sg-1", 81, 80, 81, 82)}, touched: []ec2.Rule{rule(82, 82, "sg-1")}, separate: []ec2.Rule{rule(83, 83, "sg-1")}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			reach := ReachOf(spec(tc.rules...))
			for _, r := range tc.touched {
				if !reach.Touches(r) {
					t.Errorf("%s is not touched", r)
				}
			}
			for _, r := range tc.separate {
				if reach.Touches(r) {
					t.Errorf("%s is touched", r)
				}
			}
		})
	}
}

// A spec with more rules than AWS has is faulty and has a reach all the same.
func TestReachGrowsWithTheFieldsOfTheSpec(t *testing.T) {
	fixture.Linear(t, func(times int) {
		var all v1beta1.NetworkingIngressRule
		for n := range 10 * times {
			all.From, all.Ports = append(all.From, peer(fmt.Sprintf("sg-%d", n))), append(all.Ports, tcp(2*n+2))
		}
		if reach := ReachOf(spec(all)); !reach.Touches(rule(4, 4, "sg-1")) || reach.Touches(rule(5, 5, "sg-1")) {
			t.Error("the reach is another one than that of the spec")
		}
	})
}

// The peers of a rule share its ports, so that a reach takes little more memory than the spec, which is kept as well.
func TestReachIsKeptInLittleMemory(t *testing.T) {
	const peers, each = 7 * 1000, 200
	networking := spec()
	for n := range 7 {
		all := v1beta1.NetworkingIngressRule{Ports: []v1beta1.NetworkingPort{{}, udp(53), udp(80)}}
		for m := range 1000 {
			all.From = append(all.From, peer(netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(n), byte(m >> 8), byte(m)}), 32).String()))
		}
		networking.Ingress = append(networking.Ingress, all)
	}
	before := kept()
	var reaches [10]Reach
	for n := range reaches {
		reaches[n] = ReachOf(networking)
	}
	if size := (kept() - before) / len(reaches); size > peers*each {
		t.Errorf("a reach of %d peers is kept in %d bytes, want at most %d for each", peers, size, each)
	}
	if last := reaches[9]; !last.Touches(rule(1, 1, "10.6.3.231/32")) || last.Touches(rule(1, 1, "10.7.0.0/32")) {
		t.Error("the reach is another one than that of the spec")
	}
}

// kept is how much memory is in use.
func kept() int {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

func TestReachHasAnyOfSomeFlows(t *testing.T) {
	reach := ReachOf(spec(from("sg-1", 80), from("sg-2", 80), v1beta1.NetworkingIngressRule{
		From: []v1beta1.NetworkingPeer{peer("sg-3")}, Ports: []v1beta1.NetworkingPort{udp(53)},
	}))
	flow := func(protocol, source string) Flow {
		r := rule(1, 1, source)
		r.Protocol = protocol
		return FlowOf(r)
	}
	others := []Flow{flow("udp", "sg-1"), flow("tcp", "sg-3"), flow("-1", "sg-2"), flow("tcp", "sg-4"), flow("tcp", "10.0.0.0/8")}
	for name, tc := range map[string]struct {
		flows []Flow
		want  bool
	}{
		"none":                      {},
		"few of others":             {flows: others[:2]},
		"many of others":            {flows: others},
		"one":                       {flows: []Flow{flow("tcp", "sg-2")}, want: true},
		"one of UDP":                {flows: []Flow{flow("udp", "sg-3")}, want: true},
		"one among many of others":  {flows: append(others, flow("tcp", "sg-1")), want: true},
		"of UDP, among many others": {flows: append(others, flow("udp", "sg-3")), want: true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := reach.HasAny(sets.New(tc.flows...)); got != tc.want {
				t.Errorf("%t, want %t", got, tc.want)
			}
		})
	}
}
