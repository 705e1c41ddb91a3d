// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/reading"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
)

// listener is one with the rules of its members.
type listener struct {
	port         int32
	protocol     annotation.Protocol
	redirected   bool // to the HTTPS listener: it has no rules
	members      []*reading.Reading
	certificates []string
	owners       map[string]string // of certificates
	rules        []reading.Rule
	hidden       []shadow // rules that are left out, as a redirect takes their requests
}

// listenerBuilder builds the listeners of a draft, and who may send to them.
type listenerBuilder struct{ *draft }

// buildListeners are those of all ports, sorted.
func (d listenerBuilder) buildListeners() []listener {
	byPort := map[int32]*listener{}
	for _, r := range d.built {
		for port, protocol := range r.Ports {
			if byPort[port] == nil {
				byPort[port] = &listener{port: port, protocol: protocol, redirected: protocol == annotation.HTTP && d.redirectPort() != ""}
			}
			byPort[port].members = append(byPort[port].members, r)
		}
	}
	listeners := make([]listener, 0, len(byPort))
	for _, port := range slices.Sorted(maps.Keys(byPort)) {
		l := byPort[port]
		if !l.redirected {
			var all []reading.Rule
			for _, r := range l.members {
				all = append(all, r.Rules...)
			}
			for i := range all {
				all[i].Action = l.answer(all[i].Action)
			}
			l.rules, l.hidden = optimize(all, l.protocol, port, d.in.Options.Limits.Rules)
		}
		if l.protocol == annotation.HTTPS {
			l.certificates = d.certificates(l)
		}
		listeners = append(listeners, *l)
	}
	return listeners
}

// certificates are those of all members on the port, each once, the first member's first. While a member on the port is held those that are
// seen stay, and the first of them stays first if the held member is the first there.
func (d listenerBuilder) certificates(l *listener) []string {
	var wanted, present []string
	l.owners = map[string]string{}
	for _, r := range l.members {
		for _, certificate := range r.Certificates {
			wanted = append(wanted, certificate)
			l.owners[certificate] = cmp.Or(l.owners[certificate], r.Name)
		}
	}
	onPort := func(r *reading.Reading) bool { return r.Listens(l.port) }
	if seen := d.balancer.ListenerOn(l.port); seen != nil && d.heldOn(l.port) {
		present = seen.Certificates
	}
	first := slices.IndexFunc(d.all, onPort)
	if d.isHeld(d.all[first]) {
		return lookup.Unique(append(slices.Clone(present), wanted...))
	}
	return lookup.Unique(append(wanted, present...))
}

// stackListeners are the listeners as they are wanted in AWS.
func (d listenerBuilder) stackListeners() []stack.Listener {
	out := make([]stack.Listener, 0, len(d.listeners))
	for i := range d.listeners {
		l := &d.listeners[i]
		wanted := stack.Listener{
			Port: l.port, Protocol: string(l.protocol), Certificates: l.certificates, Owners: l.owners,
			Default:    d.fallback(l),
			MutualAuth: d.mutualAuth(l),
			Attributes: d.keysOf(stack.ListenerAttributes(string(l.protocol), l.port)),
		}
		if fallbacks := l.fallbacks(); len(fallbacks) > 0 {
			wanted.DefaultOwner = fallbacks[0].Owner
		}
		wanted.Presets = d.in.Presets(annotation.AttributesOfListener, wanted.Attributes)
		if l.protocol == annotation.HTTPS {
			wanted.SSLPolicy = d.Get(stack.OfPort(annotation.SSLPolicy.Name, l.port), d.in.Options.DefaultSSLPolicy)
		}
		if d.in.Options.TagListenersAndRules {
			wanted.Tags = versioned(d.in.TagsOf(strconv.Itoa(int(l.port)), d.userTags(l)), wanted.Default)
		}
		for i, rule := range l.rules {
			users := rule.Tags
			if rule.Tags = nil; d.in.Options.TagListenersAndRules {
				rule.Tags = versioned(d.in.TagsOf(fmt.Sprintf("%d:%d", l.port, i+1), users), rule.Action)
			}
			wanted.Rules = append(wanted.Rules, rule.Rule)
		}
		out = append(out, wanted)
	}
	return out
}

