// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/targetgate/targetgate/aws/ec2"
)

const testGroup = "sg-0123"

var comparePrefixes = cmpopts.EquateComparable(netip.Prefix{})

func tcp(port int32, source ec2.Source) ec2.Permission {
	return ec2.Permission{Rule: ec2.Rule{Protocol: "tcp", From: port, To: port, Source: source}}
}

func cidr(s string) ec2.Source { return ec2.Source{CIDR: netip.MustParsePrefix(s)} }

// ranges is one permission for port 80 of TCP and IPv4 ranges.
func ranges(cidrs ...string) types.IpPermission {
	p := types.IpPermission{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(80), ToPort: aws.Int32(80)}
	for _, each := range cidrs {
		p.IpRanges = append(p.IpRanges, types.IpRange{CidrIp: aws.String(each)})
	}
	return p
}

func pairs(ids ...string) types.IpPermission {
	p := ranges()
	for _, id := range ids {
		p.UserIdGroupPairs = append(p.UserIdGroupPairs, types.UserIdGroupPair{GroupId: aws.String(id)})
	}
	return p
}

func described(text string) types.IpPermission {
	p := ranges("10.9.0.0/16")
	p.IpRanges[0].Description = aws.String(text)
	return p
}

func (a *API) authorize(t *testing.T, group string, permissions ...types.IpPermission) error {
	t.Helper()
	_, err := a.AuthorizeSecurityGroupIngress(t.Context(), &awsec2.AuthorizeSecurityGroupIngressInput{GroupId: &group, IpPermissions: permissions})
	return err
}

func (a *API) revoke(t *testing.T, group string, permissions ...types.IpPermission) error {
	t.Helper()
	_, err := a.RevokeSecurityGroupIngress(t.Context(), &awsec2.RevokeSecurityGroupIngressInput{GroupId: &group, IpPermissions: permissions})
	return err
}

func newAPI() *API {
	api := &API{Quota: 3}
	api.AddGroup(ec2.SecurityGroup{ID: testGroup, VPC: "vpc-1", Ingress: []ec2.Permission{tcp(80, cidr("10.0.0.0/8"))}})
	api.AddGroup(ec2.SecurityGroup{ID: "sg-lb", VPC: "vpc-1"})
	api.AddGroup(ec2.SecurityGroup{ID: "sg-far", VPC: "vpc-2"})
	return api
}

