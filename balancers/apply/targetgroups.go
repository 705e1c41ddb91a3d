// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/balancers/apply/input"
	"github.com/targetgate/targetgate/balancers/steps"
)

func (d *doing) createTargetGroup(ctx context.Context, c steps.CreateTargetGroup) (Made, error) {
	out, err := d.ELB.CreateTargetGroup(ctx, input.CreateTargetGroup(c.Group, d.VPC))
	if awserr.HasCode(err, "DuplicateTargetGroupName") {
		return d.adoptTargetGroup(ctx, c)
	}
	if err != nil {
		return Made{}, err
	}
	return madeTargetGroup(out.TargetGroups)
}

// adoptTargetGroup takes the one that has the name, if it is ours: an earlier pass has made it and not heard of it. What differs in it is
// found by the next pass.
func (d *doing) adoptTargetGroup(ctx context.Context, c steps.CreateTargetGroup) (Made, error) {
	out, err := d.ELB.DescribeTargetGroups(ctx, &elbv2.DescribeTargetGroupsInput{Names: []string{c.Group.Name}})
	if err != nil {
		return Made{}, err
	}
	made, err := madeTargetGroup(out.TargetGroups)
	if err != nil {
		return Made{}, err
	}
	d.uncertain = true
	return made, d.checkOwn(ctx, "target group", c.Group.Name, made.ID, c.Group.Tags)
}

func madeTargetGroup(answered []types.TargetGroup) (Made, error) {
	if len(answered) != 1 {
		return Made{}, fmt.Errorf("AWS has answered with %d target groups instead of one", len(answered))
	}
	return Made{ID: aws.ToString(answered[0].TargetGroupArn)}, nil
}

func (d *doing) setHealthCheck(ctx context.Context, c steps.SetHealthCheck) error {
	_, err := d.ELB.ModifyTargetGroup(ctx, input.ModifyTargetGroup(c))
	return err
}

func (d *doing) setTargetGroupAttributes(ctx context.Context, c steps.SetTargetGroupAttributes) error {
	_, err := d.ELB.ModifyTargetGroupAttributes(ctx, input.ModifyTargetGroupAttributes(c))
	return err
}

func (d *doing) registerLoadBalancer(ctx context.Context, c steps.RegisterLoadBalancer) error {
	_, err := d.ELB.RegisterTargets(ctx, &elbv2.RegisterTargetsInput{
		TargetGroupArn: aws.String(c.Group.ID),
		Targets:        []types.TargetDescription{{Id: aws.String(c.Target.ID), Port: aws.Int32(c.Port)}},
	})
	return err
}

func (d *doing) deleteTargetGroup(ctx context.Context, c steps.DeleteTargetGroup) error {
	_, err := d.ELB.DeleteTargetGroup(ctx, &elbv2.DeleteTargetGroupInput{TargetGroupArn: aws.String(c.Group.ID)})
	return err
}
