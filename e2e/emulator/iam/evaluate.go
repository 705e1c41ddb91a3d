// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package iam

import "slices"

// Call is what a principal asks for.
type Call struct {
	// Action is SERVICE:OPERATION.
	Action string
	// Resource is an ARN, or * for operations that have none.
	Resource string
	// Context holds what conditions may ask about, such as aws:ResourceTag/KEY. A key that is not there is absent.
	Context map[string]string
}

// Decision is what policies say about a call.
type Decision struct {
	Allowed bool
	// Denied says that a statement denies the call. A call that is neither allowed nor denied is refused, too.
	Denied bool
	// Grant is the first that allows the call.
	Grant Grant
}

// Evaluate decides by all policies of a principal: one that denies overrules all that allow.
func Evaluate(policies []Policy, call Call) (d Decision) {
	context := map[string]string{}
	for key, value := range call.Context {
		context[canonicalKey(key)] = value
	}
	for _, p := range policies {
		for _, s := range p.statements {
			action, ok := s.matches(call, context)
			switch {
			case !ok:
			case s.deny:
				return Decision{Denied: true}
			case !d.Allowed:
				d = Decision{Allowed: true, Grant: Grant{s.name, action}}
			}
		}
	}
	return d
}

// matches reports whether a statement is about the call, and by which of its actions.
func (s statement) matches(call Call, context map[string]string) (action string, ok bool) {
	fits := func(text string) func(pattern) bool {
		return func(p pattern) bool { return p.re.MatchString(text) }
	}
	at := slices.IndexFunc(s.actions, fits(call.Action))
	if at < 0 || !slices.ContainsFunc(s.resources, fits(call.Resource)) {
		return "", false
	}
	for _, c := range s.conditions {
		if !c.holds(context) {
			return "", false
		}
	}
	return s.actions[at].text, true
}
