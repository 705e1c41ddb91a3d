// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/aws/ec2/fake"
)

// world is an EC2 with n of each: sg-0, i-0, eni-0 and so on, the interface eni-3 of instance i-3.
func world(n int) *fake.API {
	api := &fake.API{}
	for k := range n {
		api.AddGroup(ec2.SecurityGroup{ID: fmt.Sprint("sg-", k), VPC: "vpc-1", Tags: map[string]string{"n": fmt.Sprint(k)}})
		api.AddInstance("vpc-1", ec2.Instance{ID: fmt.Sprint("i-", k), Interfaces: []ec2.Interface{{
			ID:          fmt.Sprint("eni-", k),
			Addresses:   []netip.Addr{v4(k), v6(k)},
			Prefixes:    []netip.Prefix{netip.PrefixFrom(v4(k), 28), netip.PrefixFrom(v6(k), 80)},
			Groups:      []string{fmt.Sprint("sg-", k), "sg-all"},
			DeviceIndex: int32(k % 3),
		}}})
	}
	return api
}

func v4(k int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(k >> 8), byte(k)}) }

func v6(k int) netip.Addr {
	return netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 14: byte(k >> 8), 15: byte(k)})
}

func names(prefix string, n int) (ids []string) {
	for k := range n {
		ids = append(ids, fmt.Sprint(prefix, k))
	}
	return ids
}

// finders read things by ID, and return the IDs of those that they find, sorted.
var finders = map[string]struct {
	operation, prefix string
	find              func(context.Context, *ec2.Client, []string) ([]string, error)
}{
	"groups": {"DescribeSecurityGroups", "sg-", func(ctx context.Context, c *ec2.Client, ids []string) (out []string, err error) {
		found, err := c.SecurityGroups(ctx, budget.ClassOther, ids)
		for _, g := range found {
			out = append(out, g.ID)
		}
		return slices.Sorted(slices.Values(out)), err
	}},
	"instances": {"DescribeInstances", "i-", func(ctx context.Context, c *ec2.Client, ids []string) (out []string, err error) {
		found, err := c.Instances(ctx, budget.ClassOther, ids)
		for _, i := range found {
			out = append(out, i.ID)
		}
		return slices.Sorted(slices.Values(out)), err
	}},
	"interfaces": {"DescribeNetworkInterfaces", "eni-", func(ctx context.Context, c *ec2.Client, ids []string) (out []string, err error) {
		found, err := c.Interfaces(ctx, budget.ClassOther, ids)
		for _, i := range found {
			out = append(out, i.ID)
		}
		return slices.Sorted(slices.Values(out)), err
	}},
}

