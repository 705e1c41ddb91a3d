// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	testclock "k8s.io/utils/clock/testing"

	"github.com/targetgate/targetgate/e2e/emulator/cloud"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/region"
)

var ignoreMetadata = cmpopts.IgnoreUnexported(
	types.SecurityGroup{}, types.IpPermission{}, types.IpRange{}, types.Ipv6Range{}, types.UserIdGroupPair{}, types.PrefixListId{}, types.Tag{},
	types.NetworkInterface{}, types.NetworkInterfacePrivateIpAddress{}, types.NetworkInterfaceIpv6Address{}, types.Ipv4PrefixSpecification{},
	types.Ipv6PrefixSpecification{}, types.GroupIdentifier{}, types.NetworkInterfaceAttachment{},
	types.Instance{}, types.InstanceState{}, types.Placement{}, types.InstanceNetworkInterface{}, types.InstancePrivateIpAddress{},
	types.InstanceIpv6Address{}, types.InstanceIpv4Prefix{}, types.InstanceIpv6Prefix{}, types.InstanceNetworkInterfaceAttachment{},
)

const (
	instance1, instance2 = "i-0123456789abc0001", "i-0123456789abc0002"
	eni1, eni2           = "eni-0123456789abc0001", "eni-0123456789abc0002"
)

// newEC2Bed is a bed without lag, with a security group, and an instance with two interfaces.
func newEC2Bed(t *testing.T, opts Options) (b *bed, group string) {
	t.Helper()
	vpcs := []ec2.VPC{ec2.DefaultVPC(region.DefaultName), ec2.PeeredVPC(region.DefaultName)}
	b = newBed(t, cloud.Options{EC2: ec2.Options{VPCs: vpcs, Lag: &region.Range{}}}, opts)
	group = b.securityGroup(ec2.SecurityGroupSpec{
		Name: "nodes", Description: "of nodes", Tags: map[string]string{"kubernetes.io/cluster/e2e": "owned", "a": "b"},
	})
	b.cloud.EC2.SetInstance(instance1, ec2.Instance{Address: "10.1.0.1", Zone: "eu-west-1a", Running: true})
	b.cloud.EC2.SetInstance(instance2, ec2.Instance{Address: "10.2.0.1", Zone: "eu-west-1b"})
	for n, i := range []ec2.Interface{
		{ID: eni1, Addresses: []netip.Addr{netip.MustParseAddr("10.1.0.1"), netip.MustParseAddr("10.1.0.2"), netip.MustParseAddr("2001:db8:1200::1")}, Groups: []string{group}},
		{ID: eni2, Addresses: []netip.Addr{netip.MustParseAddr("10.1.1.1")}, Prefixes: []netip.Prefix{netip.MustParsePrefix("10.1.2.0/28"), netip.MustParsePrefix("2001:db8:1200:0:1::/80")}},
	} {
		i.Instance, i.DeviceIndex = instance1, n
		if err := b.cloud.EC2.PutInterface(i); err != nil {
			t.Fatal(err)
		}
	}
	return b, group
}

func (b *bed) securityGroup(spec ec2.SecurityGroupSpec) string {
	b.t.Helper()
	return must[ec2.SecurityGroup](b.t)(b.cloud.EC2.CreateSecurityGroup("", spec)).ID
}

// web allows TCP from 80 to 81.
func web(sources types.IpPermission) types.IpPermission {
	sources.IpProtocol, sources.FromPort, sources.ToPort = aws.String("tcp"), aws.Int32(80), aws.Int32(81)
	return sources
}

func fromCIDR(cidr string) types.IpPermission {
	return web(types.IpPermission{IpRanges: []types.IpRange{{CidrIp: &cidr, Description: aws.String("by a test")}}})
}

func fromGroup(id string) types.IpPermission {
	return web(types.IpPermission{UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: &id}}})
}

func (b *bed) authorize(group string, permissions ...types.IpPermission) error {
	_, err := b.ec2().AuthorizeSecurityGroupIngress(ctx(b.t), &awsec2.AuthorizeSecurityGroupIngressInput{GroupId: &group, IpPermissions: permissions})
	return err
}

