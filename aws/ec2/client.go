// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/budget"
)

// Client reads network interfaces, instances and security groups, and changes the groups' inbound rules, of the program's own
// account: EC2 is called with no other identity. It is safe for concurrent use and holds no lock during a call.
type Client struct {
	api     API
	session *accounts.Session
	tenant  string
}

// NewClient returns the client of the program's own account. No call is made.
func NewClient(a *accounts.Accounts) *Client {
	return &Client{api: awsec2.NewFromConfig(a.Config(budget.EC2)), session: a.Session(accounts.Role{})}
}

// New returns a Client over api, which takes its calls' tokens from b.
func New(api API, b *budget.Budget) *Client {
	return &Client{api: api, session: accounts.NewSession(nil, b)}
}

// For returns a client that charges its calls to the tenant, such as a namespace: within each class the tenants take turns.
// A tenant that is not named is one like others. It costs little, and shares all but that with c.
func (c *Client) For(tenant string) *Client {
	copied := *c
	copied.tenant = tenant
	return &copied
}

// briefAttempts is how often a call is tried at most that a user waits for: the pauses between them take 6 s at most, so
// that AWS's last word comes before the end of the API server's patience.
const briefAttempts = 3

// attempts bounds the attempts of a reading of that class.
func attempts(class budget.Class) []func(*awsec2.Options) {
	if class == budget.ClassAdmission {
		return []func(*awsec2.Options){brief}
	}
	return nil
}

func brief(o *awsec2.Options) {
	o.Retryer = retry.AddWithMaxAttempts(o.Retryer, min(o.Retryer.MaxAttempts(), briefAttempts))
}

// once keeps the SDK from trying again.
func once(o *awsec2.Options) { o.Retryer = aws.NopRetryer{} }

// callError says what was being done; nil stays nil.
func callError(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
