// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/balancers/apply/input"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

func (d *doing) createSecurityGroup(ctx context.Context, c steps.CreateSecurityGroup) (Made, error) {
	out, err := d.EC2.CreateSecurityGroup(ctx, input.CreateSecurityGroup(c.Group, d.VPC))
	if awserr.HasCode(err, "InvalidGroup.Duplicate") {
		return d.adoptSecurityGroup(ctx, c)
	}
	if err != nil {
		return Made{}, err
	}
	return Made{ID: aws.ToString(out.GroupId)}, nil
}

// adoptSecurityGroup takes the one that has the name, if it is ours: an earlier pass has made it and not heard of it. The rules that it
// has are found by the next pass.
func (d *doing) adoptSecurityGroup(ctx context.Context, c steps.CreateSecurityGroup) (Made, error) {
	out, err := d.EC2.DescribeSecurityGroups(ctx, &awsec2.DescribeSecurityGroupsInput{Filters: []ec2types.Filter{
		{Name: aws.String("group-name"), Values: []string{c.Group.Name}}, {Name: aws.String("vpc-id"), Values: []string{d.VPC}},
	}})
	if err != nil {
		return Made{}, err
	}
	if len(out.SecurityGroups) != 1 {
		return Made{}, fmt.Errorf("AWS has answered with %d security groups instead of one", len(out.SecurityGroups))
	}
	tags, id := map[string]string{}, aws.ToString(out.SecurityGroups[0].GroupId)
	for _, tag := range out.SecurityGroups[0].Tags {
		tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	if !d.isOwn(tags, c.Group.Tags) {
		return Made{}, &foreignError{"security group", c.Group.Name, id}
	}
	d.uncertain = true
	return Made{ID: id}, nil
}

func (d *doing) authorize(ctx context.Context, c steps.Authorize) error {
	rules, err := input.Permissions(c.Rules)
	if err != nil {
		return refuse(err)
	}
	return d.EC2.Authorize(ctx, c.Group.ID, rules)
}

func (d *doing) revoke(ctx context.Context, c steps.Revoke) error {
	rules, err := input.Permissions(c.Rules)
	if err != nil {
		return refuse(err)
	}
	return d.EC2.Revoke(ctx, c.Group.ID, rules)
}

func (d *doing) deleteSecurityGroup(ctx context.Context, c steps.DeleteSecurityGroup) error {
	_, err := d.EC2.DeleteSecurityGroup(ctx, &awsec2.DeleteSecurityGroupInput{GroupId: aws.String(c.Group.ID)})
	return err
}

// isSecurityGroup tells the IDs of EC2 from the ARNs of Elastic Load Balancing.
func isSecurityGroup(id string) bool { return strings.HasPrefix(id, "sg-") }

// tag leaves out the cluster's tag, which is there from the beginning: the policy that we ship forbids to set it later.
func (d *doing) tag(ctx context.Context, c steps.Tag) (err error) {
	tags := maps.Clone(c.Tags)
	delete(tags, stack.ClusterTag)
	switch {
	case len(tags) == 0:
	case isSecurityGroup(c.Of.ID):
		_, err = d.EC2.CreateTags(ctx, &awsec2.CreateTagsInput{Resources: []string{c.Of.ID}, Tags: input.EC2Tags(tags)})
	default:
		_, err = d.ELB.AddTags(ctx, &elbv2.AddTagsInput{ResourceArns: []string{c.Of.ID}, Tags: input.Tags(tags)})
	}
	return err
}

// untag never takes the cluster's tag.
func (d *doing) untag(ctx context.Context, c steps.Untag) (err error) {
	keys := slices.DeleteFunc(slices.Clone(c.Keys), func(key string) bool { return key == stack.ClusterTag })
	switch {
	case len(keys) == 0:
	case isSecurityGroup(c.Of.ID):
		in := &awsec2.DeleteTagsInput{Resources: []string{c.Of.ID}}
		for _, key := range keys {
			in.Tags = append(in.Tags, ec2types.Tag{Key: aws.String(key)})
		}
		_, err = d.EC2.DeleteTags(ctx, in)
	default:
		_, err = d.ELB.RemoveTags(ctx, &elbv2.RemoveTagsInput{ResourceArns: []string{c.Of.ID}, TagKeys: keys})
	}
	return err
}

// nothing is the change of a step that is there for its wait.
func (d *doing) nothing(context.Context, steps.Nothing) error { return nil }