func (b *bed) revoke(group string, permissions ...types.IpPermission) error {
	_, err := b.ec2().RevokeSecurityGroupIngress(ctx(b.t), &awsec2.RevokeSecurityGroupIngressInput{GroupId: &group, IpPermissions: permissions})
	return err
}

func TestSecurityGroupAsTheSDKReadsIt(t *testing.T) {
	b, group := newEC2Bed(t, Options{})
	list := ec2.PrefixList{ID: "pl-00000000", MaxEntries: 1}
	if err := b.cloud.EC2.PutPrefixList(list); err != nil {
		t.Fatal(err)
	}
	text := aws.String("elbv2.k8s.aws/targetGroupBinding=shared")
	permissions := []types.IpPermission{
		web(types.IpPermission{
			IpRanges:         []types.IpRange{{CidrIp: aws.String("10.0.0.5/8"), Description: text}},
			Ipv6Ranges:       []types.Ipv6Range{{CidrIpv6: aws.String("2001:DB8:0::/32")}},
			UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: &group, Description: text}},
			PrefixListIds:    []types.PrefixListId{{PrefixListId: &list.ID}},
		}),
		{IpProtocol: aws.String("-1"), UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: &group}}},
		fromCIDR("192.168.0.0/16"),
	}
	wantCode(t, b.authorize(group, permissions...), "")
	out := must[*awsec2.DescribeSecurityGroupsOutput](t)(b.ec2().DescribeSecurityGroups(ctx(t), &awsec2.DescribeSecurityGroupsInput{GroupIds: []string{group}}))
	owner := aws.String(region.DefaultAccount)
	want := []types.SecurityGroup{{
		OwnerId: owner, GroupId: &group, GroupName: aws.String("nodes"), Description: aws.String("of nodes"), VpcId: aws.String(ec2.DefaultVPCID),
		Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}, {Key: aws.String("kubernetes.io/cluster/e2e"), Value: aws.String("owned")}},
		IpPermissions: []types.IpPermission{
			web(types.IpPermission{
				IpRanges:         []types.IpRange{{CidrIp: aws.String("10.0.0.0/8"), Description: text}, {CidrIp: aws.String("192.168.0.0/16"), Description: aws.String("by a test")}},
				Ipv6Ranges:       []types.Ipv6Range{{CidrIpv6: aws.String("2001:db8::/32")}},
				UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: &group, UserId: owner, Description: text}},
				PrefixListIds:    []types.PrefixListId{{PrefixListId: &list.ID}},
			}),
			{IpProtocol: aws.String("-1"), UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: &group, UserId: owner}}},
		},
	}}
	if diff := cmp.Diff(want, out.SecurityGroups, ignoreMetadata, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("security groups (-want +got):\n%s", diff)
	}
	wantCode(t, b.revoke(group, permissions...), "")
	if g := must[ec2.SecurityGroup](t)(b.cloud.EC2.SecurityGroup(group)); len(g.Ingress) != 0 {
		t.Errorf("rules after they were revoked: %v", g.Ingress)
	}
}

