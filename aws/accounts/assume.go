// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"

	"github.com/targetgate/targetgate/aws/awserr"
)

const (
	// assumedFor is how long credentials last: what every role allows, and as long as a role may be assumed by a role.
	assumedFor = time.Hour

	// expiryWindow is how long before they expire credentials are replaced, less up to expiryJitter of it so that the
	// roles that were assumed together are not always assumed together.
	expiryWindow = time.Minute
	expiryJitter = 0.5

	// assumeRetries is how often AssumeRole is tried again. It is few, as the callers come again and wait meanwhile.
	assumeRetries = 2

	// After a failure a role is not tried again for a pause that doubles up to the longest. A refusal lasts until somebody
	// changes a policy; any other failure may be over at any moment.
	firstPause          = time.Second
	longestPause        = 5 * time.Second
	longestRefusedPause = 30 * time.Second

	// refusedEvery is how often a role is tried that has refused sessions of several bindings, by those together. A session
	// that was not tried yet does not wait: its binding may be the one that the role's trust policy names.
	refusedEvery = 5 * time.Second
)

// assumedRole is a role assumed for a binding. The cache in front of it has it retrieve one after the other.
type assumedRole struct {
	role     Role
	accounts *Accounts
	provider aws.CredentialsProvider
	session  *Session

	failure  error // of the last attempt, nil after a success
	failures int   // in a row
	retryAt  time.Time
}

// assume returns the role, cached and replaced before it expires. It makes no call.
func (a *Accounts) assume(role Role) *assumedRole {
	r := &assumedRole{role: role, accounts: a}
	r.provider = stscreds.NewAssumeRoleProvider(a.sts, role.ARN, func(o *stscreds.AssumeRoleOptions) {
		o.RoleSessionName = a.settings.Sessions.name(role)
		o.Tags = a.settings.Sessions.tags(role)
		o.Duration = assumedFor
		if role.ExternalID != "" {
			o.ExternalID = &role.ExternalID
		}
	})
	r.session = NewSession(aws.NewCredentialsCache(r, func(o *aws.CredentialsCacheOptions) {
		o.ExpiryWindow, o.ExpiryWindowJitterFrac = expiryWindow, expiryJitter
	}), nil)
	return r
}

// budgetName is that of the budget which the role uses, empty before it has one.
func (r *assumedRole) budgetName() string {
	if b := r.session.Budget(); b != nil {
		return b.Account()
	}
	return ""
}

// Retrieve assumes the role. For some time after a failure it answers with that without asking.
func (r *assumedRole) Retrieve(ctx context.Context) (aws.Credentials, error) {
	now := r.accounts.clock.Now()
	if r.failure != nil && (now.Before(r.retryAt) || awserr.IsRoleRefused(r.failure) && !r.accounts.mayTry(r.role, now)) {
		return aws.Credentials{}, r.failure
	}
	credentials, err := r.provider.Retrieve(r.accounts.chargedToSTS(ctx))
	if err != nil {
		r.failed(&awserr.RoleError{ARN: r.role.ARN, ExternalID: r.role.ExternalID, Err: err})
		return aws.Credentials{}, r.failure
	}
	r.failure, r.failures = nil, 0
	r.accounts.hasWorked(ctx, r)
	return credentials, nil
}

func (r *assumedRole) failed(err error) {
	longest := longestPause
	if awserr.IsRoleRefused(err) {
		longest = longestRefusedPause
	}
	pause := min(firstPause<<min(r.failures, 10), longest)
	now := r.accounts.clock.Now()
	r.failure, r.failures = err, r.failures+1
	r.retryAt = now.Add(pause - rand.N(pause/5+1))
}

// mayTry reports whether a session that the role has refused may try again, which keeps the others from it for a while.
func (a *Accounts) mayTry(role Role, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at, ok := a.refused.take(role.trust()); ok && now.Before(at) {
		a.refused.put(role.trust(), at, now)
		return false
	}
	a.refused.put(role.trust(), now.Add(refusedEvery), now)
	return true
}
