// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	testclock "k8s.io/utils/clock/testing"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/region"
	"github.com/targetgate/targetgate/e2e/emulator/tag"
)

var comparePrefixes = cmp.Options{cmpopts.EquateComparable(netip.Prefix{}, netip.Addr{})}

var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// bed is a network with a security group in each of two VPCs, and no lag if none is given.
type bed struct {
	*Network
	t           *testing.T
	clock       *testclock.FakeClock
	group, peer string
}

func newBed(t *testing.T, lag region.Range) *bed {
	t.Helper()
	b := &bed{t: t, clock: testclock.NewFakeClock(epoch)}
	b.Network = New(region.New(region.Options{Clock: b.clock}), Options{
		VPCs: []VPC{DefaultVPC(region.DefaultName), PeeredVPC(region.DefaultName)}, Lag: &lag,
	})
	b.group = b.create(SecurityGroupSpec{Name: "nodes"})
	b.peer = b.create(SecurityGroupSpec{Name: "elsewhere", VPC: PeeredVPCID})
	return b
}

func (b *bed) create(spec SecurityGroupSpec) string {
	b.t.Helper()
	g, err := b.CreateSecurityGroup("", spec)
	if err != nil {
		b.t.Fatal(err)
	}
	return g.ID
}

func (b *bed) rules() []Permission {
	b.t.Helper()
	g, err := b.SecurityGroup(b.group)
	if err != nil {
		b.t.Fatal(err)
	}
	return g.Ingress
}

func tcp(from, to int, cidr string) Rule {
	return Rule{Protocol: "tcp", From: from, To: to, Source: Source{CIDR: netip.MustParsePrefix(cidr)}}
}

func tcpFrom(group string) Rule {
	return Rule{Protocol: "tcp", From: 80, To: 80, Source: Source{Group: group}}
}

func permit(rules ...Rule) []Permission {
	var permissions []Permission
	for _, r := range rules {
		permissions = append(permissions, Permission{Rule: r, Description: "by a test"})
	}
	return permissions
}

// wantRefusal checks the code of a refusal; "" is none.
func wantRefusal(t *testing.T, err error, code string) {
	t.Helper()
	if code == "" && err != nil || code != "" && !refusal.Is(err, code) {
		t.Errorf("error is %v, want code %q", err, code)
	}
}

func TestAuthorizeRefuses(t *testing.T) {
	b := newBed(t, region.Range{})
	if err := b.AuthorizeIngress("", b.group, permit(tcp(80, 80, "10.0.0.0/8"))); err != nil {
		t.Fatal(err)
	}
	const unknown = "sg-00000000000000000"
	describe := func(text string) []Permission {
		return []Permission{{Rule: tcp(81, 81, "10.0.0.0/8"), Description: text}}
	}
	cases := map[string]struct {
		group string
		rules []Permission
		code  string
	}{
		"an unknown group":                 {unknown, permit(tcp(1, 1, "::/0")), "InvalidGroup.NotFound"},
		"a malformed group":                {"sg-1", permit(tcp(1, 1, "::/0")), "InvalidGroupId.Malformed"},
		"no rules":                         {b.group, nil, "MissingParameter"},
		"a rule without a source":          {b.group, permit(Rule{Protocol: "tcp", From: 1, To: 1}), "MissingParameter"},
		"an unknown protocol":              {b.group, permit(Rule{Protocol: "http", Source: Source{Group: b.group}}), "InvalidParameterValue"},
		"no ports":                         {b.group, permit(tcp(-1, -1, "::/0")), "InvalidParameterValue"},
		"ports the wrong way round":        {b.group, permit(tcp(2, 1, "::/0")), "InvalidParameterValue"},
		"a port too high":                  {b.group, permit(tcp(1, 65536, "::/0")), "InvalidParameterValue"},
		"a rule that is there":             {b.group, permit(tcp(80, 80, "10.0.0.0/8")), "InvalidPermission.Duplicate"},
		"it spelled differently":           {b.group, permit(tcp(80, 80, "10.1.2.3/8")), "InvalidPermission.Duplicate"},
		"it by the number of its protocol": {b.group, permit(Rule{Protocol: "6", From: 80, To: 80, Source: tcp(0, 0, "10.0.0.0/8").Source}), "InvalidPermission.Duplicate"},
		"a rule twice":                     {b.group, permit(tcp(1, 1, "::/0"), tcp(1, 1, "::/0")), "InvalidParameterValue"},
		"an unknown source":                {b.group, permit(tcp(1, 1, "::/0"), tcpFrom(unknown)), "InvalidGroup.NotFound"},
		"a source of another VPC":          {b.group, permit(tcp(1, 1, "::/0"), tcpFrom(b.peer)), "InvalidParameterValue"},
		"an unknown prefix list":           {b.group, permit(Rule{Protocol: "-1", Source: Source{PrefixList: "pl-00000000"}}), "InvalidPrefixListID.NotFound"},
		"a description too long":           {b.group, describe(strings.Repeat("x", 256)), "InvalidParameterValue"},
		"a description with a quote":       {b.group, describe("it's"), "InvalidParameterValue"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			wantRefusal(t, b.AuthorizeIngress("", tc.group, tc.rules), tc.code)
		})
	}
	wantRefusal(t, b.AuthorizeIngress("210987654321", b.group, permit(tcp(1, 1, "::/0"))), "InvalidGroup.NotFound")
	if diff := cmp.Diff(permit(tcp(80, 80, "10.0.0.0/8")), b.rules(), comparePrefixes); diff != "" {
		t.Errorf("rules after calls that failed (-want +got):\n%s", diff)
	}
	wantRefusal(t, b.AuthorizeIngress("", b.group, describe(strings.Repeat("x", 253)+"}$")), "")
}

