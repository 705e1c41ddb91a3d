// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"slices"
	"strings"

	"github.com/targetgate/targetgate/balancers/steps"
)

// blocked are the places where nothing is moved or removed any longer, as a step has failed there.
type blocked struct {
	listeners map[string]bool
	// stack is everything that is in no listener: target groups, bindings, security groups, load balancers.
	stack bool
	// all is that, and what is in listeners: what could not be made may be to take requests from any of them.
	all bool
	// unwritten are the rules and listeners that do not have what their tags would say of them, such as the version of a client secret.
	unwritten []string
	// securityGroups says that the load balancer does not have those that are wanted: what bindings say of them must not change.
	securityGroups bool
	// lingering says that a binding is not gone yet, whose registrar still needs its target group.
	lingering bool
}

// isLeftOut reports whether the change must not be made after what has failed.
func (b *blocked) isLeftOut(change steps.Change) bool {
	if _, ok := change.(steps.UpdateBinding); ok {
		return b.securityGroups
	}
	if e := change.Effect(); e != steps.Moves && e != steps.Removes {
		return false
	}
	if _, ok := change.(steps.DeleteTargetGroup); ok && b.lingering {
		return true
	}
	if listener := listenerPath(steps.ListenerOf(change)); listener != "" {
		return b.all || b.listeners[listener]
	}
	return b.all || b.stack
}

// failed takes the change for failed, or for left out.
func (b *blocked) failed(change steps.Change) {
	switch change.(type) {
	case steps.SetSecurityGroups:
		b.securityGroups = true
	case steps.DeleteBinding: // later passes find it by its target group
		b.lingering = true
	}
	e := change.Effect()
	if e != steps.Makes && e != steps.Moves {
		return
	}
	b.stack, b.all = true, b.all || e == steps.Makes
	if listener := listenerPath(steps.ListenerOf(change)); listener != "" {
		if b.listeners == nil {
			b.listeners = map[string]bool{}
		}
		b.listeners[listener] = true
	}
	switch c := change.(type) {
	case steps.ModifyListener:
		b.unwritten = append(b.unwritten, c.Listener.ID)
	case steps.ModifyRule:
		b.unwritten = append(b.unwritten, c.Rule.ID)
	}
}

// isTagOfUnwritten reports whether the change is of tags that would say of a rule or listener what it does not have. A later pass makes it.
func (b *blocked) isTagOfUnwritten(change steps.Change) bool {
	switch c := change.(type) {
	case steps.Tag:
		return slices.Contains(b.unwritten, c.Of.ID)
	case steps.Untag:
		return slices.Contains(b.unwritten, c.Of.ID)
	}
	return false
}

// listenerPath is what the ARNs of a listener and of its rules have in common: "app/NAME/ID/ID".
func listenerPath(arn string) string {
	if _, path, ok := strings.Cut(arn, ":listener/"); ok {
		return path
	}
	if _, path, ok := strings.Cut(arn, ":listener-rule/"); ok {
		return path[:max(strings.LastIndex(path, "/"), 0)]
	}
	return ""
}

// mustKeep reports whether requests may still come to what is removed, by rules that were changed a short time ago.
func (d *doing) mustKeep(change steps.Change) bool { return steps.IsFed(change) && d.pass.Kept > 0 }

// noteRerouted takes in that requests may go elsewhere after a change.
func (d *doing) noteRerouted(change steps.Change) {
	if steps.Reroutes(change) {
		d.result.Rerouted, d.pass.Kept = true, RuleLag
	}
}
