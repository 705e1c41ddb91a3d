// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"
)

// vpc is an EC2 and an ELB with a few subnets, the security groups that are named, and the target group web.
type vpc struct {
	ELB
	mu      sync.Mutex
	calls   []string
	named   map[string][]string
	missing bool // the target group
	err     error
}

func (v *vpc) call(name string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls = append(v.calls, name)
	return v.err
}

func (v *vpc) count(name string) (n int) {
	for _, call := range v.calls {
		if call == name {
			n++
		}
	}
	return n
}

func (v *vpc) DescribeSubnets(_ context.Context, in *awsec2.DescribeSubnetsInput) (*awsec2.DescribeSubnetsOutput, error) {
	subnet := func(id, zone string) types.Subnet {
		return types.Subnet{SubnetId: &id, AvailabilityZone: &zone, AvailableIpAddressCount: aws.Int32(11)}
	}
	tagged, own, outpost := subnet("subnet-main", "eu-west-1a"), subnet("subnet-own", "eu-west-1-lhr-1"), subnet("subnet-outpost", "eu-west-1a")
	tagged.Tags = []types.Tag{{Key: aws.String("Name"), Value: aws.String("one")}}
	own.Ipv6CidrBlockAssociationSet = []types.SubnetIpv6CidrBlockAssociation{
		{Ipv6CidrBlockState: &types.SubnetCidrBlockState{State: types.SubnetCidrBlockStateCodeAssociated}},
	}
	tagged.Ipv6CidrBlockAssociationSet = []types.SubnetIpv6CidrBlockAssociation{
		{Ipv6CidrBlockState: &types.SubnetCidrBlockState{State: types.SubnetCidrBlockStateCodeDisassociated}},
	}
	outpost.OutpostArn = aws.String("arn:outpost")
	if in.Filters[0].Values[0] != "vpc-1" {
		return &awsec2.DescribeSubnetsOutput{}, nil
	}
	return &awsec2.DescribeSubnetsOutput{Subnets: []types.Subnet{tagged, own, outpost}}, v.call("subnets")
}

func (v *vpc) DescribeRouteTables(context.Context, *awsec2.DescribeRouteTablesInput) (*awsec2.DescribeRouteTablesOutput, error) {
	return &awsec2.DescribeRouteTablesOutput{RouteTables: []types.RouteTable{
		{
			Routes:       []types.Route{{GatewayId: aws.String("local")}, {GatewayId: aws.String("igw-1")}},
			Associations: []types.RouteTableAssociation{{Main: aws.Bool(true)}},
		},
		{
			Routes:       []types.Route{{GatewayId: aws.String("local")}, {NatGatewayId: aws.String("nat-1")}},
			Associations: []types.RouteTableAssociation{{SubnetId: aws.String("subnet-own")}},
		},
	}}, v.call("tables")
}

func (v *vpc) DescribeAvailabilityZones(context.Context, *awsec2.DescribeAvailabilityZonesInput) (*awsec2.DescribeAvailabilityZonesOutput, error) {
	return &awsec2.DescribeAvailabilityZonesOutput{AvailabilityZones: []types.AvailabilityZone{
		{ZoneName: aws.String("eu-west-1a"), ZoneType: aws.String("availability-zone")},
		{ZoneName: aws.String("eu-west-1-lhr-1"), ZoneType: aws.String("local-zone")},
	}}, v.call("zones")
}

func (v *vpc) DescribeSecurityGroups(_ context.Context, in *awsec2.DescribeSecurityGroupsInput) (*awsec2.DescribeSecurityGroupsOutput, error) {
	out := &awsec2.DescribeSecurityGroupsOutput{}
	for _, id := range v.named[in.Filters[1].Values[0]] {
		out.SecurityGroups = append(out.SecurityGroups, types.SecurityGroup{GroupId: &id})
	}
	return out, v.call("groups " + in.Filters[1].Values[0])
}

func (v *vpc) DescribeTargetGroups(_ context.Context, in *elbv2.DescribeTargetGroupsInput) (*elbv2.DescribeTargetGroupsOutput, error) {
	if err := v.call("target group " + in.Names[0]); err != nil || v.missing {
		return nil, errors.Join(err, &smithy.GenericAPIError{Code: "TargetGroupNotFound"})
	}
	return &elbv2.DescribeTargetGroupsOutput{TargetGroups: []elbtypes.TargetGroup{{TargetGroupArn: aws.String("arn-" + in.Names[0])}}}, nil
}

func newNetwork() (*Network, *vpc, *testingclock.FakeClock) {
	v, clock := &vpc{named: map[string][]string{"web": {"sg-1", "sg-2"}}}, testingclock.NewFakeClock(time.Unix(1_700_000_000, 0))
	return &Network{EC2: v, ELB: v, Clock: clock, VPC: "vpc-1"}, v, clock
}