func TestIngressRefusals(t *testing.T) {
	b, group := newEC2Bed(t, Options{})
	peer := b.securityGroup(ec2.SecurityGroupSpec{Name: "peer", VPC: ec2.PeeredVPCID})
	wantCode(t, b.authorize(group, fromCIDR("10.0.0.0/8")), "")
	var many []types.IpPermission
	for port := range int32(61) {
		permission := fromCIDR("10.0.0.0/8")
		permission.FromPort = &port
		many = append(many, permission)
	}
	long := fromCIDR("10.0.0.0/9")
	long.IpRanges[0].Description = aws.String(strings.Repeat("x", 256))
	for name, tc := range map[string]struct {
		call func(string, ...types.IpPermission) error
		list []types.IpPermission
		want string
	}{
		"add a rule that is there":       {b.authorize, []types.IpPermission{fromCIDR("10.0.0.0/9"), fromCIDR("10.1.1.1/8")}, "InvalidPermission.Duplicate"},
		"add too many":                   {b.authorize, many, "RulesPerSecurityGroupLimitExceeded"},
		"add a source that is not there": {b.authorize, []types.IpPermission{fromGroup("sg-00000000000000000")}, "InvalidGroup.NotFound"},
		"add a source of another VPC":    {b.authorize, []types.IpPermission{fromGroup(peer)}, "InvalidParameterValue"},
		"add a long description":         {b.authorize, []types.IpPermission{long}, "InvalidParameterValue"},
		"add a malformed range":          {b.authorize, []types.IpPermission{fromCIDR("10.0.0.0")}, "InvalidParameterValue"},
		"add IPv6 for IPv4":              {b.authorize, []types.IpPermission{fromCIDR("2001:db8::/32")}, "InvalidParameterValue"},
		"add no source":                  {b.authorize, []types.IpPermission{web(types.IpPermission{})}, "MissingParameter"},
		"add TCP without ports":          {b.authorize, []types.IpPermission{{IpProtocol: aws.String("tcp"), IpRanges: fromCIDR("10.0.0.0/9").IpRanges}}, "InvalidParameterValue"},
		"add nothing":                    {b.authorize, nil, "MissingParameter"},
		"remove what is not there":       {b.revoke, []types.IpPermission{fromCIDR("10.0.0.0/8"), fromCIDR("10.0.0.0/9")}, "InvalidPermission.NotFound"},
	} {
		t.Run(name, func(t *testing.T) {
			wantCode(t, tc.call(group, tc.list...), tc.want)
			wantCode(t, tc.call("sg-00000000000000000", fromCIDR("10.2.0.0/16")), "InvalidGroup.NotFound")
			if g := must[ec2.SecurityGroup](t)(b.cloud.EC2.SecurityGroup(group)); len(g.Ingress) != 1 {
				t.Errorf("rules after a call that failed: %v", g.Ingress)
			}
		})
	}
	peers := b.authorize(group, fromGroup(peer))
	if text := "You have specified two resources that belong to different networks."; peers == nil || !strings.Contains(peers.Error(), text) {
		t.Errorf("error is %v, want %q", peers, text)
	}
}

func TestInterfacesAsTheSDKReadsThem(t *testing.T) {
	b, group := newEC2Bed(t, Options{})
	out := must[*awsec2.DescribeNetworkInterfacesOutput](t)(b.ec2().DescribeNetworkInterfaces(ctx(t), &awsec2.DescribeNetworkInterfacesInput{}))
	vpc, owner := aws.String(ec2.DefaultVPCID), aws.String(region.DefaultAccount)
	attached := func(index int32) *types.NetworkInterfaceAttachment {
		return &types.NetworkInterfaceAttachment{InstanceId: aws.String(instance1), DeviceIndex: &index, Status: types.AttachmentStatusAttached}
	}
	want := []types.NetworkInterface{{
		NetworkInterfaceId: aws.String(eni1), VpcId: vpc, OwnerId: owner, Status: types.NetworkInterfaceStatusInUse, PrivateIpAddress: aws.String("10.1.0.1"),
		PrivateIpAddresses: []types.NetworkInterfacePrivateIpAddress{
			{PrivateIpAddress: aws.String("10.1.0.1"), Primary: aws.Bool(true)}, {PrivateIpAddress: aws.String("10.1.0.2"), Primary: aws.Bool(false)},
		},
		Ipv6Addresses: []types.NetworkInterfaceIpv6Address{{Ipv6Address: aws.String("2001:db8:1200::1")}},
		Groups:        []types.GroupIdentifier{{GroupId: &group}}, Attachment: attached(0),
	}, {
		NetworkInterfaceId: aws.String(eni2), VpcId: vpc, OwnerId: owner, Status: types.NetworkInterfaceStatusInUse, PrivateIpAddress: aws.String("10.1.1.1"),
		PrivateIpAddresses: []types.NetworkInterfacePrivateIpAddress{{PrivateIpAddress: aws.String("10.1.1.1"), Primary: aws.Bool(true)}},
		Ipv4Prefixes:       []types.Ipv4PrefixSpecification{{Ipv4Prefix: aws.String("10.1.2.0/28")}},
		Ipv6Prefixes:       []types.Ipv6PrefixSpecification{{Ipv6Prefix: aws.String("2001:db8:1200:0:1::/80")}}, Attachment: attached(1),
	}}
	if diff := cmp.Diff(want, out.NetworkInterfaces, ignoreMetadata, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("interfaces (-want +got):\n%s", diff)
	}
}

