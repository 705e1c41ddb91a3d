// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"maps"

	"github.com/targetgate/targetgate/balancers/stack"
)

// Change is one call of AWS or of the API server. A stack.Ref without ID is made by an earlier step. Its type says all that follows from it
// without a call; package apply makes the call.
type Change interface {
	// Text says in one line what it does.
	Text() string
	// Effect says what its failure means for other steps, and theirs for it.
	Effect() Effect
	// On does to a stack that is seen what AWS does. All references have their IDs; what the stack does not have is passed over.
	On(seen *stack.Stack, made Made)
}

// Made is what a change has made.
type Made struct {
	ID      string // ARN, or ID of a security group
	DNSName string // of a load balancer
	Name    string // of a load balancer or a security group, which may not be the wanted one
	Adopted bool   // it was there already: what it has is to be read
}

// Effect says what a failure of a step means for other steps, and what failures of others mean for it.
type Effect int

const (
	// Sets is the effect of a setting that nothing else depends on. Neither stops the other.
	Sets Effect = iota
	// Makes is that of something new, which harms nothing that there is. It is done whatever has failed, as long as what it refers to is
	// there. Where it fails, what might have been in use until then stays.
	Makes
	// Moves is that of a change after which requests go elsewhere. It is done if nothing that should have been made there has failed.
	Moves
	// Removes is as Moves, but nothing depends on its success.
	Removes
)

// Created is which part of its stack the change makes, "" for none, with the tags that it has from the start: those of listeners and rules
// are not listed with it, and nil.
func Created(change Change) (part string, tags map[string]string) {
	if c, is := change.(interface {
		created() (part string, tags map[string]string)
	}); is {
		return c.created()
	}
	return "", nil
}

// Deleted is the ID of the part of AWS that the change deletes, "" for none.
func Deleted(change Change) string {
	if c, is := change.(interface{ deleted() string }); is {
		return c.deleted()
	}
	return ""
}

// ListenerOf is the ID of the listener, or of the rule in it, whose requests alone the change is about; "" when it is about others, too.
func ListenerOf(change Change) string {
	if c, is := change.(interface{ listener() string }); is {
		return c.listener()
	}
	return ""
}

// Reroutes reports whether requests may go elsewhere after the change.
func Reroutes(change Change) bool {
	_, is := change.(interface{ reroutes() })
	return is
}

// IsFed reports whether requests may come to what the change removes for as long as load balancers follow former rules.
func IsFed(change Change) bool {
	_, is := change.(interface{ fed() })
	return is
}

// ActionOf is the action that the change gives to a rule, or to a listener by default; an empty one of other changes.
func ActionOf(change Change) stack.Action {
	if c, is := change.(interface{ action() stack.Action }); is {
		return c.action()
	}
	return stack.Action{}
}

// Guarded is the load balancer that the change gives a web ACL to, if it does.
func Guarded(change Change) (balancer stack.Ref, ok bool) {
	if c, is := change.(interface{ guarded() (stack.Ref, bool) }); is {
		return c.guarded()
	}
	return stack.Ref{}, false
}

// Nothing changes nothing. Its step is there for its Wait.
type Nothing struct{}

func (Nothing) Text() string          { return "do nothing" }
func (Nothing) Effect() Effect        { return Sets }
func (Nothing) On(*stack.Stack, Made) {}

// merge sets keys of attributes that are known.
func merge(to, from map[string]string) {
	if to != nil {
		maps.Copy(to, from)
	}
}

// seenRefs are references as they are seen.
func seenRefs(refs []stack.Ref) (out []stack.Ref) {
	for _, ref := range refs {
		out = append(out, stack.Ref{ID: ref.ID})
	}
	return out
}

// seenAction has references as they are seen, and no client secret. It is the caller's own.
func seenAction(a stack.Action) stack.Action {
	if a.Auth != nil && a.Auth.OIDC != nil {
		a.Auth.OIDC.Secret = ""
	}
	if a.Forward != nil {
		for i := range a.Forward.Groups {
			a.Forward.Groups[i].Group.Part = ""
		}
	}
	return a
}
