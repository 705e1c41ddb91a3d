// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"maps"
	"slices"
	"strings"

	"github.com/targetgate/targetgate/balancers/stack"
)

// Build builds the stack that a group wants, and says what is wrong with its members. A member with a fault is held and adds nothing; the
// others are built without it. Where members disagree, the value that is seen counts if one of them wants it, else that of the first
// member; those that want another are held. A setting of which only held members speak stays as it is seen.
//
// Without members the stack is empty. If all are held it has no load balancer either: what is seen stays.
func Build(in Input) (stack.Stack, []Fault) {
	var all []*reading
	if len(in.Members) > 0 {
		forced := forcedBy(in.Members[0].Params)
		for i := range in.Members {
			all = append(all, read(&in, i, forced))
		}
	}
	seen := in.seenVotes()
	in.addSeenFallbacks(all, seen)
	for {
		g := newGroup(&in, all, seen)
		late := g.check()
		if len(late) == 0 {
			return g.stack(), g.faults()
		}
		for r, fault := range late {
			r.fail(fault)
		}
	}
}

// group is what is wanted by the members that are built.
type group struct {
	in    *Input
	all   []*reading
	built []*reading
	held  []*reading
	agreed
	conflicts map[*reading]Fault
	seen      map[string]vote
	balancer  *stack.LoadBalancer // that is seen
	subnets   []string
	listeners []listener
}

func newGroup(in *Input, all []*reading, seen map[string]vote) *group {
	g := &group{in: in, all: all, seen: seen, balancer: in.seenLoadBalancer()}
	var candidates []*reading
	for _, r := range all {
		if len(r.faults) == 0 {
			candidates = append(candidates, r)
		}
	}
	g.agreed, g.conflicts = agree(candidates, pinned(all, seen))
	for _, r := range all {
		if _, conflict := g.conflicts[r]; conflict || len(r.faults) > 0 {
			g.held = append(g.held, r)
		} else {
			g.built = append(g.built, r)
		}
	}
	g.keep()
	g.listeners = g.buildListeners()
	return g
}

// heldOn reports whether a held member has, or may have, a listener on the port.
func (g *group) heldOn(port int32) bool {
	return slices.ContainsFunc(g.held, func(r *reading) bool { return r.listens(port) })
}

// keep has settings stay as they are seen of which held members alone speak, or may speak.
func (g *group) keep() {
	for setting, vote := range g.seen {
		if _, ok := g.votes[setting]; ok || setting == Subnets.Name || setting == LoadBalancerNameKey.Name {
			continue
		}
		if slices.ContainsFunc(g.held, func(r *reading) bool { return r.maySay(setting) }) {
			g.votes[setting] = vote
		}
	}
}

// maySay reports whether a held member says something of the setting, as far as can be read.
func (r *reading) maySay(setting string) bool {
	if r.says(setting) || r.member.Fault != nil {
		return true
	}
	name, _, ofPort := strings.Cut(setting, " ")
	name, _, _ = strings.Cut(name, "[")
	return ofPort && r.ports == nil ||
		slices.ContainsFunc(r.faults, func(fault Fault) bool { return fault.Annotation == Prefix+name && fault.Object == "" })
}

// listens reports whether the member has, or may have, a listener on the port.
func (r *reading) listens(port int32) bool {
	_, ok := r.ports[port]
	return ok || r.ports == nil
}

func (g *group) scheme() string      { return g.get(Scheme.Name, g.in.Options.DefaultScheme) }
func (g *group) addressType() string { return g.get(AddressType.Name, AddressType.Default) }

// redirectPort is that to which HTTP listeners redirect; "" for none.
func (g *group) redirectPort() string { return g.get(SSLRedirect.Name, "") }

// stack is what is wanted.
func (g *group) stack() stack.Stack {
	in := g.in
	out := stack.Stack{ID: stack.ID{Cluster: in.Options.Cluster, Kind: stack.Ingresses, Name: in.Group.String()}}
	for _, r := range g.all {
		member := stack.Member{Name: r.name}
		if slices.Contains(g.held, r) {
			member.Held, member.Ports = true, slices.Sorted(maps.Keys(r.ports))
		}
		out.Members = append(out.Members, member)
	}
	if len(g.built) == 0 {
		return out
	}
	access := g.access()
	out.SecurityGroups = access.made
	out.LoadBalancers = []stack.LoadBalancer{{
		Name:      g.get(LoadBalancerNameKey.Name, LoadBalancerName(in.Options.Cluster, in.Group, g.scheme())),
		SpareName: spareLoadBalancerName(in.Options.Cluster, in.Group, g.scheme()),
		Scheme:    g.scheme(), AddressType: g.addressType(), Subnets: g.subnets,
		SecurityGroups: access.groups,
		Attributes:     g.keys(LoadBalancerAttributes.Name),
		Tags:           in.tagsOf(loadBalancerPart, g.keys(Tags.Name)),
		WebACL:         g.webACL(),
		Listeners:      g.stackListeners(),
	}}
	for _, r := range g.built {
		if !g.hasRules(r) {
			continue
		}
		out.TargetGroups = append(out.TargetGroups, r.groups...)
		for _, binding := range r.bindings {
			if binding.Spec.Peer = access.peer; access.peer == (stack.Ref{}) {
				binding.Spec.Networking = nil
			}
			out.Bindings = append(out.Bindings, binding)
		}
	}
	return out
}

// hasRules reports whether a listener of the member has its rules.
func (g *group) hasRules(r *reading) bool {
	for _, protocol := range r.ports {
		if protocol != HTTP || g.redirectPort() == "" {
			return true
		}
	}
	return false
}

// webACL is nil where nobody says one.
func (g *group) webACL() *string {
	vote, ok := g.votes[WAFv2ACL.Name]
	switch {
	case !ok || !g.in.Options.WAFv2:
		return nil
	case vote.text == noWebACL:
		return new("")
	}
	return &vote.text
}

// faults are those of all members, in their order.
func (g *group) faults() []Fault {
	var faults []Fault
	warned := g.warnings()
	for _, r := range g.all {
		faults = append(faults, r.faults...)
		if conflict, ok := g.conflicts[r]; ok {
			faults = append(faults, conflict)
		}
		faults = append(faults, r.warnings...)
		faults = append(faults, warned[r]...)
	}
	return faults
}