func TestInstancesAsTheSDKReadsThem(t *testing.T) {
	b, group := newEC2Bed(t, Options{})
	out := must[*awsec2.DescribeInstancesOutput](t)(b.ec2().DescribeInstances(ctx(t), &awsec2.DescribeInstancesInput{InstanceIds: []string{instance1, instance2}}))
	if len(out.Reservations) != 2 || *out.Reservations[0].OwnerId != region.DefaultAccount {
		t.Fatalf("reservations are %v", out.Reservations)
	}
	first, second := out.Reservations[0].Instances[0], out.Reservations[1].Instances[0]
	if *first.InstanceId != instance1 || first.State.Name != types.InstanceStateNameRunning || *first.Placement.AvailabilityZone != "eu-west-1a" ||
		*first.PrivateIpAddress != "10.1.0.1" || *first.VpcId != ec2.DefaultVPCID || *first.SecurityGroups[0].GroupId != group {
		t.Errorf("first instance is %+v", first)
	}
	if *second.InstanceId != instance2 || second.State.Name != types.InstanceStateNameStopped || len(second.NetworkInterfaces) != 0 {
		t.Errorf("second instance is %+v", second)
	}
	var got []string
	for _, i := range first.NetworkInterfaces {
		got = append(got, fmt.Sprint(*i.NetworkInterfaceId, *i.Attachment.DeviceIndex, len(i.PrivateIpAddresses), len(i.Ipv6Addresses), len(i.Ipv4Prefixes), len(i.Ipv6Prefixes), len(i.Groups)))
	}
	if diff := cmp.Diff([]string{fmt.Sprint(eni1, 0, 2, 1, 0, 0, 1), fmt.Sprint(eni2, 1, 1, 0, 1, 1, 0)}, got); diff != "" {
		t.Errorf("interfaces (-want +got):\n%s", diff)
	}
}

// filter is one by name=value,value.
func filter(text string) []types.Filter {
	name, values, _ := strings.Cut(text, "=")
	return []types.Filter{{Name: &name, Values: strings.Split(values, ",")}}
}

