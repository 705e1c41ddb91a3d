// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awselbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"k8s.io/utils/clock"
)

const (
	// serviceID is the SDK's name of the service, as used in --aws-api-endpoints and --aws-api-throttle.
	serviceID = "Elastic Load Balancing v2"

	// attemptTimeout bounds one HTTP attempt. A RegisterTargets of 200 targets answers well within it.
	attemptTimeout = 15 * time.Second

	// maxBackoff bounds the pause between two attempts of one call, so that the first attempt after an outage comes
	// soon. Longer pauses are the caller's.
	maxBackoff = 5 * time.Second
)

// Settings are what a Client needs besides the SDK's own configuration.
type Settings struct {
	// Endpoints maps SDK service IDs to base URLs; services that are not listed use AWS's.
	Endpoints map[string]string
	// Throttle are the token buckets for each account; DefaultThrottle when empty.
	Throttle []ThrottleRule
	// MaxRetries is how often a failed call is tried again; Register, Deregister and Health leave that to their caller.
	MaxRetries int
	// UserAgent is "name/version" of the program.
	UserAgent string
}

// Accounts hands out a Client for each role to assume. It is safe for concurrent use. It is a prometheus.Collector of the
// budgets' state, which the program registers.
type Accounts struct {
	config   aws.Config
	settings Settings

	mu      sync.Mutex
	clients map[Role]*Client
	budgets map[string]*Budget // by account, as AWS counts calls; empty for the program's own
}

// NewAccounts returns the clients over cfg, which carries the program's own identity and Region. No call is made.
func NewAccounts(cfg aws.Config, settings Settings) *Accounts {
	cfg.HTTPClient = awshttp.NewBuildableClient().WithTimeout(attemptTimeout)
	cfg.APIOptions = append(cfg.APIOptions, awsmiddleware.AddUserAgentKey(settings.UserAgent))
	cfg.Retryer = func() aws.Retryer { return newRetryer(settings.MaxRetries) }
	return &Accounts{config: cfg, settings: settings, clients: map[Role]*Client{}, budgets: map[string]*Budget{}}
}

// newRetryer tries often and never runs dry: the SDK's shared retry quota would let one broken target group use up
// the retries of all others. The budget is what keeps retries in bounds.
func newRetryer(maxRetries int) aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = maxRetries + 1
		o.MaxBackoff = maxBackoff
		o.RateLimiter = ratelimit.None
	})
}

// Client returns the client that acts as role. Credentials of an assumed role are cached and refreshed before they
// expire. The roles of one account share its budget.
func (a *Accounts) Client(role Role) *Client {
	a.mu.Lock()
	defer a.mu.Unlock()
	if client, ok := a.clients[role]; ok {
		return client
	}
	budget, ok := a.budgets[role.account()]
	if !ok {
		budget = newBudget(role.account(), a.settings.Throttle, clock.RealClock{})
		a.budgets[role.account()] = budget
	}
	credentials := a.credentials(role)
	client := New(a.api(credentials, budget), budget)
	client.credentials = credentials
	a.clients[role] = client
	return client
}

func (a *Accounts) api(credentials aws.CredentialsProvider, budget *Budget) API {
	cfg := a.config.Copy()
	cfg.Credentials = credentials
	return awselbv2.NewFromConfig(cfg, func(o *awselbv2.Options) {
		o.BaseEndpoint = endpoint(a.settings.Endpoints, serviceID)
		// The last one comes first behind the retry loop: the time of a request does not include the wait for its token.
		o.APIOptions = append(o.APIOptions, addMetrics, budget.addTo)
	})
}

func endpoint(endpoints map[string]string, service string) *string {
	if url, ok := endpoints[service]; ok {
		return &url
	}
	return nil
}

// Client reads and changes target groups of one account. It is safe for concurrent use and holds no lock during a
// call.
type Client struct {
	api         API
	budget      *Budget
	credentials aws.CredentialsProvider // nil when api needs none
	tenant      string
}

// New returns a Client over api, which takes its calls' tokens from budget.
func New(api API, budget *Budget) *Client {
	return &Client{api: api, budget: budget}
}

// For returns a client that charges its calls to the tenant, such as a namespace: within each class the tenants take turns.
// A tenant that is not named is one like others. It costs little, and shares all but that with c.
func (c *Client) For(tenant string) *Client {
	copied := *c
	copied.tenant = tenant
	return &copied
}

// charge is what a call of that class is charged to.
func (c *Client) charge(class Class) charge {
	return charge{class: class, tenant: c.tenant}
}

// identify makes sure that there are credentials before a token is taken: to get them takes time, in which calls would
// gather behind their tokens and then reach AWS all at once, and a role that cannot be assumed costs no token at all.
func (c *Client) identify(ctx context.Context) error {
	if c.credentials == nil {
		return nil
	}
	_, err := c.credentials.Retrieve(ctx)
	return err
}

// callError says what was being done to what; nil stays nil.
func callError(doing, what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", doing, what, err)
}
