// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"slices"
	"testing"

	"github.com/targetgate/targetgate/balancers/plan"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// secured is a stack with a login in front of each path, with these versions of the client's secret.
func secured(versions ...string) stack.Stack {
	l := stack.Listener{ARN: "listener", Port: 443, Protocol: "HTTPS", Default: stack.Action{Fixed: &stack.FixedResponse{Status: "404"}}}
	for i, version := range versions {
		path := string(rune('a' + i))
		l.Rules = append(l.Rules, stack.Rule{
			ARN: "rule-" + path, Priority: int32(i + 1), Conditions: []stack.Condition{{Field: "path-pattern", Values: []string{"/" + path}}},
			Tags: map[string]string{"ingress.k8s.aws/resource": "443:" + string(rune('1'+i))},
			Action: stack.Action{
				Auth:  &stack.Auth{OIDC: &stack.OIDC{Issuer: "i", ClientID: "c", Version: version}},
				Fixed: &stack.FixedResponse{Status: "200"},
			},
		})
	}
	return stack.Stack{
		ID: stack.ID{Kind: stack.Ingresses}, Members: []stack.Member{{Name: "shop/a"}},
		LoadBalancers: []stack.LoadBalancer{{ARN: "balancer", Active: true, Listeners: []stack.Listener{l}}},
	}
}

// wanted is secured with the tags and the secrets that are wanted.
func wanted(versions ...string) stack.Stack {
	s := secured(versions...)
	for i := range versions {
		rule := &s.LoadBalancers[0].Listeners[0].Rules[i]
		rule.Tags[stack.SecretTag] = versions[i]
		rule.Action.Auth.OIDC.Secret = "hidden"
	}
	return s
}

// differences are the steps from what is seen to what is wanted.
func (m *memory) differences(wanted, seen stack.Stack) (out []string) {
	m.assumeVersions(&wanted, &seen)
	planned, _ := plan.Make(wanted, seen, plan.Options{})
	for _, step := range planned {
		out = append(out, step.String())
	}
	return out
}

// What the incumbent has written counts as the version that was there first; what this process has written as that. Two namespaces may
// have Secrets of one client.
func TestVersionsThatAreNotKnown(t *testing.T) {
	m := &memory{}
	for _, when := range []string{"at first", "when it is read again"} {
		if got := m.differences(wanted("1", "2"), secured("", "")); len(got) > 0 {
			t.Errorf("%s: steps %q, want none", when, got)
		}
	}
	if got := (&memory{}).differences(wanted("1", "2"), secured("0", "")); len(got) != 2 {
		t.Errorf("steps %q, want two, as one version is known to differ", got)
	}
	change, tag := "change rule 443:2: path /b after a login at i answer 200", "tag 443:2 (rule-b) with targetgate.dev/secret-version=3"
	for range 2 {
		if got := m.differences(wanted("1", "3"), secured("", "")); !slices.Equal(got, []string{change, tag}) {
			t.Errorf("when a Secret has changed: steps %q, want %q", got, []string{change, tag})
		}
	}
	rule := stack.Ref{ID: "rule-b"}
	m.noteVersion(steps.ModifyRule{Rule: rule, To: wanted("1", "3").LoadBalancers[0].Listeners[0].Rules[1]})
	for when, seen := range map[string]stack.Stack{"as noted": secured("", "3"), "when it is read again": secured("", "")} {
		if got := m.differences(wanted("1", "3"), seen); !slices.Equal(got, []string{tag}) {
			t.Errorf("when the new one is written, %s: steps %q, want %q", when, got, tag)
		}
	}
	if got := m.differences(wanted("1", "4"), secured("", "")); len(got) != 2 {
		t.Errorf("when it has changed again: steps %q, want two", got)
	}
}

// Nothing is assumed of rules while none is wanted, and nothing is forgotten.
func TestVersionsAreRememberedWhileAllAreHeld(t *testing.T) {
	m := &memory{}
	m.differences(wanted("1"), secured(""))
	m.differences(stack.Stack{Members: []stack.Member{{Name: "shop/a", Held: true}}}, secured(""))
	if got := m.differences(wanted("2"), secured("")); len(got) != 2 {
		t.Errorf("steps %q, want the change and the tag", got)
	}
}
