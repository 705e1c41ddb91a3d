// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package shield is Shield Advanced: subscriptions and protections.
package shield

import (
	"slices"
	"sync"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/region"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// Protection is a protection of Shield Advanced. It keeps nothing off here, and outlives what it is for.
type Protection struct {
	ID, Name, Account string
	// Resource is the ARN of what is protected.
	Resource string
}

// Shield is safe for concurrent use. The lock of the load balancers is taken while its own is held, never the other way round.
type Shield struct {
	region    *region.Region
	balancers *state.Machine

	mu          sync.Mutex
	subscribed  map[string]bool // accounts
	protections []Protection    // in order of creation
}

// New makes a Shield that nobody has subscribed to.
func New(in *region.Region, balancers *state.Machine) *Shield {
	return &Shield{region: in, balancers: balancers, subscribed: map[string]bool{}}
}

// Subscribe subscribes an account ("" is the default one) to Shield Advanced, or ends that; protections stay.
func (s *Shield) Subscribe(account string, active bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribed[s.region.Account(account)] = active
}

// Subscribed reports whether an account ("" is the default one) has subscribed to Shield Advanced.
func (s *Shield) Subscribed(account string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.subscribed[s.region.Account(account)]
}

// Protect makes a protection of an Application Load Balancer of an account, which must have subscribed.
func (s *Shield) Protect(account, name, resource string) (Protection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	account = s.region.Account(account)
	b, ok := s.balancers.Balancer(resource)
	switch {
	case !s.subscribed[account]:
		return Protection{}, refusal.New("ResourceNotFoundException", "The subscription does not exist.")
	case !ok || b.Account != account || b.Type != state.Application:
		return Protection{}, refusal.New("InvalidResourceException", "The resource '%s' is not valid.", resource)
	case s.protection(account, func(p Protection) bool { return p.Resource == resource }) >= 0:
		return Protection{}, refusal.New("ResourceAlreadyExistsException", "The referenced protection already exists.")
	}
	p := Protection{ID: s.region.UUID(), Name: name, Account: account, Resource: resource}
	s.protections = append(s.protections, p)
	return p, nil
}

// protection is the place of an account's protection, -1 if it has none that fits.
func (s *Shield) protection(account string, fits func(Protection) bool) int {
	return slices.IndexFunc(s.protections, func(p Protection) bool { return p.Account == s.region.Account(account) && fits(p) })
}

// Protection is an account's protection with an id or, if that is "", of a resource.
func (s *Shield) Protection(account, id, resource string) (Protection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.protection(account, func(p Protection) bool { return p.ID == id || id == "" && p.Resource == resource })
	if i < 0 {
		return Protection{}, noProtection()
	}
	return s.protections[i], nil
}

// Unprotect removes an account's protection.
func (s *Shield) Unprotect(account, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.protection(account, func(p Protection) bool { return p.ID == id })
	if i < 0 {
		return noProtection()
	}
	s.protections = slices.Delete(s.protections, i, i+1)
	return nil
}

func noProtection() error {
	return refusal.New("ResourceNotFoundException", "The referenced protection does not exist.")
}