func TestSubnets(t *testing.T) {
	n, v, clock := newNetwork()
	want := []Subnet{
		{ID: "subnet-main", Zone: "eu-west-1a", Locale: "availability-zone", Free: 11, Public: true, Tags: map[string]string{"Name": "one"}},
		{ID: "subnet-own", Zone: "eu-west-1-lhr-1", Locale: "local-zone", Free: 11, IPv6: true, Tags: map[string]string{}},
		{ID: "subnet-outpost", Zone: "eu-west-1a", Locale: "outpost", Free: 11, Public: true, Tags: map[string]string{}},
	}
	for range 2 {
		got, err := n.Subnets(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("subnets (-want +got):\n%s", diff)
		}
	}
	clock.Step(missedAge)
	if _, err := n.Subnets(t.Context()); err != nil || v.count("subnets") != 2 {
		t.Errorf("%d reads, error %v, want one at first and one when it is too old", v.count("subnets"), err)
	}
}

func TestWhatUsersNameIsLookedUpOnceInAWhile(t *testing.T) {
	n, v, clock := newNetwork()
	look := func() (ids, none []string, arn string) {
		t.Helper()
		ids, err := n.SecurityGroups(t.Context(), "web")
		none, noneErr := n.SecurityGroups(t.Context(), "a*b?c")
		arn, arnErr := n.TargetGroup(t.Context(), "web")
		if err := errors.Join(err, noneErr, arnErr); err != nil {
			t.Fatal(err)
		}
		return ids, none, arn
	}
	for range 2 {
		if ids, none, arn := look(); !slices.Equal(ids, []string{"sg-1", "sg-2"}) || len(none) != 0 || arn != "arn-web" {
			t.Errorf("%v, %v, %q", ids, none, arn)
		}
	}
	want := []string{"groups web", `groups a\*b\?c`, "target group web"}
	if diff := cmp.Diff(want, v.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	clock.Step(missedAge)
	look()
	if got := v.calls[len(want):]; !slices.Equal(got, want[1:2]) {
		t.Errorf("calls %q after half a minute, want for what was not found alone", got)
	}
	clock.Step(foundAge)
	v.missing = true
	if _, _, arn := look(); arn != "" || len(v.calls) != 7 {
		t.Errorf("target group %q after %d calls, want it be gone after 7", arn, len(v.calls))
	}
}

func TestErrorsAreNotRemembered(t *testing.T) {
	n, v, _ := newNetwork()
	v.err = errors.New("no answer")
	for _, ask := range []func() error{
		func() error { _, err := n.Subnets(t.Context()); return err },
		func() error { _, err := n.SecurityGroups(t.Context(), "web"); return err },
	} {
		if err := ask(); !errors.Is(err, v.err) {
			t.Errorf("error %v, want %v", err, v.err)
		}
		v.err = nil
		if err := ask(); err != nil {
			t.Errorf("error %v, want none", err)
		}
		v.err = errors.New("no answer")
	}
	v.err = &smithy.GenericAPIError{Code: "Throttling"}
	if _, err := n.TargetGroup(t.Context(), "web"); err == nil {
		t.Error("no error, want that of AWS")
	}
}

// Whoever gives up leaves the call to the others who wait for it.
func TestRememberedSharesCalls(t *testing.T) {
	var r remembered[int]
	asked, answer := make(chan struct{}), make(chan int)
	read := func(ctx context.Context) (int, time.Duration, error) {
		asked <- struct{}{}
		value := <-answer
		if ctx.Err() != nil {
			t.Error("the call ends with the first of those who wait for it")
		}
		return value, time.Minute, nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone, got := make(chan error), make(chan int)
	go func() {
		_, err := r.get(ctx, time.Now, "question", read)
		gone <- err
	}()
	<-asked
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that it was cancelled", err)
	}
	go func() {
		value, err := r.get(t.Context(), time.Now, "question", read)
		if err != nil {
			t.Error(err)
		}
		got <- value
	}()
	answer <- 7
	if value := <-got; value != 7 {
		t.Errorf("answer %d, want 7", value)
	}
}

// One Ingress may name what AWS does not take for a name: the others of its group need an answer all the same.
func TestANameThatAWSDoesNotTakeIsThatOfNoTargetGroup(t *testing.T) {
	n, v, _ := newNetwork()
	v.err = &smithy.GenericAPIError{Code: "ValidationError", Message: "Target group name 'x' cannot be longer than '32' characters"}
	if arn, err := n.TargetGroup(t.Context(), "x"); arn != "" || err != nil {
		t.Errorf("target group %q, error %v", arn, err)
	}
}
