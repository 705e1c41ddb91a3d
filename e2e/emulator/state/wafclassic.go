// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import "slices"

// ClassicWebACL is a Web ACL of AWS WAF Classic in the region. It filters nothing here.
type ClassicWebACL struct {
	ID, Name, Account string
}

// wafClassic is what AWS WAF Classic holds: Web ACLs in order of creation, and by ARN, the id of the one that a load balancer has. AWS does
// not say what becomes of one of WAFv2 that the load balancer has when one is added here: it stays.
type wafClassic struct {
	webACLs    []ClassicWebACL
	byBalancer map[string]string
}

func (w *wafClassic) find(account, id string) (ClassicWebACL, bool) {
	i := slices.IndexFunc(w.webACLs, func(a ClassicWebACL) bool { return a.ID == id && a.Account == account })
	if i < 0 {
		return ClassicWebACL{}, false
	}
	return w.webACLs[i], true
}

// AddClassicWebACL makes a Web ACL for an account ("" is the default one).
func (m *Machine) AddClassicWebACL(account, name string) ClassicWebACL {
	m.enter()
	defer m.leave()
	acl := ClassicWebACL{ID: m.uuid(), Name: name, Account: m.account(account)}
	m.wafClassic.webACLs = append(m.wafClassic.webACLs, acl)
	return acl
}

// ClassicWebACL is the Web ACL of an account with that id; false is none.
func (m *Machine) ClassicWebACL(account, id string) (ClassicWebACL, bool) {
	m.enter()
	defer m.leave()
	return m.wafClassic.find(m.account(account), id)
}

// AssociateClassicWebACL gives an Application Load Balancer of an account a Web ACL, instead of the one that it had.
func (m *Machine) AssociateClassicWebACL(account, id, balancer string) error {
	m.enter()
	defer m.leave()
	if err := m.protectable(account, balancer); err != nil {
		return err
	}
	if _, ok := m.wafClassic.find(m.account(account), id); !ok {
		return noWAFItem()
	}
	if m.unreachable(balancer) {
		return wafUnavailable()
	}
	m.wafClassic.byBalancer[balancer] = id
	return nil
}

// DisassociateClassicWebACL takes the Web ACL from a load balancer of an account; without one nothing happens.
func (m *Machine) DisassociateClassicWebACL(account, balancer string) error {
	m.enter()
	defer m.leave()
	if err := m.protectable(account, balancer); err != nil {
		return err
	}
	delete(m.wafClassic.byBalancer, balancer)
	return nil
}

// ClassicWebACLOf is the Web ACL of a load balancer of an account; false is none.
func (m *Machine) ClassicWebACLOf(account, balancer string) (acl ClassicWebACL, ok bool, err error) {
	m.enter()
	defer m.leave()
	if err := m.protectable(account, balancer); err != nil {
		return ClassicWebACL{}, false, err
	}
	acl, ok = m.wafClassic.find(m.account(account), m.wafClassic.byBalancer[balancer])
	return acl, ok, nil
}
