// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wafclassic is the only way to AWS WAF Classic, which AWS has retired: which of its web ACLs guards a load balancer.
package wafclassic

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/wafregional"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/budget"
)

// ErrNoService is the answer where a Region does not have the service: the name of its endpoint does not exist. The SDK has a name for each
// Region, so that nothing else tells.
var ErrNoService = errors.New("this Region has no AWS WAF Classic")

// Client reads and changes which web ACL guards a load balancer, in the program's own account. It is safe for concurrent use and holds no
// lock during a call.
type Client struct {
	calls accounts.Caller[wafregional.Client]
}

// NewClient returns the client whose calls are charged to the class. No call is made.
func NewClient(a *accounts.Accounts, class budget.Class) *Client {
	return &Client{accounts.NewCaller(a, wafregional.NewFromConfig(a.Config(budget.WAFClassic)), class)}
}

// WebACL is the ID of the web ACL that guards the load balancer, "" for none, as in a Region without the service.
func (c *Client) WebACL(ctx context.Context, loadBalancer string) (string, error) {
	out, err := call(ctx, c, "getting the web ACL of AWS WAF Classic of load balancer "+loadBalancer,
		(*wafregional.Client).GetWebACLForResource, &wafregional.GetWebACLForResourceInput{ResourceArn: &loadBalancer})
	switch {
	case errors.Is(err, ErrNoService) || err == nil && out.WebACLSummary == nil:
		return "", nil
	case err != nil:
		return "", err
	}
	return aws.ToString(out.WebACLSummary.WebACLId), nil
}

// Named is the ID if a web ACL has it, "" if none has. Its error is ErrNoService in a Region without the service.
func (c *Client) Named(ctx context.Context, id string) (string, error) {
	_, err := call(ctx, c, "getting web ACL "+id+" of AWS WAF Classic", (*wafregional.Client).GetWebACL,
		&wafregional.GetWebACLInput{WebACLId: &id})
	switch {
	case awserr.HasCode(err, "WAFNonexistentItemException"):
		return "", nil
	case err != nil:
		return "", err
	}
	return id, nil
}

// Associate has the web ACL guard the load balancer, in place of another one.
func (c *Client) Associate(ctx context.Context, loadBalancer, webACL string) error {
	_, err := call(ctx, c, fmt.Sprintf("associating web ACL %s of AWS WAF Classic with load balancer %s", webACL, loadBalancer),
		(*wafregional.Client).AssociateWebACL, &wafregional.AssociateWebACLInput{ResourceArn: &loadBalancer, WebACLId: &webACL})
	return err
}

// Disassociate leaves the load balancer without a web ACL of the service.
func (c *Client) Disassociate(ctx context.Context, loadBalancer string) error {
	_, err := call(ctx, c, "disassociating the web ACL of AWS WAF Classic of load balancer "+loadBalancer,
		(*wafregional.Client).DisassociateWebACL, &wafregional.DisassociateWebACLInput{ResourceArn: &loadBalancer})
	return err
}

// call makes one call; the error says what was being done, or is ErrNoService.
func call[In, Out any](
	ctx context.Context, c *Client, doing string,
	do func(*wafregional.Client, context.Context, *In, ...func(*wafregional.Options)) (*Out, error), in *In,
) (*Out, error) {
	out, err := accounts.Call(ctx, c.calls, doing,
		func(client *wafregional.Client, ctx context.Context, in *In, options ...func(*wafregional.Options)) (*Out, error) {
			out, err := do(client, ctx, in, options...)
			if name := (*net.DNSError)(nil); errors.As(err, &name) && name.IsNotFound { // of the service, not of who gives us credentials
				return nil, ErrNoService
			}
			return out, err
		}, in)
	if errors.Is(err, ErrNoService) {
		return nil, ErrNoService
	}
	return out, err
}