func TestFilters(t *testing.T) {
	b, group := newEC2Bed(t, Options{})
	peer := b.securityGroup(ec2.SecurityGroupSpec{Name: "peer", VPC: ec2.PeeredVPCID, Tags: map[string]string{"kubernetes.io/cluster/e2e": "shared"}})
	groups := func(f []types.Filter) (ids []string, err error) {
		out, err := b.ec2().DescribeSecurityGroups(ctx(t), &awsec2.DescribeSecurityGroupsInput{Filters: f})
		if err == nil {
			for _, g := range out.SecurityGroups {
				ids = append(ids, *g.GroupId)
			}
		}
		return ids, err
	}
	interfaces := func(f []types.Filter) (ids []string, err error) {
		out, err := b.ec2().DescribeNetworkInterfaces(ctx(t), &awsec2.DescribeNetworkInterfacesInput{Filters: f})
		if err == nil {
			for _, i := range out.NetworkInterfaces {
				ids = append(ids, *i.NetworkInterfaceId)
			}
		}
		return ids, err
	}
	both := []string{group, peer}
	slices.Sort(both)
	for name, tc := range map[string]struct {
		list func([]types.Filter) ([]string, error)
		want []string
		code string
	}{
		"vpc-id=" + ec2.PeeredVPCID:                             {groups, []string{peer}, ""},
		"group-id=" + group + "," + peer:                        {groups, both, ""},
		"group-name=nod?s":                                      {groups, []string{group}, ""},
		"tag:kubernetes.io/cluster/e2e=owned":                   {groups, []string{group}, ""},
		"tag:kubernetes.io/cluster/e2e=owned,shared":            {groups, both, ""},
		"tag:kubernetes.io/cluster/e2e=*":                       {groups, both, ""},
		"tag:missing=*":                                         {groups, nil, ""},
		"tag-key=a":                                             {groups, []string{group}, ""},
		"owned=by":                                              {groups, nil, "InvalidParameterValue"},
		"group-id=" + strings.Repeat("x,", 200):                 {groups, nil, "FilterLimitExceeded"},
		"addresses.private-ip-address=10.1.0.2,10.1.2.1":        {interfaces, []string{eni1}, ""},
		"addresses.private-ip-address=10.1.?.1":                 {interfaces, []string{eni1, eni2}, ""},
		"addresses.private-ip-address=2001:db8:1200::1":         {interfaces, nil, ""},
		"ipv6-addresses.ipv6-address=2001:db8:1200::1":          {interfaces, []string{eni1}, ""},
		"group-id=" + group:                                     {interfaces, []string{eni1}, ""},
		"attachment.instance-id=" + instance2:                   {interfaces, nil, ""},
		"vpc-id=" + ec2.DefaultVPCID:                            {interfaces, []string{eni1, eni2}, ""},
		"tag-key=" + ec2.DefaultVPCID:                           {interfaces, nil, "InvalidParameterValue"},
		"network-interface-id=" + eni2 + "," + eni1 + ",eni-zz": {interfaces, []string{eni1, eni2}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.list(filter(name))
			wantCode(t, err, tc.code)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ids (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnknownIDsRefuseTheWholeCall(t *testing.T) {
	b, group := newEC2Bed(t, Options{})
	groups := func(ids []string, most *int32) error {
		_, err := b.ec2().DescribeSecurityGroups(ctx(t), &awsec2.DescribeSecurityGroupsInput{GroupIds: ids, MaxResults: most})
		return err
	}
	interfaces := func(ids []string, most *int32) error {
		_, err := b.ec2().DescribeNetworkInterfaces(ctx(t), &awsec2.DescribeNetworkInterfacesInput{NetworkInterfaceIds: ids, MaxResults: most})
		return err
	}
	instances := func(ids []string, most *int32) error {
		_, err := b.ec2().DescribeInstances(ctx(t), &awsec2.DescribeInstancesInput{InstanceIds: ids, MaxResults: most})
		return err
	}
	ten := aws.Int32(10)
	for name, tc := range map[string]struct {
		list func([]string, *int32) error
		ids  []string
		most *int32
		want string
	}{
		"unknown group":                {groups, []string{group, "sg-00000000000000000"}, nil, "InvalidGroup.NotFound"},
		"malformed group":              {groups, []string{group, "sg-"}, nil, "InvalidGroupId.Malformed"},
		"group with pages":             {groups, []string{group}, ten, ""},
		"page too small":               {groups, nil, aws.Int32(4), "InvalidParameterValue"},
		"page too large":               {groups, nil, aws.Int32(1001), "InvalidParameterValue"},
		"unknown interface":            {interfaces, []string{eni1, "eni-00000000000000000"}, nil, "InvalidNetworkInterfaceID.NotFound"},
		"malformed interface":          {interfaces, []string{eni1, "eni1"}, nil, "InvalidNetworkInterfaceId.Malformed"},
		"interface with pages":         {interfaces, []string{eni1}, ten, "InvalidParameterCombination"},
		"unknown instance":             {instances, []string{instance1, "i-00000000000000000"}, nil, "InvalidInstanceID.NotFound"},
		"malformed instance":           {instances, []string{instance1, "fargate-ip-10-0-0-1"}, nil, "InvalidInstanceID.Malformed"},
		"instance with pages":          {instances, []string{instance1}, ten, "InvalidParameterCombination"},
		"known instances":              {instances, []string{instance2, instance1}, nil, ""},
		"known interfaces, both ways":  {interfaces, []string{eni2, eni1}, nil, ""},
		"no ids, a page, no next page": {interfaces, nil, ten, ""},
	} {
		t.Run(name, func(t *testing.T) { wantCode(t, tc.list(tc.ids, tc.most), tc.want) })
	}
}

func TestEC2Pages(t *testing.T) {
	b, _ := newEC2Bed(t, Options{})
	for n := range 11 {
		b.securityGroup(ec2.SecurityGroupSpec{Name: fmt.Sprint(n)})
	}
	pages := awsec2.NewDescribeSecurityGroupsPaginator(b.ec2(), &awsec2.DescribeSecurityGroupsInput{MaxResults: aws.Int32(5)})
	seen, sizes := map[string]bool{}, []int{}
	for pages.HasMorePages() {
		out := must[*awsec2.DescribeSecurityGroupsOutput](t)(pages.NextPage(ctx(t)))
		sizes = append(sizes, len(out.SecurityGroups))
		for _, g := range out.SecurityGroups {
			seen[*g.GroupId] = true
		}
	}
	if diff := cmp.Diff([]int{5, 5, 2}, sizes); diff != "" || len(seen) != 12 {
		t.Errorf("%d groups, pages (-want +got):\n%s", len(seen), diff)
	}
	whole := must[*awsec2.DescribeSecurityGroupsOutput](t)(b.ec2().DescribeSecurityGroups(ctx(t), &awsec2.DescribeSecurityGroupsInput{MaxResults: aws.Int32(12)}))
	if whole.NextToken != nil {
		t.Error("there is a page after the last")
	}
	_, err := b.ec2().DescribeSecurityGroups(ctx(t), &awsec2.DescribeSecurityGroupsInput{NextToken: aws.String("%")})
	wantCode(t, err, "InvalidPaginationToken")
}

func TestEC2Throttling(t *testing.T) {
	clock := testclock.NewFakeClock(time.Now())
	b, group := newEC2Bed(t, Options{Clock: clock})
	describe := func(f ...types.Filter) func() error {
		return func() error {
			_, err := b.ec2().DescribeSecurityGroups(ctx(t), &awsec2.DescribeSecurityGroupsInput{Filters: f})
			return err
		}
	}
	instances := func() error {
		_, err := b.ec2().DescribeInstances(ctx(t), &awsec2.DescribeInstancesInput{InstanceIds: []string{instance1}})
		return err
	}
	// InvalidPermission.NotFound is answered by a call that was not throttled.
	revoke := func() error { return b.revoke(group, fromCIDR("10.0.0.0/8")) }
	add := func() error { return b.authorize(group, fromGroup("sg-00000000000000000")) }
	for _, tc := range []struct {
		name             string
		call             func() error
		capacity, refill int
		want             string
	}{
		{"filtered", describe(filter("group-id=" + group)...), 100, 20, ""},
		{"unfiltered", describe(), 50, 10, ""},
		{"of other resources", instances, 50, 10, ""},
		{"add", add, 50, 5, "InvalidGroup.NotFound"},
		{"remove", revoke, 50, 5, "InvalidPermission.NotFound"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for range tc.capacity {
				wantCode(t, tc.call(), tc.want)
			}
			wantCode(t, tc.call(), "RequestLimitExceeded")
			clock.Step(time.Second)
			for range tc.refill {
				wantCode(t, tc.call(), tc.want)
			}
			err := tc.call()
			wantCode(t, err, "RequestLimitExceeded")
			wantStatus(t, err, http.StatusServiceUnavailable)
		})
	}
	b.server.SetLimits(Limits{})
	for range 120 {
		wantCode(t, describe()(), "")
	}
}

func wantStatus(t *testing.T, err error, want int) {
	t.Helper()
	var response *awshttp.ResponseError
	if !errors.As(err, &response) || response.HTTPStatusCode() != want {
		t.Errorf("error %v, want HTTP %d", err, want)
	}
}

func TestParametersThatAreNotEmulated(t *testing.T) {
	b, group := newEC2Bed(t, Options{})
	_, err := b.ec2().AuthorizeSecurityGroupIngress(ctx(t), &awsec2.AuthorizeSecurityGroupIngressInput{
		GroupId: &group, DryRun: aws.Bool(true), IpPermissions: []types.IpPermission{fromCIDR("10.0.0.0/8")},
	})
	wantCode(t, err, "UnknownParameter")
	if g := must[ec2.SecurityGroup](t)(b.cloud.EC2.SecurityGroup(group)); len(g.Ingress) != 0 {
		t.Errorf("rules are %v, want none", g.Ingress)
	}
	_, err = b.ec2().RevokeSecurityGroupIngress(ctx(t), &awsec2.RevokeSecurityGroupIngressInput{GroupId: &group, SecurityGroupRuleIds: []string{"sgr-1"}})
	wantCode(t, err, "UnknownParameter")
	_, err = b.ec2().DescribeSecurityGroups(ctx(t), &awsec2.DescribeSecurityGroupsInput{GroupNames: []string{"nodes"}})
	wantCode(t, err, "UnknownParameter")
}

func TestFaultOfASecurityGroup(t *testing.T) {
	b, group := newEC2Bed(t, Options{})
	other := b.securityGroup(ec2.SecurityGroupSpec{Name: "other"})
	b.server.Inject(Fault{SecurityGroup: group, Code: "InternalError"})
	b.server.Inject(Fault{Operation: "AuthorizeSecurityGroupIngress", Code: "Unavailable", Times: 1})
	wantCode(t, b.authorize(other, fromCIDR("10.0.0.0/8")), "Unavailable")
	wantCode(t, b.authorize(other, fromCIDR("10.0.0.0/8")), "")
	wantCode(t, b.authorize(group, fromCIDR("10.0.0.0/8")), "InternalError")
	_, err := b.ec2().DescribeSecurityGroups(ctx(t), &awsec2.DescribeSecurityGroupsInput{GroupIds: []string{other, group}})
	wantCode(t, err, "InternalError")
	_, err = b.ec2().DescribeSecurityGroups(ctx(t), &awsec2.DescribeSecurityGroupsInput{Filters: filter("group-id=" + group)})
	wantCode(t, err, "InternalError")
	_, err = b.ec2().DescribeSecurityGroups(ctx(t), &awsec2.DescribeSecurityGroupsInput{})
	wantCode(t, err, "")
	call := b.server.Calls(1)[0]
	rule := ec2.Rule{Protocol: "tcp", From: 80, To: 81, Source: ec2.Source{CIDR: netip.MustParsePrefix("10.0.0.0/8")}}
	if !slices.Equal(call.SecurityGroups, []string{other}) || !slices.Equal(call.Rules, []ec2.Rule{rule}) {
		t.Errorf("call is %+v", call)
	}
}

func TestLoadBalancerWithSecurityGroups(t *testing.T) {
	b, group := newEC2Bed(t, Options{})
	in := &elb.CreateLoadBalancerInput{
		Name: aws.String("lb"), SecurityGroups: []string{group}, Subnets: []string{"subnet-0a000000000000001", "subnet-0b000000000000002"},
	}
	out := must[*elb.CreateLoadBalancerOutput](t)(b.elb.CreateLoadBalancer(ctx(t), in))
	if diff := cmp.Diff([]string{group}, out.LoadBalancers[0].SecurityGroups); diff != "" {
		t.Errorf("security groups (-want +got):\n%s", diff)
	}
	in.Name, in.SecurityGroups = aws.String("lb2"), []string{"sg-00000000000000000"}
	_, err := b.elb.CreateLoadBalancer(ctx(t), in)
	wantCode(t, err, "InvalidSecurityGroup")
}
