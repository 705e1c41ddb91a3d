// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import "slices"

// Protection is a protection of Shield Advanced. It keeps nothing off here, and outlives what it is for.
type Protection struct {
	ID, Name, Account string
	// Resource is the ARN of what is protected.
	Resource string
}

// shield is what Shield Advanced holds: which accounts have subscribed, and protections in order of creation.
type shield struct {
	subscribed  map[string]bool
	protections []Protection
}

// SetShieldSubscription subscribes an account ("" is the default one) to Shield Advanced, or ends that; protections stay.
func (m *Machine) SetShieldSubscription(account string, active bool) {
	m.enter()
	defer m.leave()
	m.shield.subscribed[m.account(account)] = active
}

// ShieldSubscribed says whether an account ("" is the default one) has subscribed to Shield Advanced.
func (m *Machine) ShieldSubscribed(account string) bool {
	m.enter()
	defer m.leave()
	return m.shield.subscribed[m.account(account)]
}

// Protect makes a protection of an Application Load Balancer of an account, which must have subscribed.
func (m *Machine) Protect(account, name, resource string) (Protection, error) {
	m.enter()
	defer m.leave()
	account = m.account(account)
	b, ok := m.balancers[resource]
	switch {
	case !m.shield.subscribed[account]:
		return Protection{}, Refuse("ResourceNotFoundException", "The subscription does not exist.")
	case !ok || b.account != account || b.Type != Application:
		return Protection{}, Refuse("InvalidResourceException", "The resource '%s' is not valid.", resource)
	case m.protection(account, func(p Protection) bool { return p.Resource == resource }) >= 0:
		return Protection{}, Refuse("ResourceAlreadyExistsException", "The referenced protection already exists.")
	}
	p := Protection{ID: m.uuid(), Name: name, Account: account, Resource: resource}
	m.shield.protections = append(m.shield.protections, p)
	return p, nil
}

// protection is the place of an account's protection, -1 if it has none that fits.
func (m *Machine) protection(account string, fits func(Protection) bool) int {
	return slices.IndexFunc(m.shield.protections, func(p Protection) bool { return p.Account == m.account(account) && fits(p) })
}

// Protection is an account's protection with an id or, if that is "", of a resource.
func (m *Machine) Protection(account, id, resource string) (Protection, error) {
	m.enter()
	defer m.leave()
	i := m.protection(account, func(p Protection) bool { return p.ID == id || id == "" && p.Resource == resource })
	if i < 0 {
		return Protection{}, noProtection()
	}
	return m.shield.protections[i], nil
}

// Unprotect removes an account's protection.
func (m *Machine) Unprotect(account, id string) error {
	m.enter()
	defer m.leave()
	i := m.protection(account, func(p Protection) bool { return p.ID == id })
	if i < 0 {
		return noProtection()
	}
	m.shield.protections = slices.Delete(m.shield.protections, i, i+1)
	return nil
}

func noProtection() error {
	return Refuse("ResourceNotFoundException", "The referenced protection does not exist.")
}
