// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package provision

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/ec2"
)

// EC2 makes, changes and deletes security groups, and reads what load balancers are made in. It is safe for concurrent use.
type EC2 struct {
	calls  accounts.Caller[awsec2.Client]
	groups *ec2.Client // for their rules
	class  budget.Class
}

// NewEC2 returns one whose calls are charged to the class. No call is made.
func NewEC2(a *accounts.Accounts, class budget.Class) *EC2 {
	return &EC2{accounts.NewCaller(a, awsec2.NewFromConfig(a.Config(budget.EC2)), class), ec2.NewClient(a), class}
}

// Authorize adds inbound rules to a security group, all or none.
func (e *EC2) Authorize(ctx context.Context, group string, rules []ec2.Permission) error {
	return e.groups.Authorize(ctx, e.class, group, rules)
}

// Revoke removes inbound rules from a security group, all or none.
func (e *EC2) Revoke(ctx context.Context, group string, rules []ec2.Permission) error {
	return e.groups.Revoke(ctx, e.class, group, rules)
}

// CreateSecurityGroup makes a security group. EC2 knows no token by which it would notice that it is asked twice.
func (e *EC2) CreateSecurityGroup(ctx context.Context, in *awsec2.CreateSecurityGroupInput) (
	*awsec2.CreateSecurityGroupOutput, error,
) {
	return accounts.Call(ctx, e.calls, "creating security group "+aws.ToString(in.GroupName), (*awsec2.Client).CreateSecurityGroup, in)
}

// DeleteSecurityGroup deletes a security group that nothing uses.
func (e *EC2) DeleteSecurityGroup(ctx context.Context, in *awsec2.DeleteSecurityGroupInput) (
	*awsec2.DeleteSecurityGroupOutput, error,
) {
	return accounts.Call(ctx, e.calls, "deleting security group "+aws.ToString(in.GroupId), (*awsec2.Client).DeleteSecurityGroup, in)
}

// CreateTags adds tags, and replaces their values.
func (e *EC2) CreateTags(ctx context.Context, in *awsec2.CreateTagsInput) (*awsec2.CreateTagsOutput, error) {
	return accounts.Call(ctx, e.calls, fmt.Sprint("adding tags to ", in.Resources), (*awsec2.Client).CreateTags, in)
}

// DeleteTags removes tags.
func (e *EC2) DeleteTags(ctx context.Context, in *awsec2.DeleteTagsInput) (*awsec2.DeleteTagsOutput, error) {
	return accounts.Call(ctx, e.calls, fmt.Sprint("removing tags from ", in.Resources), (*awsec2.Client).DeleteTags, in)
}
