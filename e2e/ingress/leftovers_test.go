//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"slices"
	"testing"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/suite"
)

// A process that ended before it could delete the rest leaves it to the next one: all but a load balancer, as nobody says that it may go, and
// what has only the tags of ours, and no name or description.
func TestWhatAFormerProcessLeftIsCollected(t *testing.T) {
	aws := bed.AWS
	build := func(group string) (security, target string) {
		made, err := aws.EC2.CreateSecurityGroup("", ec2.SecurityGroupSpec{
			Name: "left-" + group, Description: "[k8s] Managed SecurityGroup for LoadBalancer", Tags: stackTags(group, "ManagedLBSecurityGroup"),
		})
		suite.Must(t, err)
		targets, err := aws.ELB.CreateTaggedGroup("", state.GroupSpec{
			Name: "k8s-left-" + group + "-0123456789", Protocol: "HTTP", Port: 80, VPC: ec2.DefaultVPCID, TargetType: "ip",
		}, stackTags(group, "shop/web-web:80"))
		suite.Must(t, err)
		return made.ID, targets.ARN
	}
	build("left")
	security, target := build("serving")
	balancer, err := aws.ELB.CreateBalancer("", state.BalancerSpec{
		Name: "serving", Subnets: []string{"subnet-0a000000000000001", "subnet-0b000000000000002"}, SecurityGroups: []string{security},
		Tags: stackTags("serving", "LoadBalancer"),
	})
	suite.Must(t, err)
	t.Cleanup(func() {
		suite.Must(t, aws.ELB.DeleteBalancer(balancer.ARN))
		suite.Must(t, aws.ELB.DeleteGroup(target))
		suite.Eventually(t, "the load balancer to leave its security group", func() error { return aws.EC2.DeleteSecurityGroup(security) })
	})
	suite.Must(t, bed.Targetgate.Restart(t.Context()))
	suite.Eventually(t, "the rest to be gone", func() error {
		left, err := leftOf("left")
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%q is there", left)
		}
		return err
	})
	left, err := leftOf("serving")
	want := []string{balancer.ARN, security, target}
	slices.Sort(want)
	if err != nil || !slices.Equal(left, want) {
		t.Errorf("of the load balancer there is %q, want %q; error %v", left, want, err)
	}
}
