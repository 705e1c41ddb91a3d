// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"fmt"

	awselbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/budget"
)

// Clients hands out a Client for each role to assume. It is safe for concurrent use.
type Clients struct {
	accounts *accounts.Accounts
	api      API
	readings *readings
}

// NewClients returns the clients of the accounts. No call is made.
func NewClients(a *accounts.Accounts) *Clients {
	return &Clients{accounts: a, api: awselbv2.NewFromConfig(a.Config(budget.ELBv2)), readings: &readings{}}
}

// Client returns the client that acts as role.
func (c *Clients) Client(role accounts.Role) *Client {
	return &Client{api: c.api, readings: c.readings, session: c.accounts.Session(role)}
}

// Client reads and changes target groups of one account. It is safe for concurrent use and holds no lock during a
// call.
type Client struct {
	api      API
	readings *readings
	session  *accounts.Session
	tenant   string
}

// New returns a Client over api, which takes its calls' tokens from b.
func New(api API, b *budget.Budget) *Client {
	return &Client{api: api, readings: &readings{}, session: accounts.NewSession(nil, b)}
}

// For returns a client that charges its calls to the tenant, such as a namespace: within each class the tenants take turns.
// A tenant that is not named is one like others. It costs little, and shares all but that with c.
func (c *Client) For(tenant string) *Client {
	copied := *c
	copied.tenant = tenant
	return &copied
}

// Abroad reports whether the client acts in another account than the program's own (accounts.Session).
func (c *Client) Abroad() bool { return c.session.Abroad() }

// options are those of a call, which are to act with the client's credentials.
func (c *Client) options(further ...func(*awselbv2.Options)) []func(*awselbv2.Options) {
	if c.session.Credentials() == nil {
		return further
	}
	return append(further, func(o *awselbv2.Options) { o.Credentials = c.session.Credentials() })
}

// callError says what was being done to what; nil stays nil.
func callError(doing, what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", doing, what, err)
}