// versioned adds to tags the version of the client secret that an action has.
func versioned(tags map[string]string, action stack.Action) map[string]string {
	if version := action.SecretVersion(); version != "" {
		tags[stack.SecretTag] = version
	}
	return tags
}

// answer is an action as the listener has it: over HTTP nobody can log in.
func (l *listener) answer(action stack.Action) stack.Action {
	if l.protocol != annotation.HTTPS {
		action.Auth = nil
	}
	return action
}

// userTags are those of the members on the port. Those that a listener is seen to have of held members stay.
func (d listenerBuilder) userTags(l *listener) map[string]string {
	tags, agreed := map[string]string{}, d.keysOf(annotation.Tags.Name)
	for _, r := range l.members {
		for key := range r.Tags {
			tags[key] = agreed[key]
		}
	}
	seen := d.balancer.ListenerOn(l.port)
	for key, value := range agreed {
		if seen != nil && hasKey(seen.Tags, key) && d.heldSays(l.port, stack.OfKey(annotation.Tags.Name, key)) {
			tags[key] = value
		}
	}
	return tags
}

func hasKey[V any](of map[string]V, key string) bool {
	_, ok := of[key]
	return ok
}

// heldSays reports whether a held member on the port says, or may say, something of the setting.
func (d listenerBuilder) heldSays(port int32, setting string) bool {
	return slices.ContainsFunc(d.held, func(r *reading.Reading) bool { return r.Listens(port) && r.MaySay(setting) })
}

// fallbacks are the default backends of the members on the port: those that are built together have one at most, unless it redirects.
func (l *listener) fallbacks() (out []reading.Rule) {
	for _, r := range l.members {
		if r.Fallback != nil {
			out = append(out, *r.Fallback)
		}
	}
	return out
}

// checkFallbacks finds default backends beside another one: a listener has that which it is seen to have, else that of the first member.
func (d checker) checkFallbacks() map[*reading.Reading]fault.Fault {
	faults := map[*reading.Reading]fault.Fault{}
	for _, l := range d.listeners {
		fallbacks := l.fallbacks()
		if l.redirected || len(fallbacks) == 0 {
			continue
		}
		owner := fallbacks[0].Owner
		if seen := reading.SeenFallback(d.in, d.all, l.port); seen != nil {
			owner = seen.Name
		}
		for _, r := range l.members {
			if r.Fallback != nil && r.Name != owner {
				faults[r] = fault.Fault{Field: r.Fallback.Field, Reason: fmt.Sprintf(
					"port %d has the default backend of Ingress %s, and a listener has one: set none, or another port in %s",
					l.port, owner, annotation.ListenPorts.FullName())}
			}
		}
	}
	return faults
}

// fallback is what is done with requests that no rule matches: the default backend of a member on the port. That of a held member stays as
// it is seen.
func (d listenerBuilder) fallback(l *listener) stack.Action {
	if l.redirected {
		return reading.RedirectAll(d.redirectPort())
	}
	if fallbacks := l.fallbacks(); len(fallbacks) > 0 {
		return l.answer(fallbacks[0].Action)
	}
	seen := d.balancer.ListenerOn(l.port)
	if seen != nil && slices.ContainsFunc(d.held, func(r *reading.Reading) bool {
		return r.Listens(l.port) && r.Member.Ingress.Spec.DefaultBackend != nil
	}) {
		return seen.Default
	}
	return reading.FixedResponse("404", "text/plain", "")
}

// mutualAuth is that of a listener; nil leaves what there is.
func (d listenerBuilder) mutualAuth(l *listener) *stack.MutualAuth {
	vote, said := d.Votes[stack.OfPort(annotation.MutualAuthentication.Name, l.port)]
	switch {
	case l.protocol != annotation.HTTPS:
		return nil
	case said:
		out := &stack.MutualAuth{}
		_ = json.Unmarshal([]byte(vote.Text), out) // it is mutualText's
		return out
	case d.in.Options.ResetAttributes && !d.heldOn(l.port):
		return &stack.MutualAuth{Mode: annotation.MutualOff}
	}
	return nil
}
