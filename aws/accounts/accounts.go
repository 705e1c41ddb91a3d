// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/aws/budget"
)

const (
	// attemptTimeout bounds one HTTP attempt. A RegisterTargets of 200 targets answers well within it.
	attemptTimeout = 15 * time.Second

	// maxBackoff bounds the pause between two attempts of one call, so that the first attempt after an outage comes
	// soon. Longer pauses are the caller's.
	maxBackoff = 5 * time.Second
)

// How much is remembered of roles: those that were assumed are used every few minutes while there are bindings for them,
// all others may be made up.
const (
	sessionsKept = 20_000
	sessionLife  = time.Hour
	triesKept    = 10_000
	tryLife      = 5 * time.Minute

	// accountsKept is how many accounts of assumed roles have a budget, and metrics, of their own; the others share one.
	accountsKept = 200
)

// otherAccounts names the budget that accounts share beyond accountsKept.
const otherAccounts = "other"

// Settings are what Accounts need besides the SDK's own configuration.
type Settings struct {
	// Endpoints maps SDK service IDs to base URLs; services that are not listed use AWS's.
	Endpoints map[string]string
	// Throttle are the token buckets for each account; budget.DefaultRules' of a service that has none here.
	Throttle []budget.Rule
	// MaxRetries is how often a failed call is tried again, unless the call itself says otherwise.
	MaxRetries int
	// UserAgent is "name/version" of the program.
	UserAgent string
	// Sessions say who we are in the sessions of assumed roles.
	Sessions Sessions
}

// Accounts hands out a Session for each role to assume. It is safe for concurrent use. It is a prometheus.Collector of the
// budgets' state, which the program registers.
type Accounts struct {
	config   aws.Config
	settings Settings
	clock    clock.WithDelayedExecution

	own *Session
	sts *sts.Client

	asking singleflight.Group // for the program's own account

	mu         sync.Mutex
	ownAccount string                          // its number, empty before it is known
	worked     *recent[Role, *assumedRole]     // roles that were assumed,
	untried    *recent[Role, *assumedRole]     // and those that were not yet
	refused    *recent[trust, time.Time]       // when one of the sessions that a role has refused may try it again
	budgets    *recent[string, *budget.Budget] // of the accounts of roles that were assumed, as AWS counts calls
}

// New returns the accounts over cfg, which carries the program's own identity and Region (LoadConfig). No call is made.
func New(cfg aws.Config, settings Settings) *Accounts {
	cfg.HTTPClient = withTimeout(cfg.HTTPClient)
	cfg.APIOptions = append(slices.Clone(cfg.APIOptions), awsmiddleware.AddUserAgentKey(settings.UserAgent))
	cfg.Retryer = func() aws.Retryer { return newRetryer(settings.MaxRetries) }
	if cfg.Credentials != nil {
		cfg.Credentials = bounded{cfg.Credentials}
	}
	a := &Accounts{config: cfg, settings: settings, clock: clock.RealClock{}}
	a.sts = sts.NewFromConfig(a.Config(budget.STS), func(o *sts.Options) { o.Retryer = newRetryer(assumeRetries) })
	a.own = NewSession(cfg.Credentials, budget.New("", settings.Throttle, a.clock))
	a.worked = newRecent[Role, *assumedRole](sessionsKept, sessionLife, nil)
	a.untried = newRecent[Role, *assumedRole](triesKept, tryLife, nil)
	a.refused = newRecent[trust, time.Time](triesKept, tryLife, nil)
	a.budgets = newRecent[string](accountsKept, 2*sessionLife, (*budget.Budget).Forget) // later than its roles
	return a
}

// Config is what to make a client of the service from, whose name is the SDK's. Its calls are counted, and charged to what their
// contexts say (Session.Prepare).
func (a *Accounts) Config(service string) aws.Config {
	cfg := a.config.Copy()
	if url, ok := a.settings.Endpoints[service]; ok {
		cfg.BaseEndpoint = &url
	}
	// The last one comes first behind the retry loop: the time of a request does not include the wait for its token.
	cfg.APIOptions = append(slices.Clone(cfg.APIOptions), addMetrics, budget.AddTo)
	return cfg
}

