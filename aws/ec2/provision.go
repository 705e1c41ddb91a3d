// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/budget"
)

// Provisioner makes and deletes security groups, and reads what load balancers are made in, of the program's own account. Its calls have
// the names and the types of the SDK's, apart from Authorize and Revoke, which are Client's; an error says what was being done to what. It
// is safe for concurrent use and holds no lock during a call.
type Provisioner struct {
	api    *awsec2.Client
	client *Client
	class  budget.Class
}

// NewProvisioner returns one whose calls are charged to the class. No call is made.
func NewProvisioner(a *accounts.Accounts, class budget.Class) *Provisioner {
	api := awsec2.NewFromConfig(a.Config(ServiceID))
	return &Provisioner{api: api, client: &Client{api: api, session: a.Session(accounts.Role{})}, class: class}
}

// For returns a Provisioner that charges its calls to the tenant, as Client.For.
func (p *Provisioner) For(tenant string) *Provisioner {
	copied := *p
	copied.client = p.client.For(tenant)
	return &copied
}

// As returns a Provisioner that charges its calls to the class.
func (p *Provisioner) As(class budget.Class) *Provisioner {
	copied := *p
	copied.class = class
	return &copied
}

// Authorize is Client.Authorize.
func (p *Provisioner) Authorize(ctx context.Context, group string, rules []Permission) error {
	return p.client.Authorize(ctx, p.class, group, rules)
}

// Revoke is Client.Revoke.
func (p *Provisioner) Revoke(ctx context.Context, group string, rules []Permission) error {
	return p.client.Revoke(ctx, p.class, group, rules)
}

// CreateSecurityGroup makes a security group. EC2 knows no token by which it would notice that it is asked twice.
func (p *Provisioner) CreateSecurityGroup(ctx context.Context, in *awsec2.CreateSecurityGroupInput) (
	*awsec2.CreateSecurityGroupOutput, error,
) {
	return call(ctx, p, "creating security group "+aws.ToString(in.GroupName), (*awsec2.Client).CreateSecurityGroup, in)
}

// DeleteSecurityGroup deletes a security group that nothing uses.
func (p *Provisioner) DeleteSecurityGroup(ctx context.Context, in *awsec2.DeleteSecurityGroupInput) (
	*awsec2.DeleteSecurityGroupOutput, error,
) {
	return call(ctx, p, "deleting security group "+aws.ToString(in.GroupId), (*awsec2.Client).DeleteSecurityGroup, in)
}

// CreateTags adds tags, and replaces their values.
func (p *Provisioner) CreateTags(ctx context.Context, in *awsec2.CreateTagsInput) (*awsec2.CreateTagsOutput, error) {
	return call(ctx, p, fmt.Sprint("adding tags to ", in.Resources), (*awsec2.Client).CreateTags, in)
}

// DeleteTags removes tags.
func (p *Provisioner) DeleteTags(ctx context.Context, in *awsec2.DeleteTagsInput) (*awsec2.DeleteTagsOutput, error) {
	return call(ctx, p, fmt.Sprint("removing tags from ", in.Resources), (*awsec2.Client).DeleteTags, in)
}

// operation is a call of the SDK's client.
type operation[In, Out any] func(*awsec2.Client, context.Context, *In, ...func(*awsec2.Options)) (*Out, error)

// call makes one call; the error says what was being done.
func call[In, Out any](ctx context.Context, p *Provisioner, doing string, do operation[In, Out], in *In) (*Out, error) {
	ctx, err := p.client.session.Prepare(ctx, p.class, p.client.tenant)
	if err != nil {
		return nil, callError(doing, err)
	}
	out, err := do(p.api, ctx, in)
	if err != nil {
		return nil, callError(doing, err)
	}
	return out, nil
}

// paged makes calls until there is no further page. Next takes in a page, and has the input ask for the one after it; it returns false
// when there is none.
func paged[In, Out any](
	ctx context.Context, p *Provisioner, doing string, do operation[In, Out], in *In, next func(*In, *Out) bool,
) error {
	for asked := *in; ; {
		page, err := call(ctx, p, doing, do, &asked)
		if err != nil {
			return err
		}
		if !next(&asked, page) {
			return nil
		}
	}
}

// follow has the token be that of the next page. It reports whether there is one.
func follow(token **string, next *string) bool {
	*token = next
	return aws.ToString(next) != ""
}

// SecurityGroupOf reads a security group as the SDK has it.
func SecurityGroupOf(group types.SecurityGroup) (SecurityGroup, error) { return securityGroup(group) }
