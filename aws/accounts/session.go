// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"cmp"
	"context"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/targetgate/targetgate/aws/budget"
)

// Session is an identity to make calls with, and the budget of its account. It is safe for concurrent use.
type Session struct {
	credentials aws.CredentialsProvider
	budget      atomic.Pointer[budget.Budget] // nil before there were credentials
}

// NewSession returns a session. Credentials are nil when the service needs none.
func NewSession(credentials aws.CredentialsProvider, b *budget.Budget) *Session {
	s := &Session{credentials: credentials}
	s.budget.Store(b)
	return s
}

// Credentials are those to sign with; nil when the service needs none.
func (s *Session) Credentials() aws.CredentialsProvider { return s.credentials }

// Budget is that of the session's account, nil before its role has been assumed.
func (s *Session) Budget() *budget.Budget { return s.budget.Load() }

// Abroad reports whether the session acts in another account than the program's own, or in one that may be: there the names of
// Availability Zones may be those of other zones. Before its role has been assumed it is false.
func (s *Session) Abroad() bool {
	b := s.budget.Load()
	return b != nil && b.Account() != ""
}

// Prepare makes sure that there are credentials, and returns the context for calls of that class. It comes before a token is
// taken: to get credentials takes time, in which calls would gather behind their tokens and then reach AWS all at once, and a role
// that cannot be assumed costs no token at all. A tenant that is not named is that of ctx's charge.
func (s *Session) Prepare(ctx context.Context, class budget.Class, tenant string) (context.Context, error) {
	charge := budget.Charge{Urgency: class.Now(), Tenant: cmp.Or(tenant, budget.ChargeOf(ctx).Tenant)}
	if s.credentials != nil {
		if _, err := s.credentials.Retrieve(budget.WithCharge(ctx, charge)); err != nil {
			return nil, err
		}
	}
	charge.Budget = s.budget.Load()
	return budget.WithCharge(ctx, charge), nil
}
