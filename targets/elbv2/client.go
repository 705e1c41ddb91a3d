// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
)

// Client reads and changes target groups of one account. It is safe for concurrent use and holds no lock during a
// call.
type Client struct {
	api      API
	readings *readings
	session  *session
	tenant   string
}

// session is an identity to make calls with, and the budget of its account.
type session struct {
	credentials aws.CredentialsProvider // nil when the API needs none, or has the program's own
	budget      atomic.Pointer[Budget]  // nil before there were credentials
}

func newSession(credentials aws.CredentialsProvider, budget *Budget) *session {
	s := &session{credentials: credentials}
	s.budget.Store(budget)
	return s
}

// New returns a Client over api, which takes its calls' tokens from budget.
func New(api API, budget *Budget) *Client {
	return &Client{api: api, readings: &readings{}, session: newSession(nil, budget)}
}

// For returns a client that charges its calls to the tenant, such as a namespace: within each class the tenants take turns.
// A tenant that is not named is one like others. It costs little, and shares all but that with c.
func (c *Client) For(tenant string) *Client {
	copied := *c
	copied.tenant = tenant
	return &copied
}

// Abroad reports whether the client acts in another account than the program's own, or in one that may be: there the names of
// Availability Zones may be those of other zones. Before the client's role has been assumed it is false.
func (c *Client) Abroad() bool {
	budget := c.session.budget.Load()
	return budget != nil && budget.account != ""
}

// prepare makes sure that there are credentials, and returns the context for the calls of that class. It comes before a
// token is taken: to get credentials takes time, in which calls would gather behind their tokens and then reach AWS all at
// once, and a role that cannot be assumed costs no token at all.
func (c *Client) prepare(ctx context.Context, class Class) (context.Context, error) {
	paying := charge{class: class, tenant: c.tenant}
	if c.session.credentials != nil {
		if _, err := c.session.credentials.Retrieve(withCharge(ctx, paying)); err != nil {
			return nil, err
		}
	}
	paying.budget = c.session.budget.Load()
	return withCharge(ctx, paying), nil
}

// bucketFor is the bucket that rations the operation; nil when none does, or when the client's role has not been assumed yet.
func (c *Client) bucketFor(operation string) *bucket {
	if budget := c.session.budget.Load(); budget != nil {
		return budget.bucketFor(operation)
	}
	return nil
}

// options are those of a call, which are to act with the client's credentials.
func (c *Client) options(further ...func(*awselbv2.Options)) []func(*awselbv2.Options) {
	if c.session.credentials == nil {
		return further
	}
	return append(further, func(o *awselbv2.Options) { o.Credentials = c.session.credentials })
}

// callError says what was being done to what; nil stays nil.
func callError(doing, what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", doing, what, err)
}
