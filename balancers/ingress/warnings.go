// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"slices"
	"strings"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/reading"
	"github.com/targetgate/targetgate/balancers/stack"
)

// warnings are those that need the whole group.
func (d *draft) warnings() map[*reading.Reading][]fault.Fault {
	warnings := map[*reading.Reading][]fault.Fault{}
	known := map[fault.Fault]bool{}
	warn := func(r *reading.Reading, wrong fault.Fault) {
		if wrong.Member, wrong.Kind = r.Name, fault.Warning; !known[wrong] {
			warnings[r] = append(warnings[r], wrong)
		}
		known[wrong] = true
	}
	for _, r := range d.built {
		if fault, ok := r.Outvoted(d.Agreed); ok {
			warn(r, fault)
		}
		if !d.hasRules(r) {
			vote := d.Votes[annotation.SSLRedirect.Name]
			warn(r, fault.Fault{
				Annotation: annotation.SSLRedirect.FullName(), Value: vote.Text,
				Reason: "the group redirects HTTP, as " + vote.Who() + ", and this Ingress has no HTTPS listener, so that its rules are " +
					"nowhere: add one in " + annotation.ListenPorts.FullName(),
			})
		}
	}
	frontBuilder{d}.warnOfFront(warn)
	frontBuilder{d}.warnOfStays(warn)
	d.warnOfZones(warn)
	for i := range d.listeners {
		d.warnOfShadows(&d.listeners[i], warn)
		d.warnOfOpenListener(&d.listeners[i], warn)
	}
	return warnings
}

// warnOfOpenListener finds members who may pass over HTTPS alone, and are served over HTTP to everybody.
func (d *draft) warnOfOpenListener(l *listener, warn func(*reading.Reading, fault.Fault)) {
	for _, r := range l.members {
		isGuarded := func(rule reading.Rule) bool { return rule.Action.Auth != nil }
		if l.protocol == annotation.HTTP && !l.redirected && (slices.ContainsFunc(r.Rules, isGuarded) || r.Fallback != nil &&
			isGuarded(*r.Fallback)) {
			warn(r, fault.Fault{Annotation: annotation.ListenPorts.FullName(), Reason: fmt.Sprintf(
				"port %d serves without authentication, as users cannot log in over HTTP: listen on HTTPS only, or set %s",
				l.port, annotation.SSLRedirect.FullName())})
		}
	}
}

// warnOfShadows finds rules that no request reaches, as an earlier one takes all of theirs. Of very many, as where quotas were raised, the
// first ones are compared.
func (d *draft) warnOfShadows(l *listener, warn func(*reading.Reading, fault.Fault)) {
	owners := map[string]*reading.Reading{}
	for _, r := range l.members {
		owners[r.Name] = r
	}
	tell := func(s shadow) {
		warn(owners[s.rule.Owner], fault.Fault{Field: s.rule.Field, Reason: "no request reaches this rule, as " + s.by.Field +
			" of Ingress " + s.by.Owner + " stands before it and takes all of its requests"})
	}
	for _, hidden := range l.hidden {
		tell(hidden)
	}
	before := byHost{most: d.in.Options.Limits.Rules}
	for _, later := range l.rules {
		by := before.first(later.Conditions, func(earlier reading.Rule) bool {
			if d.compared >= mostCompared {
				return false
			}
			d.compared++
			return stack.Covers(earlier.Conditions, later.Conditions)
		})
		if by != nil {
			tell(shadow{later, *by})
		}
		before.add(later)
	}
}

// mostCompared is how many pairs of rules of a group are compared for warnings: all of 200 rules, twice AWS's quota.
const mostCompared = 20_000

// warnOfZones finds zones that the load balancer could be in, too. The first member is told.
func (d *draft) warnOfZones(warn func(*reading.Reading, fault.Fault)) {
	if d.in.Options.AddZones || d.balancer == nil || len(d.built) == 0 || d.balancer.Scheme != d.scheme() ||
		d.Get(annotation.Subnets.Name, "") != "" {
		return
	}
	if found := d.in.Subnets().Elsewhere(d.balancer.Subnets, d.scheme(), stack.IsDualstack(d.addressType())); len(found) > 0 {
		warn(d.built[0], fault.Fault{Reason: "the load balancer could be in other zones, too, by " + strings.Join(found, ", ") +
			": name all subnets in " + annotation.Subnets.FullName() + ", or set --add-zones"})
	}
}
