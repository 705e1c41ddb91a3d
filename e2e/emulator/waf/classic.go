// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package waf

import "slices"

// ClassicWebACL is a Web ACL of AWS WAF Classic in the region. It filters nothing here.
type ClassicWebACL struct {
	ID, Name, Account string
}

// classic is what AWS WAF Classic holds: Web ACLs in order of creation, and by ARN, the id of the one that a load balancer has. AWS does
// not say what becomes of one of WAFv2 that the load balancer has when one is added here: it stays.
type classic struct {
	webACLs    []ClassicWebACL
	byBalancer map[string]string
}

func (c *classic) find(account, id string) (ClassicWebACL, bool) {
	i := slices.IndexFunc(c.webACLs, func(a ClassicWebACL) bool { return a.ID == id && a.Account == account })
	if i < 0 {
		return ClassicWebACL{}, false
	}
	return c.webACLs[i], true
}

// AddClassic makes a Web ACL for an account ("" is the default one).
func (w *WAF) AddClassic(account, name string) ClassicWebACL {
	w.mu.Lock()
	defer w.mu.Unlock()
	acl := ClassicWebACL{ID: w.region.UUID(), Name: name, Account: w.region.Account(account)}
	w.classic.webACLs = append(w.classic.webACLs, acl)
	return acl
}

// ClassicWebACL is the Web ACL of an account with that id; false is none.
func (w *WAF) ClassicWebACL(account, id string) (ClassicWebACL, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.classic.find(w.region.Account(account), id)
}

// AssociateClassic gives an Application Load Balancer of an account a Web ACL, instead of the one that it had.
func (w *WAF) AssociateClassic(account, id, balancer string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	b, err := w.protectable(account, balancer)
	if err != nil {
		return err
	}
	if _, ok := w.classic.find(b.Account, id); !ok {
		return notThere()
	}
	if err := w.reachable(b); err != nil {
		return err
	}
	w.classic.byBalancer[balancer] = id
	return nil
}

// DisassociateClassic takes the Web ACL from a load balancer of an account; without one nothing happens.
func (w *WAF) DisassociateClassic(account, balancer string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.protectable(account, balancer); err != nil {
		return err
	}
	delete(w.classic.byBalancer, balancer)
	return nil
}

// ClassicOf is the Web ACL of a load balancer of an account; false is none.
func (w *WAF) ClassicOf(account, balancer string) (acl ClassicWebACL, ok bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.protectable(account, balancer); err != nil {
		return ClassicWebACL{}, false, err
	}
	acl, ok = w.classic.find(w.region.Account(account), w.classic.byBalancer[balancer])
	return acl, ok, nil
}