// withTimeout bounds the attempts of the SDK's own HTTP client, which may have a CA bundle of the environment's.
func withTimeout(client aws.HTTPClient) aws.HTTPClient {
	switch client := client.(type) {
	case nil:
		return awshttp.NewBuildableClient().WithTimeout(attemptTimeout)
	case *awshttp.BuildableClient:
		return client.WithTimeout(attemptTimeout)
	default:
		return client
	}
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

// Session returns the session that acts as role. Credentials of an assumed role are cached and refreshed before they
// expire, and forgotten when nobody has asked for the role for an hour. The roles of one account share its budget.
func (a *Accounts) Session(role Role) *Session {
	if role.ARN == "" {
		return a.own
	}
	role = a.settings.Sessions.known(role)
	now := a.clock.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.untried.prune(now)
	a.refused.prune(now)
	assumed, ok := a.worked.get(role, now)
	if !ok {
		assumed, ok = a.untried.get(role, now)
	}
	if !ok {
		assumed = a.assume(role)
		a.untried.put(role, assumed, now)
	}
	a.budgets.get(assumed.budgetName(), now) // keeps it
	return assumed.session
}

// hasWorked remembers that a role has been assumed, and has it use the budget of its account.
func (a *Accounts) hasWorked(ctx context.Context, r *assumedRole) {
	own := a.findOwnAccount(ctx)
	now := a.clock.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused.take(r.role.trust())
	if known, ok := a.untried.take(r.role); ok {
		a.worked.put(r.role, known, now)
	}
	r.session.budget.Store(a.budgetOf(r.role.account(), own, now))
}

// budgetOf finds the budget of an account. The caller holds the lock.
func (a *Accounts) budgetOf(account, own string, now time.Time) *budget.Budget {
	if own != "" && account == own {
		return a.own.Budget()
	}
	if known, ok := a.budgets.get(account, now); ok {
		return known
	}
	if a.budgets.len() >= accountsKept-1 {
		account = otherAccounts
		if known, ok := a.budgets.get(account, now); ok {
			return known
		}
	}
	fresh := budget.New(account, a.settings.Throttle, a.clock)
	a.budgets.put(account, fresh, now)
	return fresh
}

// findOwnAccount is the number of the program's own account, from its credentials or else from AWS, which tells everybody who
// he is; empty where that fails.
func (a *Accounts) findOwnAccount(ctx context.Context) string {
	a.mu.Lock()
	known := a.ownAccount
	a.mu.Unlock()
	if known != "" {
		return known
	}
	found, _, _ := a.asking.Do("", func() (any, error) {
		account := a.askOwnAccount(ctx)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.ownAccount = account
		return account, nil
	})
	return found.(string) // the function above returns nothing else
}

func (a *Accounts) askOwnAccount(ctx context.Context) string {
	if own, err := a.config.Credentials.Retrieve(ctx); err == nil && own.AccountID != "" {
		return own.AccountID
	}
	out, err := a.sts.GetCallerIdentity(a.chargedToSTS(ctx), &sts.GetCallerIdentityInput{}, func(o *sts.Options) {
		o.Retryer = aws.NopRetryer{}
	})
	if err != nil {
		return ""
	}
	return aws.ToString(out.Account)
}

// chargedToSTS charges calls of STS to our own account, which is how AWS counts them, in the class and for the tenant of the
// call that needs them.
func (a *Accounts) chargedToSTS(ctx context.Context) context.Context {
	c := budget.ChargeOf(ctx)
	return budget.WithCharge(ctx, budget.Charge{Budget: a.own.Budget(), Urgency: c.Class.Now(), Tenant: c.Tenant})
}
