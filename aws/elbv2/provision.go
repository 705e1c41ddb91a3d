// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/budget"
)

// Provisioner makes, changes and reads load balancers and what belongs to them, of the program's own account. Its calls have the names and
// the types of the SDK's; an error says what was being done to what. It is safe for concurrent use and holds no lock during a call.
type Provisioner struct {
	api     *awselbv2.Client
	session *accounts.Session
	class   budget.Class
	tenant  string
}

// NewProvisioner returns one whose calls are charged to the class. No call is made.
func NewProvisioner(a *accounts.Accounts, class budget.Class) *Provisioner {
	return &Provisioner{api: awselbv2.NewFromConfig(a.Config(ServiceID)), session: a.Session(accounts.Role{}), class: class}
}

// For returns a Provisioner that charges its calls to the tenant, as Client.For.
func (p *Provisioner) For(tenant string) *Provisioner {
	copied := *p
	copied.tenant = tenant
	return &copied
}

// As returns a Provisioner that charges its calls to the class.
func (p *Provisioner) As(class budget.Class) *Provisioner {
	copied := *p
	copied.class = class
	return &copied
}

// operation is a call of the SDK's client.
type operation[In, Out any] func(*awselbv2.Client, context.Context, *In, ...func(*awselbv2.Options)) (*Out, error)

// call makes one call; the error says what was being done to what.
func call[In, Out any](
	ctx context.Context, p *Provisioner, doing string, what *string, do operation[In, Out], in *In,
) (*Out, error) {
	ctx, err := p.session.Prepare(ctx, p.class, p.tenant)
	if err != nil {
		return nil, about(doing, what, err)
	}
	var options []func(*awselbv2.Options)
	if credentials := p.session.Credentials(); credentials != nil {
		options = append(options, func(o *awselbv2.Options) { o.Credentials = credentials })
	}
	out, err := do(p.api, ctx, in, options...)
	if err != nil {
		return nil, about(doing, what, err)
	}
	return out, nil
}

// about says what was being done to what, if it has a name.
func about(doing string, what *string, err error) error {
	if aws.ToString(what) == "" {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return fmt.Errorf("%s %s: %w", doing, *what, err)
}

// paged makes calls until there is no further page. Next takes in a page, and has the input ask for the one after it; it returns false
// when there is none.
func paged[In, Out any](
	ctx context.Context, p *Provisioner, doing string, what *string, do operation[In, Out], in *In, next func(*In, *Out) bool,
) error {
	for asked := *in; ; {
		page, err := call(ctx, p, doing, what, do, &asked)
		if err != nil {
			return err
		}
		if !next(&asked, page) {
			return nil
		}
	}
}

// follow has the marker be that of the next page. It reports whether there is one.
func follow(marker **string, next *string) bool {
	*marker = next
	return aws.ToString(next) != ""
}

// one is the only of the names, for the texts of errors; nil when there are none or several.
func one(names []string) *string {
	if len(names) != 1 {
		return nil
	}
	return &names[0]
}
