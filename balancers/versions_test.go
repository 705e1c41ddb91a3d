// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"testing"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// What the incumbent has written counts as the version that was there first; what this process has written as that.
func TestVersionsThatAreNotKnown(t *testing.T) {
	of := func(version string) *stack.Stack {
		action := stack.Action{Auth: &stack.Auth{OIDC: &stack.OIDC{Issuer: "i", ClientID: "c", Version: version}}}
		return &stack.Stack{LoadBalancers: []stack.LoadBalancer{{Listeners: []stack.Listener{{Rules: []stack.Rule{{Action: action}}}}}}}
	}
	action := func(s *stack.Stack) stack.Action { return s.LoadBalancers[0].Listeners[0].Rules[0].Action }
	m := &memory{}
	assume := func(wanted, seen string) string {
		s := of(seen)
		m.assumeVersions(of(wanted), s)
		return action(s).SecretVersion()
	}
	if got := assume("1", ""); got != "1" {
		t.Errorf("at first %q is assumed, want 1", got)
	}
	if got := assume("2", ""); got != "1" {
		t.Errorf("when the Secret has changed %q is assumed, want 1", got)
	}
	if got := assume("2", "0"); got != "0" {
		t.Errorf("%q is assumed instead of what is known", got)
	}
	m.noteVersion(steps.ModifyRule{To: stack.Rule{Action: action(of("2"))}})
	if got := assume("2", ""); got != "2" {
		t.Errorf("when it is written %q is assumed, want 2", got)
	}
}