func TestRulesAreStoredCanonically(t *testing.T) {
	b := newBed(t, region.Range{})
	all := Rule{Protocol: "-1", From: 1, To: 2, Source: Source{Group: b.group}}
	udp := Rule{Protocol: "17", From: 0, To: 65535, Source: Source{CIDR: netip.MustParsePrefix("2001:db8:0::1/32")}}
	if err := b.AuthorizeIngress("", b.group, permit(tcp(1, 2, "10.0.0.5/8"), all, udp)); err != nil {
		t.Fatal(err)
	}
	all.From, all.To = -1, -1
	udp.Protocol, udp.Source.CIDR = "udp", netip.MustParsePrefix("2001:db8::/32")
	if diff := cmp.Diff(permit(tcp(1, 2, "10.0.0.0/8"), all, udp), b.rules(), comparePrefixes); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

func TestRevokeIngress(t *testing.T) {
	b := newBed(t, region.Range{})
	one, two := tcp(1, 1, "10.0.0.0/8"), tcpFrom(b.group)
	if err := b.AuthorizeIngress("", b.group, permit(one, two)); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		rules []Rule
		code  string
	}{
		"one that is not there": {[]Rule{one, tcp(2, 2, "10.0.0.0/8")}, "InvalidPermission.NotFound"},
		"one twice":             {[]Rule{one, one}, "InvalidParameterValue"},
		"none":                  {nil, "MissingParameter"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := b.RevokeIngress("", b.group, tc.rules)
			wantRefusal(t, err, tc.code)
			if got := len(b.rules()); got != 2 {
				t.Errorf("%d rules after a call that failed, want 2", got)
			}
		})
	}
	removed, err := b.RevokeIngress("", b.group, []Rule{tcp(1, 1, "10.9.9.9/8")})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(permit(one), removed, comparePrefixes); diff != "" {
		t.Errorf("removed rules (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(permit(two), b.rules(), comparePrefixes); diff != "" {
		t.Errorf("rules left (-want +got):\n%s", diff)
	}
}

func TestRuleQuotaCountsFamiliesApart(t *testing.T) {
	b := newBed(t, region.Range{})
	list := PrefixList{ID: "pl-00000000", Entries: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, MaxEntries: 3}
	if err := b.PutPrefixList(list); err != nil {
		t.Fatal(err)
	}
	var v4, v6 []Rule
	for n := range 60 {
		v4 = append(v4, tcp(n, n, "10.0.0.0/8"))
		v6 = append(v6, tcp(n, n, "2001:db8::/32"))
	}
	fromList := Rule{Protocol: "-1", Source: Source{PrefixList: list.ID}}
	const tooMany = "RulesPerSecurityGroupLimitExceeded"
	for name, tc := range map[string]struct {
		there []Rule
		quota int
		added Rule
		code  string
	}{
		"an IPv4 rule too many":        {v4, 0, tcp(60, 60, "10.0.0.0/8"), tooMany},
		"an IPv6 rule too many":        {v6, 0, tcp(60, 60, "2001:db8::/32"), tooMany},
		"one of the other family":      {v4, 0, tcp(60, 60, "2001:db8::/32"), ""},
		"a group beside IPv4":          {v4, 0, tcpFrom(b.group), tooMany},
		"a group beside IPv6":          {v6, 0, tcpFrom(b.group), tooMany},
		"a group below the quota":      {v6[:59], 0, tcpFrom(b.group), ""},
		"a prefix list too large":      {v6[:58], 0, fromList, tooMany},
		"a prefix list that fits":      {v6[:57], 0, fromList, ""},
		"more with a quota of its own": {v4, 61, tcp(60, 60, "10.0.0.0/8"), ""},
		"less with a quota of its own": {v4[:2], 2, tcp(60, 60, "10.0.0.0/8"), tooMany},
	} {
		t.Run(name, func(t *testing.T) {
			id := b.create(SecurityGroupSpec{Name: name})
			wantRefusal(t, b.SetRuleQuota(id, tc.quota), "")
			wantRefusal(t, b.AuthorizeIngress("", id, permit(tc.there...)), "")
			wantRefusal(t, b.AuthorizeIngress("", id, permit(tc.added)), tc.code)
		})
	}
	wantRefusal(t, b.SetRuleQuota("sg-00000000000000000", 1), "InvalidGroup.NotFound")
}

