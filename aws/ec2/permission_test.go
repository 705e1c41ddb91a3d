// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func TestExpandRefusesWhatCannotBeRead(t *testing.T) {
	tcp := aws.String("tcp")
	tests := map[string]struct {
		in   types.IpPermission
		want string
	}{
		"no protocol": {types.IpPermission{}, "a rule without protocol"},
		"no CIDR":     {types.IpPermission{IpProtocol: tcp, IpRanges: []types.IpRange{{}}}, `reading the source of a rule: netip.ParsePrefix(""): no '/'`},
		"an address":  {types.IpPermission{IpProtocol: tcp, Ipv6Ranges: []types.Ipv6Range{{CidrIpv6: aws.String("::1")}}}, `reading the source of a rule: netip.ParsePrefix("::1"): no '/'`},
		"no group":    {types.IpPermission{IpProtocol: tcp, UserIdGroupPairs: []types.UserIdGroupPair{{GroupName: aws.String("web")}}}, "a rule whose source has no ID"},
		"no list":     {types.IpPermission{IpProtocol: tcp, PrefixListIds: []types.PrefixListId{{}}}, "a rule whose source has no ID"},
		"one of several": {types.IpPermission{
			IpProtocol: tcp, IpRanges: []types.IpRange{{CidrIp: aws.String("10.0.0.0/8")}}, PrefixListIds: []types.PrefixListId{{}},
		}, "a rule whose source has no ID"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if rules, err := expand(tc.in); err == nil || err.Error() != tc.want {
				t.Errorf("rules %v, error %v, want %s", rules, err, tc.want)
			}
		})
	}
}

// What is read is written as the same rules, however EC2 spells it, and none is lost.
func FuzzExpand(f *testing.F) {
	f.Add("tcp", int32(80), int32(80), "10.0.0.5/8", "2001:DB8::1/64", "sg-1", "pl-1", "shared")
	f.Add("-1", int32(0), int32(65535), "0.0.0.0/0", "::/0", "sg-1", "pl-1", "")
	f.Add("tcp", int32(80), int32(80), "10.0.0.0/8", "::ffff:10.0.0.0/104", "sg-1", "pl-1", "")
	f.Add("icmp", int32(8), int32(-1), "10.0.0.0/33", "::ffff:10.0.0.0/104", "", "pl-1", "")
	f.Fuzz(func(t *testing.T, protocol string, from, to int32, v4, v6, group, list, description string) {
		in := types.IpPermission{
			IpProtocol: &protocol, FromPort: &from, ToPort: &to,
			IpRanges:         []types.IpRange{{CidrIp: &v4, Description: &description}},
			Ipv6Ranges:       []types.Ipv6Range{{CidrIpv6: &v6, Description: &description}},
			UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: &group, Description: &description}},
			PrefixListIds:    []types.PrefixListId{{PrefixListId: &list, Description: &description}},
		}
		rules, err := expand(in)
		if err != nil {
			return
		}
		if len(rules) != 4 {
			t.Fatalf("%d rules, want one for each source", len(rules))
		}
		for i, rule := range rules {
			again := compose([]Permission{rule})
			if len(again) != 1 {
				t.Fatalf("%d permissions for one rule", len(again))
			}
			if is4 := rule.Source.CIDR.IsValid() && rule.Source.CIDR.Addr().Is4(); is4 != (len(again[0].IpRanges) > 0) {
				t.Errorf("rule %d: %+v is written as %+v", i, rule, again[0])
			}
			back, err := expand(again[0])
			if err != nil || len(back) != 1 || back[0] != rule {
				t.Errorf("rule %d: %+v is read as %+v when written, error %v", i, rule, back, err)
			}
			if cidr := rule.Source.CIDR; cidr.IsValid() && cidr != cidr.Masked() {
				t.Errorf("CIDR %s is not canonical", cidr)
			}
		}
	})
}
