// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ruleset

import (
	"fmt"
	"testing"

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
