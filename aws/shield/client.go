// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package shield is the only way to AWS Shield Advanced: which load balancers it protects.
package shield

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsshield "github.com/aws/aws-sdk-go-v2/service/shield"
	"github.com/aws/aws-sdk-go-v2/service/shield/types"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/budget"
)

// names are those of protections that are ours: the incumbent's, and that of its former version.
var names = []string{"managed by aws-load-balancer-controller", "managed by aws-alb-ingress-controller"}

// Client reads and changes protections, in the program's own account. It is safe for concurrent use and holds no lock during a call.
type Client struct {
	calls accounts.Caller[awsshield.Client]
}

// NewClient returns the client whose calls are charged to the class. No call is made.
func NewClient(a *accounts.Accounts, class budget.Class) *Client {
	return &Client{accounts.NewCaller(a, awsshield.NewFromConfig(a.Config(budget.Shield)), class)}
}

// Subscribed reports whether the account has a subscription.
func (c *Client) Subscribed(ctx context.Context) (bool, error) {
	out, err := accounts.Call(ctx, c.calls, "getting the state of the subscription", (*awsshield.Client).GetSubscriptionState,
		&awsshield.GetSubscriptionStateInput{})
	return err == nil && out.SubscriptionState == types.SubscriptionStateActive, err
}

// Protection is that of a load balancer, and whether it is ours. It has no ID when there is none.
func (c *Client) Protection(ctx context.Context, loadBalancer string) (id string, own bool, err error) {
	out, err := accounts.Call(ctx, c.calls, "describing the protection of load balancer "+loadBalancer, (*awsshield.Client).DescribeProtection,
		&awsshield.DescribeProtectionInput{ResourceArn: &loadBalancer})
	switch {
	case awserr.HasCode(err, "ResourceNotFoundException") || err == nil && out.Protection == nil:
		return "", false, nil
	case err != nil:
		return "", false, err
	}
	return aws.ToString(out.Protection.Id), slices.Contains(names, aws.ToString(out.Protection.Name)), nil
}

// Protect protects a load balancer.
func (c *Client) Protect(ctx context.Context, loadBalancer string) error {
	_, err := accounts.Call(ctx, c.calls, "protecting load balancer "+loadBalancer, (*awsshield.Client).CreateProtection,
		&awsshield.CreateProtectionInput{Name: aws.String(names[0]), ResourceArn: &loadBalancer})
	if awserr.HasCode(err, "ResourceAlreadyExistsException") {
		return nil
	}
	return err
}

// Unprotect ends a protection.
func (c *Client) Unprotect(ctx context.Context, id string) error {
	_, err := accounts.Call(ctx, c.calls, "deleting protection "+id, (*awsshield.Client).DeleteProtection,
		&awsshield.DeleteProtectionInput{ProtectionId: &id})
	if awserr.HasCode(err, "ResourceNotFoundException") {
		return nil
	}
	return err
}
