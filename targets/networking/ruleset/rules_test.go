// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ruleset

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func texts(rules Rules) []string {
	var out []string
	for r := range rules {
		out = append(out, r.String())
	}
	slices.Sort(out)
	return out
}

func udp(port int) v1beta1.NetworkingPort {
	return v1beta1.NetworkingPort{Protocol: new(v1beta1.NetworkingProtocol("UDP")), Port: new(intstr.FromInt(port))}
}

func both(cidr, group string) v1beta1.NetworkingPeer {
	return v1beta1.NetworkingPeer{IPBlock: &v1beta1.IPBlock{CIDR: cidr}, SecurityGroup: &v1beta1.SecurityGroup{GroupID: group}}
}

func TestRulesOfAMember(t *testing.T) {
	ported := map[string]int32{"http": 8080}
	tests := map[string]struct {
		rules   []v1beta1.NetworkingIngressRule
		nodes   bool
		member  map[string]int32
		want    []string
		wantErr string
	}{
		"nothing is asked for":        {},
		"a group and a port":          {rules: []v1beta1.NetworkingIngressRule{from("sg-1", 80)}, want: []string{"tcp 80 from sg-1"}},
		"an IPv4 range":               {rules: []v1beta1.NetworkingIngressRule{from("10.0.0.0/8", 80)}, want: []string{"tcp 80 from 10.0.0.0/8"}},
		"an IPv6 range":               {rules: []v1beta1.NetworkingIngressRule{from("2001:db8::/32", 80)}, want: []string{"tcp 80 from 2001:db8::/32"}},
		"N-11: CIDRs are canonical":   {rules: []v1beta1.NetworkingIngressRule{from("10.0.0.5/8", 80), from("2001:DB8:0::1/32", 80)}, want: []string{"tcp 80 from 10.0.0.0/8", "tcp 80 from 2001:db8::/32"}},
		"a port without a number":     {rules: []v1beta1.NetworkingIngressRule{from("sg-1", nil)}, want: []string{"tcp 0-65535 from sg-1"}},
		"N-13: no ports are all":      {rules: []v1beta1.NetworkingIngressRule{from("sg-1")}, want: []string{"tcp 0-65535 from sg-1"}},
		"a named port of a pod":       {rules: []v1beta1.NetworkingIngressRule{from("sg-1", "http")}, member: ported, want: []string{"tcp 8080 from sg-1"}},
		"a named port that is none":   {rules: []v1beta1.NetworkingIngressRule{from("sg-1", "grpc", 80)}, member: ported, want: []string{"tcp 80 from sg-1"}, wantErr: `no container port is named "grpc"`},
		"a named port with nodes":     {rules: []v1beta1.NetworkingIngressRule{from("sg-1", "http")}, nodes: true, wantErr: `spec.networking.ingress[0].ports[0].port: Invalid value: "http": named ports can only be used with pod endpoints: name the number`},
		"each rule, peer and port":    {rules: []v1beta1.NetworkingIngressRule{{From: []v1beta1.NetworkingPeer{peer("sg-1"), peer("sg-2")}, Ports: []v1beta1.NetworkingPort{tcp(80), udp(53)}}, from("sg-1", 443)}, want: []string{"tcp 443 from sg-1", "tcp 80 from sg-1", "tcp 80 from sg-2", "udp 53 from sg-1", "udp 53 from sg-2"}},
		"the group wins":              {rules: []v1beta1.NetworkingIngressRule{{From: []v1beta1.NetworkingPeer{both("10.0.0.0/8", "sg-1")}, Ports: []v1beta1.NetworkingPort{tcp(80)}}}, want: []string{"tcp 80 from sg-1"}},
		"neither":                     {rules: []v1beta1.NetworkingIngressRule{from("sg-1", 80), {From: []v1beta1.NetworkingPeer{{}}}}, wantErr: "spec.networking.ingress[1].from[0]: Required value: either ipBlock or securityGroup should be specified"},
		"not a CIDR":                  {rules: []v1beta1.NetworkingIngressRule{{From: []v1beta1.NetworkingPeer{{IPBlock: &v1beta1.IPBlock{CIDR: "10.0.0.1"}}}}}, wantErr: `spec.networking.ingress[0].from[0].ipBlock.cidr: Invalid value: "10.0.0.1": not a CIDR, such as 192.168.1.0/24 or 2001:db8::/64`},
		"an ID with a space":          {rules: []v1beta1.NetworkingIngressRule{from("sg-1 x", 80)}, wantErr: `spec.networking.ingress[0].from[0].securityGroup.groupID: Invalid value: "sg-1 x": not the ID of a security group, such as sg-0123456789abcdef0`},
		"a port that is none":         {rules: []v1beta1.NetworkingIngressRule{from("sg-1", 65536)}, wantErr: `spec.networking.ingress[0].ports[0].port: Invalid value: 65536: a port is at most 65535`},
		"as many as AWS takes":        {rules: []v1beta1.NetworkingIngressRule{{From: make([]v1beta1.NetworkingPeer, 101), Ports: make([]v1beta1.NetworkingPort, 10)}}, wantErr: "spec.networking.ingress: asks for 1010 rules, and AWS has at most 1000 at a network interface: name fewer peers or ports"},
		"equal ones are made once":    {rules: []v1beta1.NetworkingIngressRule{from("sg-1", 80, 80), from("sg-1", 80)}, want: []string{"tcp 80 from sg-1"}},
		"a pod's names share numbers": {rules: []v1beta1.NetworkingIngressRule{from("sg-1", "a", "b")}, member: map[string]int32{"a": 1, "b": 1}, want: []string{"tcp 1 from sg-1"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			asks, err := Compile(spec(tc.rules...), tc.nodes)
			var rules Rules
			if err == nil {
				rules, err = asks.For(tc.member)
			}
			if diff := cmp.Diff(tc.wantErr, textOf(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, texts(rules)); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
			for rule := range rules {
				if !ReachOf(spec(tc.rules...)).Touches(rule) {
					t.Errorf("the reach lacks %s", rule)
				}
			}
		})
	}
}

func TestSpecWithManyFaultsNamesThree(t *testing.T) {
	_, err := Compile(spec(from("-", 1), from("a b", 1), from("c d", 1), from("e f", 1), from("g h", 1)), false)
	if n := strings.Count(textOf(err), "spec.networking"); n != maxFaults {
		t.Errorf("%d faults named in %q", n, textOf(err))
	}
}
