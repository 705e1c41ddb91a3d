// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// letting is a security group that lets the shared one in at a port, by a rule of that description.
func letting(id, source, description string, port int32) ec2types.SecurityGroup {
	return ec2types.SecurityGroup{GroupId: aws.String(id), VpcId: aws.String("vpc"), IpPermissions: []ec2types.IpPermission{
		{
			IpProtocol: aws.String("tcp"), FromPort: aws.Int32(port), ToPort: aws.Int32(port),
			UserIdGroupPairs: []ec2types.UserIdGroupPair{{GroupId: aws.String(source), Description: aws.String(description)}},
		},
		{
			IpProtocol: aws.String("tcp"), FromPort: aws.Int32(22), ToPort: aws.Int32(22),
			IpRanges: []ec2types.IpRange{{CidrIp: aws.String("10.0.0.0/8")}},
		},
	}}
}

func TestWhatUsesTheSharedSecurityGroupIsReadNow(t *testing.T) {
	c := newCloud()
	v, _ := viewOf(c)
	group := ec2types.SecurityGroup{GroupId: aws.String("sg-shared"), VpcId: aws.String("vpc"), Tags: []ec2types.Tag{
		{Key: aws.String(stack.ClusterTag), Value: aws.String("c")}, {Key: aws.String(stack.SharedResourceTag), Value: aws.String(stack.SharedPart)},
	}}
	c.security = []ec2types.SecurityGroup{group}
	groups, err := v.Shared(t.Context())
	if err != nil || len(groups) != 1 || groups[0].ID != "sg-shared" {
		t.Fatalf("shared %+v, error %v", groups, err)
	}
	c.add("arn-foreign", nil) // since the sweep
	c.balancers[0].LoadBalancerName, c.balancers[0].VpcId = aws.String("foreign"), aws.String("another")
	c.balancers[0].SecurityGroups = []string{"sg-x", "sg-shared"}
	c.add("arn-without", nil)
	c.security = []ec2types.SecurityGroup{
		letting("sg-node", "sg-shared", "elbv2.k8s.aws/targetGroupBinding=shared", 80), letting("sg-db", "sg-shared", "by hand", 5432),
		letting("sg-else", "sg-x", "elbv2.k8s.aws/targetGroupBinding=shared", 80), letting("sg-shared", "sg-shared", "", 80),
	}
	rule := func(port int32) stack.Inbound {
		return stack.Inbound{From: port, To: port, Protocol: "tcp", Source: "sg-shared"}
	}
	want := stack.Uses{LoadBalancers: []string{"foreign"}, Rules: []stack.Use{
		{Group: "sg-node", Rule: rule(80), Ours: true}, {Group: "sg-db", Rule: rule(5432)},
	}}
	uses, err := v.Uses(t.Context(), "sg-shared")
	if diff := cmp.Diff(want, uses); diff != "" || err != nil {
		t.Errorf("uses (-want +got):\n%s\nerror %v", diff, err)
	}
	v.Note(stack.ID{Cluster: "c"}, steps.DeleteSecurityGroup{Group: stack.Ref{ID: "sg-shared"}}, steps.Made{})
	if groups, err := v.Shared(t.Context()); err != nil || len(groups) > 0 {
		t.Errorf("shared %+v, error %v, want none once it is deleted", groups, err)
	}
	if ids, err := v.Stacks(t.Context()); err != nil || len(ids) > 0 {
		t.Errorf("stacks %v, error %v, want none, as it is of no stack", ids, err)
	}
}
