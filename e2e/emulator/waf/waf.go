// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package waf

import (
	"regexp"
	"slices"
	"sync"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/region"
	"github.com/targetgate/targetgate/e2e/emulator/state"
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

// WAF is WAFv2 and WAF Classic, which share load balancers. Safe for concurrent use. The lock of the load balancers is taken while its own
// is held, never the other way round.
type WAF struct {
	region    *region.Region
	balancers *state.Machine

	mu          sync.Mutex
	webACLs     []WebACL          // in order of creation
	byBalancer  map[string]string // which one a load balancer has, both by ARN
	unreachable map[string]bool   // load balancers by ARN
	classic     classic
}

// New makes a WAF without Web ACLs.
func New(in *region.Region, balancers *state.Machine) *WAF {
	return &WAF{
		region: in, balancers: balancers,
		byBalancer: map[string]string{}, unreachable: map[string]bool{}, classic: classic{byBalancer: map[string]string{}},
	}
}

func (w *WAF) find(arn string) (WebACL, bool) {
	i := slices.IndexFunc(w.webACLs, func(a WebACL) bool { return a.ARN == arn })
	if i < 0 {
		return WebACL{}, false
	}
	return w.webACLs[i], true
}

// Add makes a Web ACL for an account ("" is the default one).
func (w *WAF) Add(account, name, scope string) WebACL {
	w.mu.Lock()
	defer w.mu.Unlock()
	account = w.region.Account(account)
	in, kind := w.region.Name(), "regional"
	if scope == ScopeCloudFront {
		in, kind = "us-east-1", "global"
	}
	id := w.region.ID()
	acl := WebACL{Account: account, Name: name, ID: id, Scope: scope,
		ARN: "arn:aws:wafv2:" + in + ":" + account + ":" + kind + "/webacl/" + name + "/" + id}
	w.webACLs = append(w.webACLs, acl)
	return acl
}

// WebACLs are those of an account ("" is the default one) and a scope, in order of creation.
func (w *WAF) WebACLs(account, scope string) []WebACL {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.webACLs), func(a WebACL) bool {
		return a.Account != w.region.Account(account) || a.Scope != scope
	})
}

// SetUnreachable has WAFv2 and WAF Classic not find a load balancer, as they do while it is being provisioned, or find it again.
func (w *WAF) SetUnreachable(balancer string, unreachable bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unreachable[balancer] = unreachable
}

// webACLARN is what the ARNs of Web ACLs look like.
var webACLARN = regexp.MustCompile(`^arn:[^:]+:wafv2:[^:]+:\d{12}:(regional|global)/webacl/[^/]+/[^/]+$`)

// Associate gives an Application Load Balancer of an account a Web ACL, instead of the one that it had, be it of WAF Classic.
func (w *WAF) Associate(account, aclARN, balancer string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	b, err := w.protectable(account, balancer)
	if err != nil {
		return err
	}
	acl, ok := w.find(aclARN)
	switch {
	case !webACLARN.MatchString(aclARN):
		return invalidARN("WEB_ACL", aclARN)
	case !ok || acl.Account != b.Account:
		return notThere()
	case acl.Scope != ScopeRegional:
		return refusal.New("WAFInvalidParameterException", "Error reason: The scope is not valid., field: WEB_ACL, parameter: %s", aclARN)
	}
	if err := w.reachable(b); err != nil {
		return err
	}
	w.byBalancer[balancer] = aclARN
	delete(w.classic.byBalancer, balancer)
	return nil
}

// Disassociate takes the Web ACL from a load balancer of an account; without one nothing happens.
func (w *WAF) Disassociate(account, balancer string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.protectable(account, balancer); err != nil {
		return err
	}
	delete(w.byBalancer, balancer)
	return nil
}

// Of is the Web ACL of a load balancer of an account; false is none.
func (w *WAF) Of(account, balancer string) (acl WebACL, ok bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.protectable(account, balancer); err != nil {
		return WebACL{}, false, err
	}
	acl, ok = w.find(w.byBalancer[balancer])
	return acl, ok, nil
}

// protectable finds a load balancer of an account, and refuses what is no Application Load Balancer.
func (w *WAF) protectable(account, arn string) (state.Balancer, error) {
	b, ok := w.balancers.Balancer(arn)
	switch {
	case !ok || b.Account != w.region.Account(account):
		return b, notThere()
	case b.Type != state.Application:
		return b, invalidARN("RESOURCE_ARN", arn)
	}
	return b, nil
}

// reachable refuses a load balancer that is there and cannot be reached yet.
func (w *WAF) reachable(b state.Balancer) error {
	if b.Active && !w.unreachable[b.ARN] {
		return nil
	}
	return refusal.New("WAFUnavailableEntityException", "AWS WAF couldn’t retrieve the resource that you requested. Retry your request.")
}

func invalidARN(field, arn string) error {
	return refusal.New("WAFInvalidParameterException",
		"Error reason: The ARN isn't valid. A valid ARN begins with arn: and includes other information separated by colons or slashes., "+
			"field: %s, parameter: %s", field, arn)
}

func notThere() error {
	return refusal.New("WAFNonexistentItemException", "AWS WAF couldn’t perform the operation because your resource doesn’t exist.")
}
