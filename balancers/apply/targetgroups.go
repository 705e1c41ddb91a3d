// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/balancers/apply/input"
	"github.com/targetgate/targetgate/balancers/steps"
)

// targetGroups does the changes of target groups.
type targetGroups struct {
	TargetGroups
	owner owner
	vpc   string
}

func (t targetGroups) create(ctx context.Context, c steps.CreateTargetGroup) (steps.Made, error) {
	out, err := t.CreateTargetGroup(ctx, input.CreateTargetGroup(c.Group, t.vpc))
	if awserr.HasCode(err, "DuplicateTargetGroupName") {
		return t.adopt(ctx, c)
	}
	if err != nil {
		return steps.Made{}, err
	}
	made, err := madeTargetGroup(out.TargetGroups)
	if err != nil {
		return steps.Made{}, err
	}
	isOld := len(out.TargetGroups[0].LoadBalancerArns) > 0
	return t.owner.checkMade(ctx, made, isOld, c.Group.Tags, "target group", c.Group.Name)
}

// adopt takes the one that has the name, if it is ours: an earlier pass has made it and not heard of it. What differs in it is
// found by the next pass.
func (t targetGroups) adopt(ctx context.Context, c steps.CreateTargetGroup) (steps.Made, error) {
	out, err := t.DescribeTargetGroups(ctx, &elbv2.DescribeTargetGroupsInput{Names: []string{c.Group.Name}})
	if err != nil {
		return steps.Made{}, t.owner.orUnshown(err, isGone(err), c.Group.Name)
	}
	made, err := madeTargetGroup(out.TargetGroups)
	if err != nil {
		return steps.Made{}, err
	}
	made.Adopted = true
	return made, t.owner.check(ctx, c.Group.Tags, &foreignError{what: "target group", name: c.Group.Name, holder: made.ID})
}

func madeTargetGroup(answered []types.TargetGroup) (steps.Made, error) {
	group, err := only(answered, "target groups")
	return steps.Made{ID: aws.ToString(group.TargetGroupArn)}, err
}

func (t targetGroups) setHealthCheck(ctx context.Context, c steps.SetHealthCheck) error {
	_, err := t.ModifyTargetGroup(ctx, input.ModifyTargetGroup(c))
	return err
}

func (t targetGroups) setAttributes(ctx context.Context, c steps.SetTargetGroupAttributes) error {
	_, err := t.ModifyTargetGroupAttributes(ctx, input.ModifyTargetGroupAttributes(c))
	return err
}

func (t targetGroups) registerLoadBalancer(ctx context.Context, c steps.RegisterLoadBalancer) error {
	_, err := t.RegisterTargets(ctx, &elbv2.RegisterTargetsInput{
		TargetGroupArn: aws.String(c.Group.ID),
		Targets:        []types.TargetDescription{{Id: aws.String(c.Target.ID), Port: aws.Int32(c.Port)}},
	})
	return err
}

func (t targetGroups) delete(ctx context.Context, c steps.DeleteTargetGroup) error {
	_, err := t.DeleteTargetGroup(ctx, &elbv2.DeleteTargetGroupInput{TargetGroupArn: aws.String(c.Group.ID)})
	return err
}
