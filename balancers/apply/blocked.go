// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"slices"
	"strings"

	"github.com/targetgate/targetgate/balancers/steps"
)

// effect says what a failure of a step means for other steps, and what failures of others mean for it.
type effect int

const (
	// sets: a setting that nothing else depends on. Neither stops the other.
	sets effect = iota
	// makes: something new, which harms nothing that there is. It is done whatever has failed, as long as what it refers to is there. Where
	// it fails, what might have been in use until then stays.
	makes
	// moves: requests go elsewhere afterwards. It is done if nothing that should have been made there has failed.
	moves
	// removes: as moves, but nothing depends on its success.
	removes
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
func (b *blocked) isLeftOut(change steps.Change, e effect) bool {
	if _, ok := change.(steps.UpdateBinding); ok {
		return b.securityGroups
	}
	if e != moves && e != removes {
		return false
	}
	if _, ok := change.(steps.DeleteTargetGroup); ok && b.lingering {
		return true
	}
	if listener := listenerOf(change); listener != "" {
		return b.all || b.listeners[listener]
	}
	return b.all || b.stack
}

// failed takes the change for failed, or for left out.
func (b *blocked) failed(change steps.Change, e effect) {
	switch change.(type) {
	case steps.SetSecurityGroups:
		b.securityGroups = true
	case steps.DeleteBinding: // later passes find it by its target group
		b.lingering = true
	}
	if e != makes && e != moves {
		return
	}
	b.stack, b.all = true, b.all || e == makes
	if listener := listenerOf(change); listener != "" {
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

// listenerOf is the listener whose requests alone the change is about, "" when there is no such listener.
func listenerOf(change steps.Change) string {
	switch c := change.(type) {
	case steps.ModifyListener:
		return listenerPath(c.Listener.ID)
	case steps.AddCertificate:
		return listenerPath(c.Listener.ID)
	case steps.RemoveCertificate:
		return listenerPath(c.Listener.ID)
	case steps.CreateRule:
		return listenerPath(c.Listener.ID)
	case steps.SetPriorities:
		return listenerPath(c.Listener.ID)
	case steps.ModifyRule:
		return listenerPath(c.Rule.ID)
	case steps.DeleteRule:
		return listenerPath(c.Rule.ID)
	}
	return ""
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
func (d *doing) mustKeep(change steps.Change) bool {
	switch change.(type) {
	case steps.DeleteBinding, steps.DeleteTargetGroup:
		return d.pass.Kept > 0
	}
	return false
}

// noteRerouted takes in that requests may go elsewhere after a change.
func (d *doing) noteRerouted(change steps.Change) {
	switch change.(type) {
	case steps.ModifyListener, steps.DeleteListener, steps.ModifyRule, steps.SetPriorities, steps.DeleteRule:
		d.result.Rerouted, d.pass.Kept = true, RuleLag
	}
}
