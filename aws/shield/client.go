// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package shield is the only way to AWS Shield Advanced: which load balancers it protects.
package shield

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsshield "github.com/aws/aws-sdk-go-v2/service/shield"
	"github.com/aws/aws-sdk-go-v2/service/shield/types"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/budget"
)

// ServiceID is the SDK's name of the service.
const ServiceID = budget.Shield

// names are those of protections that are ours: the incumbent's, and that of its former version.
var names = []string{"managed by aws-load-balancer-controller", "managed by aws-alb-ingress-controller"}

// Client reads and changes protections, in the program's own account. It is safe for concurrent use and holds no lock during a call.
type Client struct {
	api     *awsshield.Client
	session *accounts.Session
	class   budget.Class
}

// NewClient returns the client whose calls are charged to the class. No call is made.
func NewClient(a *accounts.Accounts, class budget.Class) *Client {
	return &Client{api: awsshield.NewFromConfig(a.Config(ServiceID)), session: a.Session(accounts.Role{}), class: class}
}

// Subscribed reports whether the account has a subscription.
func (c *Client) Subscribed(ctx context.Context) (bool, error) {
	out, err := call(ctx, c, "getting the state of the subscription", (*awsshield.Client).GetSubscriptionState,
		&awsshield.GetSubscriptionStateInput{})
	return err == nil && out.SubscriptionState == types.SubscriptionStateActive, err
}

// Protection is that of a load balancer, and whether it is ours. It has no ID when there is none.
func (c *Client) Protection(ctx context.Context, loadBalancer string) (id string, own bool, err error) {
	out, err := call(ctx, c, "describing the protection of load balancer "+loadBalancer, (*awsshield.Client).DescribeProtection,
		&awsshield.DescribeProtectionInput{ResourceArn: &loadBalancer})
	switch {
	case awserr.HasCode(err, "ResourceNotFoundException") || err == nil && out.Protection == nil:
		return "", false, nil
	case err != nil:
		return "", false, err
	}
	return aws.ToString(out.Protection.Id), slices.Contains(names, aws.ToString(out.Protection.Name)), nil
}

// Protect has a load balancer be protected.
func (c *Client) Protect(ctx context.Context, loadBalancer string) error {
	_, err := call(ctx, c, "protecting load balancer "+loadBalancer, (*awsshield.Client).CreateProtection,
		&awsshield.CreateProtectionInput{Name: aws.String(names[0]), ResourceArn: &loadBalancer})
	if awserr.HasCode(err, "ResourceAlreadyExistsException") {
		return nil
	}
	return err
}

// Unprotect ends a protection.
func (c *Client) Unprotect(ctx context.Context, id string) error {
	_, err := call(ctx, c, "deleting protection "+id, (*awsshield.Client).DeleteProtection,
		&awsshield.DeleteProtectionInput{ProtectionId: &id})
	if awserr.HasCode(err, "ResourceNotFoundException") {
		return nil
	}
	return err
}

// call makes one call; the error says what was being done.
func call[In, Out any](
	ctx context.Context, c *Client, doing string,
	do func(*awsshield.Client, context.Context, *In, ...func(*awsshield.Options)) (*Out, error), in *In,
) (*Out, error) {
	ctx, err := c.session.Prepare(ctx, c.class, "")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	out, err := do(c.api, ctx, in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return out, nil
}