func TestAPIRefusesWholeCallAsEC2Does(t *testing.T) {
	tests := map[string]struct {
		call func(*testing.T, *API) error
		want string
	}{
		"a rule that is there, in another spelling": {
			func(t *testing.T, a *API) error {
				return a.authorize(t, testGroup, ranges("10.1.0.0/16", "10.0.0.5/8"))
			},
			`InvalidPermission.Duplicate: the specified rule "peer: 10.0.0.0/8, TCP, from port: 80, to port: 80, ALLOW" already exists`,
		},
		"a rule twice": {
			func(t *testing.T, a *API) error {
				return a.authorize(t, testGroup, ranges("10.1.0.0/16", "10.1.0.1/16"))
			},
			"InvalidParameterValue: The same permission must not appear multiple times",
		},
		"more rules than the quota": {
			func(t *testing.T, a *API) error {
				return a.authorize(t, testGroup, ranges("10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16"))
			},
			"RulesPerSecurityGroupLimitExceeded: The maximum number of rules per security group has been reached.",
		},
		"no such group": {
			func(t *testing.T, a *API) error { return a.authorize(t, "sg-none", ranges("10.1.0.0/16")) },
			"InvalidGroup.NotFound: The security group 'sg-none' does not exist",
		},
		"no such source": {
			func(t *testing.T, a *API) error { return a.authorize(t, testGroup, pairs("sg-lb", "sg-none")) },
			"InvalidGroup.NotFound: The security group 'sg-none' does not exist",
		},
		"a source of another VPC": {
			func(t *testing.T, a *API) error { return a.authorize(t, testGroup, pairs("sg-far")) },
			"InvalidGroup.NotFound: You have specified two resources that belong to different networks.",
		},
		"an ID that is none": {
			func(t *testing.T, a *API) error { return a.authorize(t, testGroup, pairs("web")) },
			`InvalidGroupId.Malformed: Invalid id: "web" (expecting "sg-...")`,
		},
		"a CIDR that is none": {
			func(t *testing.T, a *API) error { return a.authorize(t, testGroup, ranges("10.0.0.0/33")) },
			"InvalidParameterValue: CIDR block 10.0.0.0/33 is malformed",
		},
		"a description that is none": {
			func(t *testing.T, a *API) error { return a.authorize(t, testGroup, described("what?")) },
			"InvalidParameterValue: Invalid rule description.",
		},
		"no rule": {
			func(t *testing.T, a *API) error { return a.authorize(t, testGroup) },
			"MissingParameter: The request must contain the parameter ipPermissions",
		},
		"to revoke a rule that is not there": {
			func(t *testing.T, a *API) error { return a.revoke(t, testGroup, ranges("10.0.0.0/8", "10.1.0.0/16")) },
			"InvalidPermission.NotFound: The specified rule does not exist in this security group.",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			api := newAPI()
			before := api.Rules(testGroup)
			if err := tc.call(t, api); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %s", err, tc.want)
			}
			if diff := cmp.Diff(before, api.Rules(testGroup), comparePrefixes); diff != "" {
				t.Errorf("rules (-before +after):\n%s", diff)
			}
			if calls := api.Calls(""); len(calls) != 1 {
				t.Errorf("calls %v, want the refused one", calls)
			}
		})
	}
}

func TestAPICountsFamiliesApart(t *testing.T) {
	api := newAPI()
	v6 := ranges()
	for _, each := range []string{"2001:db8::/64", "2001:db8:1::/64"} {
		v6.Ipv6Ranges = append(v6.Ipv6Ranges, types.Ipv6Range{CidrIpv6: aws.String(each)})
	}
	if err := api.authorize(t, testGroup, ranges("10.1.0.0/16"), v6, pairs("sg-lb")); err != nil {
		t.Errorf("%v, want three rules of each family to fit: a source group counts for both", err)
	}
	if err := api.authorize(t, testGroup, pairs("sg-0123")); !ec2.IsRuleLimit(err) {
		t.Errorf("error %v, want none of either family to fit", err)
	}
}

func TestAPIDescribesRulesOfSomeTimeAgo(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Now())
	api := newAPI()
	api.Clock = clock
	api.SetLag(5 * time.Second)
	rules := func() (n int) {
		out, err := api.DescribeSecurityGroups(t.Context(), &awsec2.DescribeSecurityGroupsInput{GroupIds: []string{testGroup}})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range out.SecurityGroups[0].IpPermissions {
			n += len(p.IpRanges)
		}
		return n
	}
	if err := api.authorize(t, testGroup, ranges("10.1.0.0/16")); err != nil {
		t.Fatal(err)
	}
	clock.Step(4 * time.Second)
	if before, now := rules(), len(api.Rules(testGroup)); before != 1 || now != 2 {
		t.Errorf("after 4 s %d rules are described and %d are there, want 1 and 2", before, now)
	}
	if err := api.authorize(t, testGroup, ranges("10.1.0.0/16")); !ec2.IsDuplicate(err) {
		t.Errorf("error %v, want a duplicate: only what is described lags", err)
	}
	clock.Step(time.Second)
	if after := rules(); after != 2 {
		t.Errorf("after 5 s %d rules are described, want 2", after)
	}
	api.SetLag(time.Hour)
	if first := rules(); first != 1 {
		t.Errorf("an hour ago there were %d rules, want those of the beginning", first)
	}
}