func TestReadingsAreSplitAndFollowPages(t *testing.T) {
	tests := map[string]struct {
		ids, pageSize int
		wantCalls     []int // how many IDs each names
	}{
		"one":                  {ids: 1, wantCalls: []int{1}},
		"as many as in a call": {ids: 100, wantCalls: []int{100}},
		"one more":             {ids: 101, wantCalls: []int{100, 1}},
		"many":                 {ids: 250, wantCalls: []int{100, 100, 50}},
		"in pages":             {ids: 105, pageSize: 40, wantCalls: []int{100, 100, 100, 5}},
	}
	for kind, finder := range finders {
		for name, tc := range tests {
			t.Run(kind+", "+name, func(t *testing.T) {
				api := world(300)
				api.PageSize = tc.pageSize
				ids := names(finder.prefix, tc.ids)
				got, err := finder.find(t.Context(), clientOver(api), append(ids, ids[0]))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(slices.Sorted(slices.Values(ids)), got); diff != "" {
					t.Errorf("found (-want +got):\n%s", diff)
				}
				var calls []int
				for _, call := range api.Calls(finder.operation) {
					calls = append(calls, len(call.IDs))
				}
				if diff := cmp.Diff(tc.wantCalls, calls); diff != "" {
					t.Errorf("IDs in each call (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// silent is an EC2 whose refusals name no ID.
type silent struct{ *fake.API }

func silence(err error) error {
	var api *smithy.GenericAPIError
	if awserr.HasCode(err, "InvalidGroup.NotFound", "InvalidInstanceID.NotFound", "InvalidNetworkInterfaceID.NotFound") {
		api = &smithy.GenericAPIError{Message: "Some of the i-Ds do not exist"}
		_, code, _ := strings.Cut(err.Error(), "api error ")
		api.Code, _, _ = strings.Cut(code, ":")
		return api
	}
	return err
}

func (s silent) DescribeSecurityGroups(ctx context.Context, in *awsec2.DescribeSecurityGroupsInput, _ ...func(*awsec2.Options)) (
	*awsec2.DescribeSecurityGroupsOutput, error,
) {
	out, err := s.API.DescribeSecurityGroups(ctx, in)
	return out, silence(err)
}

func (s silent) DescribeInstances(ctx context.Context, in *awsec2.DescribeInstancesInput, _ ...func(*awsec2.Options)) (
	*awsec2.DescribeInstancesOutput, error,
) {
	out, err := s.API.DescribeInstances(ctx, in)
	return out, silence(err)
}

func (s silent) DescribeNetworkInterfaces(
	ctx context.Context, in *awsec2.DescribeNetworkInterfacesInput, _ ...func(*awsec2.Options),
) (*awsec2.DescribeNetworkInterfacesOutput, error) {
	out, err := s.API.DescribeNetworkInterfaces(ctx, in)
	return out, silence(err)
}

func TestReadingsLeaveOutWhatDoesNotExist(t *testing.T) {
	tests := map[string]struct {
		known, unknown  int
		further         []string // IDs that are none; PREFIX is replaced
		silent          bool
		wantCalls, most int // at least, and at most
	}{
		"none is known":           {unknown: 1, wantCalls: 1, most: 1},
		"one":                     {known: 99, unknown: 1, wantCalls: 2, most: 2},
		"several":                 {known: 50, unknown: 4, wantCalls: 2, most: 5},
		"in two calls":            {known: 120, unknown: 3, wantCalls: 3, most: 5},
		"an ID that is none":      {known: 10, further: []string{"web"}, wantCalls: 2, most: 2},
		"several that are none":   {known: 10, unknown: 2, further: []string{"web", "db"}, wantCalls: 4, most: 5},
		"an ID within another":    {known: 10, further: []string{"PREFIX3 x", "x'PREFIX4'", "PREFIX5,PREFIX6", "PREFIX1é"}, wantCalls: 1, most: 1},
		"the longer of two IDs":   {known: 10, further: []string{"PREFIX10"}, wantCalls: 2, most: 2},
		"unnamed":                 {known: 99, unknown: 1, silent: true, wantCalls: 2, most: 1 + 2*7},
		"unnamed, several":        {known: 96, unknown: 4, silent: true, wantCalls: 2, most: 1 + 4*2*7},
		"unnamed, none is known":  {unknown: 100, silent: true, wantCalls: 199, most: 199},
		"unnamed, in three calls": {known: 298, unknown: 2, silent: true, wantCalls: 3, most: 3 + 2*2*7},
	}
	for kind, finder := range finders {
		for name, tc := range tests {
			t.Run(kind+", "+name, func(t *testing.T) {
				api := world(tc.known)
				known := names(finder.prefix, tc.known)
				asked := append(slices.Clone(known), names(finder.prefix+"none", tc.unknown)...)
				for _, id := range tc.further {
					asked = append(asked, strings.ReplaceAll(id, "PREFIX", finder.prefix))
				}
				var over ec2.API = api
				if tc.silent {
					over = silent{api}
				}
				got, err := finder.find(t.Context(), clientOver(over), asked)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(slices.Sorted(slices.Values(known)), got); diff != "" {
					t.Errorf("found (-want +got):\n%s", diff)
				}
				if calls := len(api.Calls("")); calls < tc.wantCalls || calls > tc.most {
					t.Errorf("%d calls, want %d to %d", calls, tc.wantCalls, tc.most)
				}
			})
		}
	}
}

// What could not be read is not taken for what does not exist.
func TestReadingsFailAsAWhole(t *testing.T) {
	for kind, finder := range finders {
		for _, code := range []string{"RequestLimitExceeded", "UnauthorizedOperation", "InternalError", "InvalidParameterValue"} {
			t.Run(kind+", "+code, func(t *testing.T) {
				api := world(150)
				api.Before = func(_ context.Context, call fake.Call) error {
					if len(call.IDs) < ec2.MaxIDsPerCall { // the second one
						return &smithy.GenericAPIError{Code: code, Message: "not " + finder.prefix + "120"}
					}
					return nil
				}
				got, err := finder.find(t.Context(), clientOver(api), names(finder.prefix, 150))
				if !awserr.HasCode(err, code) || got != nil {
					t.Errorf("found %d and error %v, want %s alone", len(got), err, code)
				}
			})
		}
	}
}

func TestInterfacesAndInstancesAreDescribed(t *testing.T) {
	api := world(5)
	want := ec2.Interface{
		ID: "eni-4", Addresses: []netip.Addr{v4(4), v6(4)},
		Prefixes: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/28"), netip.MustParsePrefix("2001:db8::/80")},
		Groups:   []string{"sg-4", "sg-all"}, DeviceIndex: 1,
	}
	interfaces, err := clientOver(api).Interfaces(t.Context(), budget.ClassOther, []string{"eni-4"})
	if diff := cmp.Diff([]ec2.Interface{want}, interfaces, compareAddresses); diff != "" || err != nil {
		t.Errorf("error %v, interfaces (-want +got):\n%s", err, diff)
	}
	instances, err := clientOver(api).Instances(t.Context(), budget.ClassOther, []string{"i-4"})
	if diff := cmp.Diff([]ec2.Instance{{ID: "i-4", Interfaces: []ec2.Interface{want}}}, instances, compareAddresses); diff != "" || err != nil {
		t.Errorf("error %v, instances (-want +got):\n%s", err, diff)
	}
}

func TestInterfacesAreFoundByAddress(t *testing.T) {
	mapped := netip.AddrFrom16(v4(2).As16())
	tests := map[string]struct {
		addresses []netip.Addr
		pageSize  int
		want      []int
		wantCalls []int // how many addresses each names
	}{
		"IPv4":                  {addresses: []netip.Addr{v4(1)}, want: []int{1}, wantCalls: []int{1}},
		"IPv6":                  {addresses: []netip.Addr{v6(1)}, want: []int{1}, wantCalls: []int{1}},
		"both of one interface": {addresses: []netip.Addr{v4(1), v6(1)}, want: []int{1}, wantCalls: []int{1, 1}},
		"IPv4 in IPv6":          {addresses: []netip.Addr{mapped, v4(2)}, want: []int{2}, wantCalls: []int{1}},
		"IPv6 with a zone":      {addresses: []netip.Addr{v6(3).WithZone("eth0"), v6(3)}, want: []int{3}, wantCalls: []int{1}},
		"of another VPC":        {addresses: []netip.Addr{netip.MustParseAddr("10.9.9.9")}, wantCalls: []int{1}},
		"in a delegated prefix": {addresses: []netip.Addr{netip.MustParseAddr("10.0.3.250")}, wantCalls: []int{1}},
		"as many as in a call":  {addresses: addresses(v4, 199), want: upTo(199), wantCalls: []int{199}},
		"one more":              {addresses: addresses(v4, 200), want: upTo(200), wantCalls: []int{199, 1}},
		"many of both, and in pages": {
			addresses: append(addresses(v4, 200), addresses(v6, 250)...), pageSize: 100, want: upTo(250), wantCalls: []int{199, 199, 1, 199, 199, 51},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			api := world(250)
			api.PageSize = tc.pageSize
			api.AddInterface("vpc-2", ec2.Interface{ID: "eni-far", Addresses: []netip.Addr{netip.MustParseAddr("10.9.9.9"), v4(1), v6(1)}})
			found, err := clientOver(api).InterfacesByAddress(t.Context(), budget.ClassOther, "vpc-1", tc.addresses)
			if err != nil {
				t.Fatal(err)
			}
			var got, want []string
			for _, i := range found {
				got = append(got, i.ID)
			}
			for _, k := range tc.want {
				want = append(want, fmt.Sprint("eni-", k))
			}
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
			var calls []int
			for _, call := range api.Calls("") {
				calls = append(calls, len(call.Filters["addresses.private-ip-address"])+len(call.Filters["ipv6-addresses.ipv6-address"]))
			}
			if diff := cmp.Diff(tc.wantCalls, calls); diff != "" {
				t.Errorf("addresses in each call (-want +got):\n%s", diff)
			}
		})
	}
}

func upTo(n int) (out []int) {
	for k := range n {
		out = append(out, k)
	}
	return out
}

func addresses(of func(int) netip.Addr, n int) (out []netip.Addr) {
	for k := range n {
		out = append(out, of(k))
	}
	return out
}

// refusedOnce refuses the first call with the code, whatever it asks for, and names an ID.
type refusedOnce struct {
	ec2.API
	code, id string
	calls    int
}

func (r *refusedOnce) refuse() error {
	if r.calls++; r.calls == 1 {
		return &smithy.GenericAPIError{Code: r.code, Message: "no " + r.id}
	}
	return nil
}

func (r *refusedOnce) DescribeSecurityGroups(ctx context.Context, in *awsec2.DescribeSecurityGroupsInput, _ ...func(*awsec2.Options)) (
	*awsec2.DescribeSecurityGroupsOutput, error,
) {
	if err := r.refuse(); err != nil {
		return nil, err
	}
	return r.API.DescribeSecurityGroups(ctx, in)
}

func (r *refusedOnce) DescribeInstances(ctx context.Context, in *awsec2.DescribeInstancesInput, _ ...func(*awsec2.Options)) (
	*awsec2.DescribeInstancesOutput, error,
) {
	if err := r.refuse(); err != nil {
		return nil, err
	}
	return r.API.DescribeInstances(ctx, in)
}

func (r *refusedOnce) DescribeNetworkInterfaces(
	ctx context.Context, in *awsec2.DescribeNetworkInterfacesInput, _ ...func(*awsec2.Options),
) (*awsec2.DescribeNetworkInterfacesOutput, error) {
	if err := r.refuse(); err != nil {
		return nil, err
	}
	return r.API.DescribeNetworkInterfaces(ctx, in)
}

// EC2 has several codes for an ID of nothing, and spells some of them in two ways.
func TestEveryCodeForWhatDoesNotExistIsKnown(t *testing.T) {
	for kind, codes := range map[string][]string{
		"groups": {
			"InvalidGroup.NotFound", "InvalidGroupId.Malformed", "InvalidSecurityGroupID.NotFound", "InvalidSecurityGroupID.Malformed",
		},
		"instances":  {"InvalidInstanceID.NotFound", "InvalidInstanceID.Malformed"},
		"interfaces": {"InvalidNetworkInterfaceID.NotFound", "InvalidNetworkInterfaceID.Malformed", "InvalidNetworkInterfaceId.Malformed"},
	} {
		for _, code := range codes {
			t.Run(code, func(t *testing.T) {
				prefix := finders[kind].prefix
				api := &refusedOnce{API: world(3), code: code, id: prefix + "1"}
				got, err := finders[kind].find(t.Context(), clientOver(api), names(prefix, 3))
				if diff := cmp.Diff([]string{prefix + "0", prefix + "2"}, got); diff != "" || err != nil {
					t.Errorf("error %v, found (-want +got):\n%s", err, diff)
				}
			})
		}
	}
}

// pageSizes notes how large pages were asked to be.
type pageSizes struct {
	ec2.API
	asked []int32
}

func (p *pageSizes) DescribeNetworkInterfaces(
	ctx context.Context, in *awsec2.DescribeNetworkInterfacesInput, _ ...func(*awsec2.Options),
) (*awsec2.DescribeNetworkInterfacesOutput, error) {
	p.asked = append(p.asked, aws.ToInt32(in.MaxResults))
	return p.API.DescribeNetworkInterfaces(ctx, in)
}

// EC2 takes 5 to 1000, and no size together with IDs. A call with neither has smaller buckets.
func TestPagesOfInterfacesAreAsLargeAsEC2Takes(t *testing.T) {
	api := &pageSizes{API: world(3)}
	if _, err := clientOver(api).InterfacesByAddress(t.Context(), budget.ClassOther, "vpc-1", []netip.Addr{v4(1), v6(1)}); err != nil {
		t.Fatal(err)
	}
	if _, err := clientOver(api).Interfaces(t.Context(), budget.ClassOther, []string{"eni-1"}); err != nil {
		t.Fatal(err)
	}
	if want := []int32{1000, 1000, 0}; !slices.Equal(api.asked, want) {
		t.Errorf("pages of %v, want %v", api.asked, want)
	}
}

// odd is an EC2 whose answers have texts that cannot be read.
type odd struct{ ec2.API }

func (odd) DescribeNetworkInterfaces(context.Context, *awsec2.DescribeNetworkInterfacesInput, ...func(*awsec2.Options)) (
	*awsec2.DescribeNetworkInterfacesOutput, error,
) {
	return &awsec2.DescribeNetworkInterfacesOutput{NetworkInterfaces: []types.NetworkInterface{{
		NetworkInterfaceId: aws.String("eni-1"),
		PrivateIpAddresses: []types.NetworkInterfacePrivateIpAddress{{PrivateIpAddress: aws.String("10.0.0.1")}, {}},
	}}}, nil
}

func (odd) DescribeInstances(context.Context, *awsec2.DescribeInstancesInput, ...func(*awsec2.Options)) (
	*awsec2.DescribeInstancesOutput, error,
) {
	return &awsec2.DescribeInstancesOutput{Reservations: []types.Reservation{{Instances: []types.Instance{{
		InstanceId: aws.String("i-1"),
		NetworkInterfaces: []types.InstanceNetworkInterface{{
			NetworkInterfaceId: aws.String("eni-1"), Ipv4Prefixes: []types.InstanceIpv4Prefix{{Ipv4Prefix: aws.String("10.0.0.0")}},
		}},
	}}}}}, nil
}

func (odd) DescribeSecurityGroups(context.Context, *awsec2.DescribeSecurityGroupsInput, ...func(*awsec2.Options)) (
	*awsec2.DescribeSecurityGroupsOutput, error,
) {
	return &awsec2.DescribeSecurityGroupsOutput{SecurityGroups: []types.SecurityGroup{{
		GroupId: aws.String(testGroup),
		IpPermissions: []types.IpPermission{{
			IpProtocol: aws.String("tcp"), FromPort: aws.Int32(80), ToPort: aws.Int32(80),
			IpRanges: []types.IpRange{{CidrIp: aws.String("10.0.0.0/8")}, {CidrIp: aws.String("10.0.0.0/33")}},
		}},
	}}}, nil
}

func TestReadingsNameWhatCannotBeRead(t *testing.T) {
	want := map[string]string{
		"Interfaces":          "describing network interfaces: network interface eni-1: reading an address: ",
		"InterfacesByAddress": "describing network interfaces by address: network interface eni-1: reading an address: ",
		"Instances":           "describing instances: instance i-1: network interface eni-1: reading a prefix: ",
		"SecurityGroups":      "describing security groups: security group sg-0123: reading the source of a rule: ",
	}
	for name, text := range want {
		t.Run(name, func(t *testing.T) {
			if err := operations[name](t.Context(), clientOver(odd{}), budget.ClassOther); err == nil || !strings.HasPrefix(err.Error(), text) {
				t.Errorf("error %v, want %s...", err, text)
			}
		})
	}
}