func TestCreateSecurityGroupRefuses(t *testing.T) {
	b := newBed(t, region.Range{})
	for name, tc := range map[string]struct {
		spec SecurityGroupSpec
		code string
	}{
		"an unknown VPC":  {SecurityGroupSpec{Name: "a", VPC: "vpc-00000000"}, "InvalidVpcID.NotFound"},
		"no name":         {SecurityGroupSpec{}, "MissingParameter"},
		"a name in use":   {SecurityGroupSpec{Name: "nodes"}, "InvalidGroup.Duplicate"},
		"a reserved tag":  {SecurityGroupSpec{Name: "a", Tags: map[string]string{"aws:a": "b"}}, "InvalidParameterValue"},
		"another VPC":     {SecurityGroupSpec{Name: "nodes", VPC: PeeredVPCID}, ""},
		"a tag like EKS'": {SecurityGroupSpec{Name: "b", Tags: map[string]string{"kubernetes.io/cluster/a": "owned"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := b.CreateSecurityGroup("", tc.spec)
			wantRefusal(t, err, tc.code)
		})
	}
}

func TestDeleteSecurityGroupInUse(t *testing.T) {
	for name, use := range map[string]func(*bed, string) error{
		"a rule of another group": func(b *bed, id string) error { return b.AuthorizeIngress("", b.group, permit(tcpFrom(id))) },
		"an interface":            func(b *bed, id string) error { return b.PutInterface(eni("eni-00000001", "10.0.0.9", id)) },
		"a load balancer": func(b *bed, id string) error {
			b.Use([]string{id})
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, region.Range{})
			id := b.create(SecurityGroupSpec{Name: "front"})
			wantRefusal(t, b.AuthorizeIngress("", id, permit(tcpFrom(id))), "")
			wantRefusal(t, use(b, id), "")
			wantRefusal(t, b.DeleteSecurityGroup(id), "DependencyViolation")
		})
	}
	b := newBed(t, region.Range{})
	wantRefusal(t, b.AuthorizeIngress("", b.group, permit(tcpFrom(b.group))), "")
	wantRefusal(t, b.DeleteSecurityGroup(b.group), "")
	wantRefusal(t, b.DeleteSecurityGroup(b.group), "InvalidGroup.NotFound")
}

func TestTagSecurityGroup(t *testing.T) {
	b := newBed(t, region.Range{})
	many := map[string]string{}
	for n := range tag.Most {
		many[fmt.Sprint(n)] = ""
	}
	wantRefusal(t, b.TagSecurityGroup(b.group, map[string]string{"a": "1", "b": "2"}), "")
	wantRefusal(t, b.TagSecurityGroup(b.group, many), "TagLimitExceeded")
	wantRefusal(t, b.TagSecurityGroup("sg-00000000000000000", nil), "InvalidGroup.NotFound")
	wantRefusal(t, b.UntagSecurityGroup(b.group, "b", "c"), "")
	g, err := b.SecurityGroup(b.group)
	if diff := cmp.Diff(map[string]string{"a": "1"}, g.Tags); diff != "" || err != nil {
		t.Errorf("error %v, tags (-want +got):\n%s", err, diff)
	}
}

// TestDescribeSecurityGroupsLags reads the past, and writes to the present.
func TestDescribeSecurityGroupsLags(t *testing.T) {
	b := newBed(t, region.Range{Min: time.Second, Max: time.Second})
	_, err := b.DescribeSecurityGroups("", b.group)
	wantRefusal(t, err, "InvalidGroup.NotFound")
	wantRules := func(want int) {
		t.Helper()
		groups, err := b.DescribeSecurityGroups("", b.group)
		if err != nil || len(groups[0].Ingress) != want {
			t.Errorf("after %s: %d groups, error %v, want %d rules", b.clock.Since(epoch), len(groups), err, want)
		}
	}
	b.clock.Step(time.Second)
	rule := tcp(80, 80, "10.0.0.0/8")
	wantRefusal(t, b.AuthorizeIngress("", b.group, permit(rule)), "")
	wantRules(0)
	wantRefusal(t, b.AuthorizeIngress("", b.group, permit(rule)), "InvalidPermission.Duplicate")
	b.clock.Step(time.Second - 1)
	wantRules(0)
	b.clock.Step(1)
	wantRules(1)
	wantRefusal(t, b.DeleteSecurityGroup(b.group), "")
	wantRules(1)
	b.clock.Step(time.Second)
	_, err = b.DescribeSecurityGroups("", b.group)
	wantRefusal(t, err, "InvalidGroup.NotFound")
}

func TestReleasedSecurityGroupIsBusyUntilItsTime(t *testing.T) {
	b := newBed(t, region.Range{})
	groups := []string{b.group}
	b.Use(groups)
	b.Use(groups)
	b.Release(groups, epoch.Add(time.Minute))
	b.clock.Step(time.Hour)
	wantRefusal(t, b.DeleteSecurityGroup(b.group), "DependencyViolation")
	b.Release(groups, b.clock.Now().Add(time.Minute))
	b.clock.Step(time.Minute - 1)
	wantRefusal(t, b.DeleteSecurityGroup(b.group), "DependencyViolation")
	b.clock.Step(1)
	wantRefusal(t, b.DeleteSecurityGroup(b.group), "")
}
