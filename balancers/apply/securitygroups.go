// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"slices"

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
		return Made{}, &foreignError{what: "security group", name: c.Group.Name, holder: id}
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

// exchange removes from a security group what the plan removes later, and then adds the rules: EC2 has refused them beside the others. It
// counts a prefix list for all entries that this may have. If there is no room even so, what was removed comes back.
func (d *doing) exchange(ctx context.Context, c steps.Authorize, full error) error {
	step, revoke := d.surplus(c.Group.ID)
	if len(revoke.Rules) == 0 || d.blocked.isLeftOut(revoke, removes) {
		return full
	}
	groups := securityGroups{d.EC2, d.owner(), d.VPC}
	if err := groups.revoke(ctx, revoke); err != nil {
		return err
	}
	if err := groups.authorize(ctx, c); err != nil {
		d.uncertain = true
		return errors.Join(err, groups.authorize(ctx, steps.Authorize(revoke)))
	}
	d.exchanged = append(d.exchanged, revoke.Group.ID)
	d.done(step, revoke, Made{})
	return nil
}

// surplus is the step that is yet to remove rules of a security group.
func (d *doing) surplus(group string) (yet steps.Step, revoke steps.Revoke) {
	added := false
	for _, step := range d.pass.Plan {
		switch c := step.Change.(type) {
		case steps.Authorize:
			added = added || c.Group.ID == group
		case steps.Revoke:
			if added && c.Group.ID == group {
				return step, c
			}
		}
	}
	return yet, revoke
}

// isExchanged reports whether a change was made before its turn.
func (d *doing) isExchanged(change steps.Change) bool {
	c, ok := change.(steps.Revoke)
	return ok && slices.Contains(d.exchanged, c.Group.ID)
}
