// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"

	"github.com/targetgate/targetgate/e2e/emulator/cloud"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/region"
)

const (
	subnetA, subnetB, subnetC = "subnet-0a000000000000001", "subnet-0b000000000000002", "subnet-0c000000000000003"
	subnetSix                 = "subnet-0a000000000000006"
	local                     = "subnet-0000000a"
)

// newSubnetBed has a second VPC with a private subnet in a Local Zone, and a public one.
func newSubnetBed(t *testing.T) *bed {
	t.Helper()
	second := ec2.VPC{
		ID: "vpc-00000002", CIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16")},
		Subnets: []ec2.Subnet{
			{ID: local, Zone: "eu-west-1-lax-1a", CIDR: netip.MustParsePrefix("10.0.0.0/24")},
			{ID: "subnet-0000000b", Zone: "eu-west-1a", CIDR: netip.MustParsePrefix("10.0.1.0/24")},
		},
		RouteTables: []ec2.RouteTable{
			{ID: "rtb-00000001", Main: true, Routes: []ec2.Route{{Destination: "10.0.0.0/16", Target: "local"}, {Destination: "0.0.0.0/0", Target: "nat-00000001"}}},
			{ID: "rtb-00000002", Subnets: []string{"subnet-0000000b"}, Routes: []ec2.Route{{Destination: "::/0", Target: "igw-00000001"}}},
		},
	}
	return newBed(t, cloud.Options{EC2: ec2.Options{VPCs: []ec2.VPC{ec2.DefaultVPC(region.DefaultName), second}, Lag: &region.Range{}}}, Options{})
}

// filters reads "name=value,value" each.
func filters(texts ...string) []types.Filter {
	var all []types.Filter
	for _, text := range texts {
		name, values, _ := strings.Cut(text, "=")
		all = append(all, types.Filter{Name: &name, Values: strings.Split(values, ",")})
	}
	return all
}

