// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/targetgate/targetgate/aws/budget"
)

// SecurityGroups describes the security groups of the IDs with all their inbound rules, in no particular order. A rule that cannot be
// read is an error, which names the group: what is not known to be there would be granted or revoked by mistake. It is else as
// Interfaces.
func (c *Client) SecurityGroups(ctx context.Context, class budget.Class, ids []string) ([]SecurityGroup, error) {
	return find(ctx, c, class, ids, lookup[SecurityGroup]{
		doing:   "describing security groups",
		unknown: groupNotFound,
		pages: func(ctx context.Context, ids []string) ([]SecurityGroup, error) {
			return c.securityGroups(ctx, class, ids)
		},
	})
}

func (c *Client) securityGroups(ctx context.Context, class budget.Class, ids []string) (out []SecurityGroup, err error) {
	pages := awsec2.NewDescribeSecurityGroupsPaginator(c.api, &awsec2.DescribeSecurityGroupsInput{GroupIds: ids})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx, attempts(class)...)
		if err != nil {
			return nil, err
		}
		if out, err = appendRead(out, page.SecurityGroups, SecurityGroupOf); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// SecurityGroupOf reads a security group as the SDK has it.
func SecurityGroupOf(g types.SecurityGroup) (SecurityGroup, error) {
	out := SecurityGroup{ID: aws.ToString(g.GroupId), VPC: aws.ToString(g.VpcId), Tags: make(map[string]string, len(g.Tags))}
	for _, tag := range g.Tags {
		out.Tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	for _, p := range g.IpPermissions {
		rules, err := expand(p)
		if err != nil {
			return SecurityGroup{}, callError("security group "+out.ID, err)
		}
		out.Ingress = append(out.Ingress, rules...)
	}
	return out, nil
}

// Authorize adds inbound rules to the security group, no two of them equal, in one call of one attempt; without rules it makes no call.
// EC2 adds all of them or, on a refusal (awserr.HadNoEffect), none; on another error it may have added them.
//
// The SDK does not try again: if an attempt that got no answer has had its effect, the next one is refused as a duplicate, which then says
// nothing of whether the other rules are there. And the rules of the next attempt may be others. So it is for the caller to read the
// group again.
func (c *Client) Authorize(ctx context.Context, class budget.Class, group string, rules []Permission) error {
	if len(rules) == 0 {
		return nil
	}
	err := c.change(ctx, class, "AuthorizeSecurityGroupIngress", func(ctx context.Context) error {
		in := &awsec2.AuthorizeSecurityGroupIngressInput{GroupId: &group, IpPermissions: compose(rules)}
		_, err := c.api.AuthorizeSecurityGroupIngress(ctx, in, once)
		return err
	})
	return callError("adding rules to security group "+group, err)
}

// Revoke removes inbound rules from the security group, whatever their descriptions, in one call of one attempt as Authorize does. EC2
// removes all of them or, on a refusal, none. After a nil error none is there any longer: in a default VPC EC2 takes no offence at rules
// that are not there, elsewhere it refuses the call (IsRuleNotFound).
func (c *Client) Revoke(ctx context.Context, class budget.Class, group string, rules []Permission) error {
	if len(rules) == 0 {
		return nil
	}
	bare := make([]Permission, len(rules))
	for i, rule := range rules {
		bare[i].Rule = rule.Rule // EC2 needs no description, and might compare it
	}
	err := c.change(ctx, class, "RevokeSecurityGroupIngress", func(ctx context.Context) error {
		in := &awsec2.RevokeSecurityGroupIngressInput{GroupId: &group, IpPermissions: compose(bare)}
		_, err := c.api.RevokeSecurityGroupIngress(ctx, in, once)
		return err
	})
	return callError("removing rules from security group "+group, err)
}

// change takes a token for the only attempt of the operation, and makes the call.
func (c *Client) change(ctx context.Context, class budget.Class, operation string, call func(context.Context) error) error {
	ctx, err := c.session.Prepare(ctx, class, c.tenant)
	if err != nil {
		return err
	}
	charge := budget.ChargeOf(ctx)
	token, err := charge.Budget.Take(ctx, budget.EC2, operation)
	if err != nil {
		return err
	}
	defer token.Answered()
	return call(budget.WithCharge(ctx, charge.Paid()))
}
