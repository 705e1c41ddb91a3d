// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"regexp"
	"slices"
)

// Scopes of Web ACLs.
const (
	ScopeRegional   = "REGIONAL"
	ScopeCloudFront = "CLOUDFRONT"
)

// WebACL is a Web ACL of WAFv2. It filters nothing here.
type WebACL struct {
	ARN, Account    string
	Name, ID, Scope string
}

// waf is what WAFv2 holds: Web ACLs in order of creation, and by ARN, which one a load balancer has, and which load balancers
// cannot be reached.
type waf struct {
	webACLs     []WebACL
	byBalancer  map[string]string
	unavailable map[string]bool
}

func newWAF() waf { return waf{byBalancer: map[string]string{}, unavailable: map[string]bool{}} }

func (w *waf) find(arn string) (WebACL, bool) {
	i := slices.IndexFunc(w.webACLs, func(a WebACL) bool { return a.ARN == arn })
	if i < 0 {
		return WebACL{}, false
	}
	return w.webACLs[i], true
}

// AddWebACL makes a Web ACL for an account ("" is the default one).
func (m *Machine) AddWebACL(account, name, scope string) WebACL {
	m.enter()
	defer m.leave()
	account = m.account(account)
	region, kind := m.opts.Region, "regional"
	if scope == ScopeCloudFront {
		region, kind = "us-east-1", "global"
	}
	id := m.id()
	acl := WebACL{Account: account, Name: name, ID: id, Scope: scope,
		ARN: "arn:aws:wafv2:" + region + ":" + account + ":" + kind + "/webacl/" + name + "/" + id}
	m.waf.webACLs = append(m.waf.webACLs, acl)
	return acl
}

// WebACLs are those of an account ("" is the default one) and a scope, in order of creation.
func (m *Machine) WebACLs(account, scope string) []WebACL {
	m.enter()
	defer m.leave()
	return slices.DeleteFunc(slices.Clone(m.waf.webACLs), func(a WebACL) bool {
		return a.Account != m.account(account) || a.Scope != scope
	})
}

// SetUnreachable has WAFv2 and WAF Classic not find a load balancer, as they do while it is being provisioned, or find it again.
func (m *Machine) SetUnreachable(balancer string, unreachable bool) {
	m.enter()
	defer m.leave()
	m.waf.unavailable[balancer] = unreachable
}

// webACLARN is what the ARNs of Web ACLs look like.
var webACLARN = regexp.MustCompile(`^arn:[^:]+:wafv2:[^:]+:\d{12}:(regional|global)/webacl/[^/]+/[^/]+$`)

// AssociateWebACL gives an Application Load Balancer of an account a Web ACL, instead of the one that it had, be it of WAF Classic.
func (m *Machine) AssociateWebACL(account, aclARN, balancer string) error {
	m.enter()
	defer m.leave()
	if err := m.protectable(account, balancer); err != nil {
		return err
	}
	acl, ok := m.waf.find(aclARN)
	switch {
	case !webACLARN.MatchString(aclARN):
		return Refuse("WAFInvalidParameterException",
			"Error reason: The ARN isn't valid. A valid ARN begins with arn: and includes other information separated by colons or slashes., "+
				"field: WEB_ACL, parameter: %s", aclARN)
	case !ok || acl.Account != m.account(account):
		return noWAFItem()
	case acl.Scope != ScopeRegional:
		return Refuse("WAFInvalidParameterException", "Error reason: The scope is not valid., field: WEB_ACL, parameter: %s", aclARN)
	case m.unreachable(balancer):
		return wafUnavailable()
	}
	m.waf.byBalancer[balancer] = aclARN
	delete(m.wafClassic.byBalancer, balancer)
	return nil
}

// DisassociateWebACL takes the Web ACL from a load balancer of an account; without one nothing happens.
func (m *Machine) DisassociateWebACL(account, balancer string) error {
	m.enter()
	defer m.leave()
	if err := m.protectable(account, balancer); err != nil {
		return err
	}
	delete(m.waf.byBalancer, balancer)
	return nil
}

// WebACLOf is the Web ACL of a load balancer of an account; false is none.
func (m *Machine) WebACLOf(account, balancer string) (acl WebACL, ok bool, err error) {
	m.enter()
	defer m.leave()
	if err := m.protectable(account, balancer); err != nil {
		return WebACL{}, false, err
	}
	acl, ok = m.waf.find(m.waf.byBalancer[balancer])
	return acl, ok, nil
}

// protectable refuses what is no Application Load Balancer of the account.
func (m *Machine) protectable(account, arn string) error {
	b, ok := m.balancers[arn]
	switch {
	case !ok || b.account != m.account(account):
		return noWAFItem()
	case b.Type != Application:
		return Refuse("WAFInvalidParameterException",
			"Error reason: The ARN isn't valid. A valid ARN begins with arn: and includes other information separated by colons or slashes., "+
				"field: RESOURCE_ARN, parameter: %s", arn)
	}
	return nil
}

// unreachable says whether a load balancer that is there cannot be reached yet.
func (m *Machine) unreachable(balancer string) bool {
	return m.waf.unavailable[balancer] || !m.balancers[balancer].Active
}

func wafUnavailable() error {
	return Refuse("WAFUnavailableEntityException",
		"AWS WAF couldn’t retrieve the resource that you requested. Retry your request.")
}

func noWAFItem() error {
	return Refuse("WAFNonexistentItemException", "AWS WAF couldn’t perform the operation because your resource doesn’t exist.")
}
