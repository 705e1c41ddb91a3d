// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/balancers/apply/input"
	"github.com/targetgate/targetgate/balancers/steps"
)

// securityGroups does the changes of security groups.
type securityGroups struct {
	SecurityGroups
	owner owner
	vpc   string
}

func (s securityGroups) create(ctx context.Context, c steps.CreateSecurityGroup) (Made, error) {
	out, err := s.CreateSecurityGroup(ctx, input.CreateSecurityGroup(c.Group, s.vpc))
	if awserr.HasCode(err, "InvalidGroup.Duplicate") {
		return s.adopt(ctx, c)
	}
	if err != nil {
		return Made{}, err
	}
	return Made{ID: aws.ToString(out.GroupId)}, nil
}

// adopt takes the one that has the name, if it is ours: an earlier pass has made it and not heard of it. The rules that it
// has are found by the next pass.
func (s securityGroups) adopt(ctx context.Context, c steps.CreateSecurityGroup) (Made, error) {
	out, err := s.DescribeSecurityGroups(ctx, &awsec2.DescribeSecurityGroupsInput{Filters: []ec2types.Filter{
		{Name: aws.String("group-name"), Values: []string{c.Group.Name}}, {Name: aws.String("vpc-id"), Values: []string{s.vpc}},
	}})
	if err != nil {
		return Made{}, err
	}
	group, err := only(out.SecurityGroups, "security groups")
	if err != nil {
		return Made{}, err
	}
	tags, id := map[string]string{}, aws.ToString(group.GroupId)
	for _, tag := range group.Tags {
		tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	if !s.owner.has(tags, c.Group.Tags) {
		return Made{}, &foreignError{"security group", c.Group.Name, id}
	}
	return Made{ID: id, Adopted: true}, nil
}

func (s securityGroups) authorize(ctx context.Context, c steps.Authorize) error {
	rules, err := input.Permissions(c.Rules)
	if err != nil {
		return refuse(err)
	}
	return s.Authorize(ctx, c.Group.ID, rules)
}

func (s securityGroups) revoke(ctx context.Context, c steps.Revoke) error {
	rules, err := input.Permissions(c.Rules)
	if err != nil {
		return refuse(err)
	}
	return s.Revoke(ctx, c.Group.ID, rules)
}

func (s securityGroups) delete(ctx context.Context, c steps.DeleteSecurityGroup) error {
	_, err := s.DeleteSecurityGroup(ctx, &awsec2.DeleteSecurityGroupInput{GroupId: aws.String(c.Group.ID)})
	return err
}
