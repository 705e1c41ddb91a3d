// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"maps"
	"slices"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/stack"
)

// warn notes what the user should know and does not hold the member: annotations that are not known, not supported or wrong where nothing
// needs them, and settings of params that are not supported.
func (r *reading) warn() {
	for _, fault := range annotation.Check(r.annotations()) {
		isFault := func(other annotation.Fault) bool { return other.Annotation == fault.Annotation && other.Object == "" }
		if !slices.ContainsFunc(r.faults, isFault) {
			r.warnOf(fault)
		}
	}
	if value, ok := r.annotations()[annotation.ListenPorts.FullName()]; ok {
		r.warnOfPortTwice(value)
	}
	r.warnOfTLS()
}

// warnOfTLS finds hosts with TLS that are served without it.
func (r *reading) warnOfTLS() {
	isSecure := slices.Contains(slices.Collect(maps.Values(r.ports)), annotation.HTTPS)
	if len(r.member.Ingress.Spec.TLS) > 0 && r.ports != nil && !isSecure {
		r.warnOf(annotation.Fault{
			Field:  "spec.tls",
			Reason: "all listeners of this Ingress are for HTTP: want one for HTTPS in " + annotation.ListenPorts.FullName(),
		})
	}
}

func (r *reading) warnOfPortTwice(value string) {
	entries, err := annotation.ParseJSON[[]map[annotation.Protocol]int32](value)
	if err != nil {
		return
	}
	seen := map[int32]bool{}
	for _, entry := range entries {
		for _, port := range entry {
			if seen[port] {
				r.warnOf(annotation.Fault{
					Annotation: annotation.ListenPorts.FullName(), Value: value,
					Reason: fmt.Sprintf("port %d is there twice, and its protocol is %s: want it once", port, r.ports[port]),
				})
			}
			seen[port] = true
		}
	}
}

// warnings are those that need the whole group.
func (d *draft) warnings() map[*reading][]annotation.Fault {
	warnings := map[*reading][]annotation.Fault{}
	warn := func(r *reading, fault annotation.Fault) {
		fault.Member, fault.Warning = r.name, true
		if !slices.Contains(warnings[r], fault) {
			warnings[r] = append(warnings[r], fault)
		}
	}
	for _, r := range d.built {
		if !d.hasRules(r) {
			vote := d.votes[annotation.SSLRedirect.Name]
			warn(r, annotation.Fault{
				Annotation: annotation.SSLRedirect.FullName(), Value: vote.text,
				Reason: "the group redirects HTTP, as " + vote.who() + ", and this Ingress has no HTTPS listener, so that its rules are " +
					"nowhere: add one in " + annotation.ListenPorts.FullName(),
			})
		}
	}
	d.warnOfFront(warn)
	d.warnOfZones(warn)
	for i := range d.listeners {
		d.warnOfShadows(&d.listeners[i], warn)
		d.warnOfOpenListener(&d.listeners[i], warn)
	}
	return warnings
}

// warnOfOpenListener finds members who may pass over HTTPS alone, and are served over HTTP to everybody.
func (d *draft) warnOfOpenListener(l *listener, warn func(*reading, annotation.Fault)) {
	for _, r := range l.members {
		isGuarded := func(rule rule) bool { return rule.Action.Auth != nil }
		if l.protocol == annotation.HTTP && !l.redirected && (slices.ContainsFunc(r.rules, isGuarded) || r.fallback != nil &&
			isGuarded(*r.fallback)) {
			warn(r, annotation.Fault{Annotation: annotation.ListenPorts.FullName(), Reason: fmt.Sprintf(
				"port %d serves without authentication, as over HTTP nobody can log in: listen for HTTPS alone, or set %s",
				l.port, annotation.SSLRedirect.FullName())})
		}
	}
}

// warnOfShadows finds rules that no request reaches, as an earlier one takes all of theirs.
func (d *draft) warnOfShadows(l *listener, warn func(*reading, annotation.Fault)) {
	owners := map[string]*reading{}
	for _, r := range l.members {
		owners[r.name] = r
	}
	for i, later := range l.all {
		for _, earlier := range l.all[:i] {
			if stack.Covers(earlier.Conditions, later.Conditions) && !leadsToItself(earlier.Rule, l.protocol, l.port) {
				warn(owners[later.Owner], annotation.Fault{Field: later.field, Reason: "no request reaches this rule, as " + earlier.field +
					" of Ingress " + earlier.Owner + " stands before it and takes all of its requests"})
				break
			}
		}
	}
}
