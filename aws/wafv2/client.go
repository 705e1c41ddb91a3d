// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wafv2 is the only way to AWS WAF: which web ACL guards a load balancer.
package wafv2

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	awswafv2 "github.com/aws/aws-sdk-go-v2/service/wafv2"
	"github.com/aws/aws-sdk-go-v2/service/wafv2/types"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/budget"
)

// Client reads and changes which web ACL guards a load balancer, in the program's own account. It is safe for concurrent use and holds no
// lock during a call.
type Client struct {
	calls accounts.Caller[awswafv2.Client]
}

// NewClient returns the client whose calls are charged to the class. No call is made.
func NewClient(a *accounts.Accounts, class budget.Class) *Client {
	return &Client{accounts.NewCaller(a, awswafv2.NewFromConfig(a.Config(budget.WAFv2)), class)}
}

// WebACL is the ARN of the web ACL that guards the load balancer, "" for none.
func (c *Client) WebACL(ctx context.Context, loadBalancer string) (string, error) {
	out, err := accounts.Call(ctx, c.calls, "getting the web ACL of load balancer "+loadBalancer, (*awswafv2.Client).GetWebACLForResource,
		&awswafv2.GetWebACLForResourceInput{ResourceArn: &loadBalancer})
	if err != nil || out.WebACL == nil {
		return "", err
	}
	return aws.ToString(out.WebACL.ARN), nil
}

// Named is the ARN of the regional web ACL of that name, "" if there is none.
func (c *Client) Named(ctx context.Context, name string) (string, error) {
	in := &awswafv2.ListWebACLsInput{Scope: types.ScopeRegional}
	for {
		page, err := accounts.Call(ctx, c.calls, "listing web ACLs", (*awswafv2.Client).ListWebACLs, in)
		if err != nil {
			return "", err
		}
		for _, acl := range page.WebACLs {
			if aws.ToString(acl.Name) == name {
				return aws.ToString(acl.ARN), nil
			}
		}
		if in.NextMarker = page.NextMarker; aws.ToString(in.NextMarker) == "" || len(page.WebACLs) == 0 {
			return "", nil
		}
	}
}

// Associate has the web ACL guard the load balancer, in place of another one.
func (c *Client) Associate(ctx context.Context, loadBalancer, webACL string) error {
	_, err := accounts.Call(ctx, c.calls, fmt.Sprintf("associating web ACL %s with load balancer %s", webACL, loadBalancer),
		(*awswafv2.Client).AssociateWebACL, &awswafv2.AssociateWebACLInput{ResourceArn: &loadBalancer, WebACLArn: &webACL})
	return err
}

// Disassociate leaves the load balancer without a web ACL.
func (c *Client) Disassociate(ctx context.Context, loadBalancer string) error {
	_, err := accounts.Call(ctx, c.calls, "disassociating the web ACL of load balancer "+loadBalancer,
		(*awswafv2.Client).DisassociateWebACL, &awswafv2.DisassociateWebACLInput{ResourceArn: &loadBalancer})
	return err
}