func TestSubnetsByFilter(t *testing.T) {
	b := newSubnetBed(t)
	wantCode(t, b.cloud.EC2.TagResources("", []string{subnetB}, map[string]string{"Name": "b"}), "")
	for name, tc := range map[string]struct {
		ids     []string
		filters []types.Filter
		want    []string
		code    string
	}{
		"all of a VPC":             {filters: filters("vpc-id=" + ec2.DefaultVPCID), want: []string{subnetA, subnetSix, subnetB, subnetC}},
		"those for load balancers": {filters: filters("tag:kubernetes.io/role/elb=,1"), want: []string{subnetA, subnetB, subnetC}},
		"those with a key":         {filters: filters("tag-key=Name"), want: []string{subnetB}},
		"by id":                    {ids: []string{local, subnetA}, want: []string{local, subnetA}},
		"by id and zone":           {filters: filters("subnet-id="+subnetA+","+subnetC, "availability-zone=eu-west-1c"), want: []string{subnetC}},
		"an unknown id":            {ids: []string{subnetA, "subnet-00000009"}, code: "InvalidSubnetID.NotFound"},
		"an unknown filter":        {filters: filters("color=red"), code: "InvalidParameterValue"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := b.ec2().DescribeSubnets(ctx(t), &awsec2.DescribeSubnetsInput{SubnetIds: tc.ids, Filters: tc.filters})
			wantCode(t, err, tc.code)
			if err != nil {
				return
			}
			var got []string
			for _, s := range out.Subnets {
				got = append(got, *s.SubnetId)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("subnets (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSubnetAsTheSDKReadsIt(t *testing.T) {
	b := newSubnetBed(t)
	if err := b.cloud.EC2.SetFreeAddresses(subnetB, 7); err != nil {
		t.Fatal(err)
	}
	type facts struct {
		Zone, CIDR, CIDR6 string
		Free              int32
		Native            bool
		Tags              int
	}
	want := map[string]facts{
		subnetA:   {"eu-west-1a", "10.0.0.0/10", "2001:db8:1200:a0::/64", 65531, false, 2},
		subnetB:   {"eu-west-1b", "10.64.0.0/10", "2001:db8:1200:b0::/64", 7, false, 2},
		subnetSix: {"eu-west-1a", "", "2001:db8:1200::/64", 0, true, 0},
		local:     {"eu-west-1-lax-1a", "10.0.0.0/24", "", 251, false, 0},
	}
	for id, facts := range want {
		out := must[*awsec2.DescribeSubnetsOutput](t)(b.ec2().DescribeSubnets(ctx(t), &awsec2.DescribeSubnetsInput{SubnetIds: []string{id}}))
		s := out.Subnets[0]
		got := facts
		got.Zone, got.CIDR, got.CIDR6 = *s.AvailabilityZone, aws.ToString(s.CidrBlock), ""
		got.Free, got.Native, got.Tags = *s.AvailableIpAddressCount, *s.Ipv6Native, len(s.Tags)
		for _, six := range s.Ipv6CidrBlockAssociationSet {
			if six.Ipv6CidrBlockState.State == types.SubnetCidrBlockStateCodeAssociated {
				got.CIDR6 = *six.Ipv6CidrBlock
			}
		}
		if diff := cmp.Diff(facts, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
}

func TestSubnetsByPage(t *testing.T) {
	vpc := ec2.DefaultVPC(region.DefaultName)
	vpc.Subnets = append(vpc.Subnets, ec2.PeeredVPC(region.DefaultName).Subnets...)
	b := newBed(t, cloud.Options{EC2: ec2.Options{VPCs: []ec2.VPC{vpc}}}, Options{})
	pages := awsec2.NewDescribeSubnetsPaginator(b.ec2(), &awsec2.DescribeSubnetsInput{MaxResults: aws.Int32(5)})
	var sizes []int
	for pages.HasMorePages() {
		out := must[*awsec2.DescribeSubnetsOutput](t)(pages.NextPage(ctx(t)))
		sizes = append(sizes, len(out.Subnets))
	}
	if !slices.Equal(sizes, []int{5, 1}) {
		t.Errorf("pages have %v subnets, want 5 and 1", sizes)
	}
}

func TestNewTagsOfASubnetAreSeenLate(t *testing.T) {
	clock := testclock.NewFakeClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	b := newBed(t, cloud.Options{
		Region: region.Options{Clock: clock}, EC2: ec2.Options{Lag: &region.Range{Min: time.Second, Max: time.Second}},
	}, Options{})
	tags := []types.Tag{{Key: aws.String("Name"), Value: aws.String("a")}}
	must[*awsec2.CreateTagsOutput](t)(b.ec2().CreateTags(ctx(t), &awsec2.CreateTagsInput{Resources: []string{subnetA}, Tags: tags}))
	count := func() int {
		out := must[*awsec2.DescribeSubnetsOutput](t)(b.ec2().DescribeSubnets(ctx(t), &awsec2.DescribeSubnetsInput{Filters: filters("tag:Name=a")}))
		return len(out.Subnets)
	}
	if got := count(); got != 0 {
		t.Errorf("%d subnets have the tag at once, want 0", got)
	}
	clock.Step(time.Second)
	if got := count(); got != 1 {
		t.Errorf("%d subnets have the tag a second later, want 1", got)
	}
}

func TestRouteTables(t *testing.T) {
	b := newSubnetBed(t)
	for name, tc := range map[string]struct {
		filters []types.Filter
		want    string
	}{
		"the table of a subnet":          {filters("association.subnet-id=subnet-0000000b"), "rtb-00000002 subnet-0000000b ::/0>igw-00000001"},
		"the main table of a VPC":        {filters("vpc-id=vpc-00000002", "association.main=true"), "rtb-00000001 main 10.0.0.0/16>local 0.0.0.0/0>nat-00000001"},
		"a VPC without tables is public": {filters("vpc-id=" + ec2.DefaultVPCID), "rtb-0a1b2c3d4e5f60718 main 10.0.0.0/8>local 100.64.0.0/16>local 2001:db8:1200::/56>local 0.0.0.0/0>igw-0a1b2c3d4e5f60718"},
	} {
		t.Run(name, func(t *testing.T) {
			out := must[*awsec2.DescribeRouteTablesOutput](t)(b.ec2().DescribeRouteTables(ctx(t), &awsec2.DescribeRouteTablesInput{Filters: tc.filters}))
			var got []string
			for _, table := range out.RouteTables {
				got = append(got, *table.RouteTableId)
				for _, a := range table.Associations {
					got = append(got, map[bool]string{true: "main", false: aws.ToString(a.SubnetId)}[*a.Main])
				}
				for _, r := range table.Routes {
					to := aws.ToString(r.GatewayId) + aws.ToString(r.NatGatewayId)
					got = append(got, aws.ToString(r.DestinationCidrBlock)+aws.ToString(r.DestinationIpv6CidrBlock)+">"+to)
				}
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("route tables (-want +got):\n%s", diff)
			}
		})
	}
	_, err := b.ec2().DescribeRouteTables(ctx(t), &awsec2.DescribeRouteTablesInput{RouteTableIds: []string{"rtb-00000009"}})
	wantCode(t, err, "InvalidRouteTableID.NotFound")
}

func TestZonesTellTheirType(t *testing.T) {
	b := newSubnetBed(t)
	out := must[*awsec2.DescribeAvailabilityZonesOutput](t)(b.ec2().DescribeAvailabilityZones(ctx(t), &awsec2.DescribeAvailabilityZonesInput{}))
	got := map[string]string{}
	for _, z := range out.AvailabilityZones {
		got[*z.ZoneName] = *z.ZoneType
	}
	plain := "availability-zone"
	want := map[string]string{"eu-west-1a": plain, "eu-west-1b": plain, "eu-west-1c": plain, "eu-west-1-lax-1a": "local-zone"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("zones (-want +got):\n%s", diff)
	}
	_, err := b.ec2().DescribeAvailabilityZones(ctx(t), &awsec2.DescribeAvailabilityZonesInput{ZoneNames: []string{"eu-west-1d"}})
	wantCode(t, err, "InvalidParameterValue")
}
