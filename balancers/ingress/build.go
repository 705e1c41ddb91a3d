// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/reading"
	"github.com/targetgate/targetgate/balancers/stack"
)

// Build builds the stack that a group wants, and says what is wrong with its members. A member with a fault is held and adds nothing; the
// others are built without it. Where members disagree, the value that is seen counts if one of them wants it, else that of the first
// member; those that want another are held. A setting of which only held members speak stays as it is seen.
//
// Without members the stack is empty. If all are held it has no load balancer either: what they have stays. So are members held for whose
// wishes there is no room in the budget of the group.
func Build(in input.Input) (stack.Stack, []fault.Fault) {
	return BuildWithin(context.Background(), in)
}

// BuildWithin is Build until the context ends: members that are not read by then are held, and of the others those that disagree with the
// rest. It returns soon after.
func BuildWithin(ctx context.Context, in input.Input) (stack.Stack, []fault.Fault) {
	all := readAll(ctx, &in)
	reading.Settle(all)
	seen := reading.SeenVotes(&in)
	for round := 1; ; round++ {
		d := newDraft(&in, all, seen)
		late := checker{d}.check()
		if len(late) == 0 {
			return d.stack(), d.faults()
		}
		if round >= mostRounds || ctx.Err() != nil {
			maps.Copy(d.conflicts, late)
			late = d.conflicts
		}
		for r, fault := range late {
			r.Fail(fault)
		}
	}
}

// readAll reads the members for which there is room, in their order; those first that take the least time.
func readAll(ctx context.Context, in *input.Input) []*reading.Reading {
	all := make([]*reading.Reading, len(in.Members))
	if len(all) == 0 {
		return all
	}
	forced := reading.ForcedBy(in.Members[0].Params)
	for _, i := range in.Bound() {
		if member := &in.Members[i]; member.Over == nil && ctx.Err() != nil {
			member.Over = &fault.Fault{Reason: "the group takes too long to read, so this Ingress is not read and stays as it was: use " +
				"fewer annotations and paths in the group"}
		}
		all[i] = reading.Read(in, i, forced)
	}
	return all
}

// mostRounds is how often members are held and the rest is looked at again. Then all are held that disagree with the rest: members may name
// as many wrong values of a setting as they are, and each would take a round.
const mostRounds = 100

// draft is what is wanted by the members that are built.
type draft struct {
	in    *input.Input
	all   []*reading.Reading
	built []*reading.Reading
	held  []*reading.Reading
	heldPorts
	reading.Agreed
	keys      map[string]map[string]string // of Agreed, once they are asked for
	conflicts map[*reading.Reading]fault.Fault
	seen      map[string]reading.Vote
	balancer  *stack.LoadBalancer // that is seen
	subnets   []string
	listeners []listener
	compared  int          // pairs of rules, for warnings
	front     *stack.Stack // with what stands in front of the load balancer, nil for nothing
	// frontStays says, by setting, what of a Network Load Balancer stays as it is seen though members want another.
	frontStays map[string]string
}

// newDraft finds what the members agree on. What they say of what stands in front counts once a member that is built asks for that. If it
// then disagrees with others it is held, and what they say counts no more.
func newDraft(in *input.Input, all []*reading.Reading, seen map[string]reading.Vote) *draft {
	d := &draft{in: in, all: all, seen: seen, balancer: in.SeenLoadBalancer()}
	for d.agree(false); d.wantsFront(); d.agree(false) {
		if d.agree(true); d.wantsFront() || !d.holdAskers() {
			break
		}
	}
	d.listeners = listenerBuilder{d}.buildListeners()
	return d
}

// agree finds who is built and what holds for them. Front says whether that counts which members say of what stands in front who do not ask
// for it.
func (d *draft) agree(front bool) {
	var candidates []*reading.Reading
	for _, r := range d.all {
		if r.CountFront(front); !r.IsHeld() {
			candidates = append(candidates, r)
		}
	}
	d.Agreed, d.conflicts = reading.Agree(candidates, reading.Pinned(d.all, d.seen))
	d.built, d.held, d.heldPorts, d.keys = nil, nil, heldPorts{}, nil
	for _, r := range d.all {
		if d.isHeld(r) {
			d.held = append(d.held, r)
			d.addPorts(r)
		} else {
			d.built = append(d.built, r)
		}
	}
	d.keep()
}

// wantsFront reports whether something is to stand in front of the load balancer.
func (d *draft) wantsFront() bool {
	return d.Get(annotation.EnableFront.Name, "") == reading.YesNo(true)
}

// holdAskers holds those for good who ask for something in front and disagree with others. It reports whether there are some.
func (d *draft) holdAskers() (held bool) {
	for r, fault := range d.conflicts {
		if r.AsksForFront() {
			r.Fail(fault)
			held = true
		}
	}
	return held
}

// keysOf are the values of a setting that has several keys. The caller may change them.
func (d *draft) keysOf(name string) map[string]string {
	if d.keys == nil {
		d.keys = d.Keys()
	}
	if d.keys[name] == nil {
		return map[string]string{}
	}
	return maps.Clone(d.keys[name])
}

// name is that of the load balancer when it is made.
func (d *draft) name() string {
	return d.Get(annotation.LoadBalancerNameKey.Name, input.LoadBalancerName(d.in.Options.Cluster, d.in.Group, d.scheme()))
}

func (d *draft) scheme() string { return d.Get(annotation.Scheme.Name, d.in.Options.DefaultScheme) }
func (d *draft) addressType() string {
	return d.Get(annotation.AddressType.Name, annotation.AddressType.Default)
}

// redirectPort is that to which HTTP listeners redirect; "" for none.
func (d *draft) redirectPort() string { return d.Get(annotation.SSLRedirect.Name, "") }

// stack is what is wanted.
func (d *draft) stack() stack.Stack {
	in := d.in
	out := stack.Stack{ID: stack.ID{Cluster: in.Options.Cluster, Kind: stack.Ingresses, Name: in.Group.String()}}
	for _, r := range d.all {
		member := stack.Member{Name: r.Name}
		if d.isHeld(r) {
			member.Held, member.Ports, member.Hosts = true, slices.Sorted(maps.Keys(r.Ports)), r.Hosts()
		}
		out.Members = append(out.Members, member)
		if r.Issue != nil {
			out.Certificates = append(out.Certificates, *r.Issue)
		}
	}
	if len(d.built) == 0 {
		return out
	}
	out.Voters = d.Members()
	access, attributes := listenerBuilder{d}.access(), d.keysOf(annotation.LoadBalancerAttributes.Name)
	out.SecurityGroups = access.Made
	out.LoadBalancers = []stack.LoadBalancer{{
		Name:      d.name(),
		SpareName: input.SpareLoadBalancerName(in.Options.Cluster, in.Group, d.scheme()),
		Scheme:    d.scheme(), AddressType: d.addressType(), Subnets: d.subnets,
		SecurityGroups: access.Groups,
		Attributes:     attributes,
		Presets:        in.Presets(annotation.AttributesOfBalancer, attributes),
		Tags:           in.TagsOf(stack.LoadBalancerPart, d.keysOf(annotation.Tags.Name)),
		WebACL:         d.webACL(annotation.WAFv2ACL.Name, in.Options.WAFv2),
		ClassicACL:     d.webACL(annotation.WAFClassicACL.Name, in.Options.WAFClassic),
		Shield:         d.shield(),
		IPAMPool:       d.Get(annotation.IPAMPool.Name, ""),
		CustomerPool:   d.Get(annotation.CustomerPool.Name, ""),
		Capacity:       d.capacity(),
		Listeners:      listenerBuilder{d}.stackListeners(),
	}}
	out.Front = d.front
	if d.front != nil && len(d.front.LoadBalancers[0].SecurityGroups) == 0 {
		d.front.LoadBalancers[0].SecurityGroups = access.Groups
	}
	for _, r := range d.built {
		if !d.hasRules(r) {
			continue
		}
		out.TargetGroups = append(out.TargetGroups, r.Groups...)
		for _, binding := range r.Bindings {
			if binding.Spec.Peer = access.Peer; access.Peer == (stack.Ref{}) {
				binding.Spec.Networking = nil
			}
			out.Bindings = append(out.Bindings, binding)
		}
	}
	return out
}

// hasRules reports whether a listener of the member has its rules.
func (d *draft) hasRules(r *reading.Reading) bool {
	for _, protocol := range r.Ports {
		if protocol != annotation.HTTP || d.redirectPort() == "" {
			return true
		}
	}
	return false
}

// capacity is nil where nobody says one.
func (d *draft) capacity() *int32 {
	vote, ok := d.Votes[annotation.Capacity.Name]
	if !ok || !d.in.Options.Capacity {
		return nil
	}
	units, _ := strconv.ParseInt(vote.Text, 10, 32) // it is one
	return new(int32(units))
}

// shield is nil where nobody says anything.
func (d *draft) shield() *bool {
	vote, ok := d.Votes[annotation.Shield.Name]
	if !ok {
		return nil
	}
	return new(vote.Text == "true")
}

// webACL is nil where nobody says one, or where it is not ours to change.
func (d *draft) webACL(setting string, ours bool) *string {
	vote, ok := d.Votes[setting]
	switch {
	case !ok || !ours:
		return nil
	case vote.Text == annotation.NoWebACL:
		return new("")
	}
	return &vote.Text
}

// faults are those of all members, in their order.
func (d *draft) faults() []fault.Fault {
	var faults []fault.Fault
	warned := d.warnings()
	for _, r := range d.all {
		faults = append(faults, r.Holding()...)
		if conflict, ok := d.conflicts[r]; ok {
			faults = append(faults, conflict)
		}
		faults = append(faults, r.Told()...)
		faults = append(faults, warned[r]...)
	}
	return faults
}

// voters have a fault of what they say of the setting.
func (d *draft) voters(setting, reason string) map[*reading.Reading]fault.Fault {
	faults := map[*reading.Reading]fault.Fault{}
	for _, r := range d.built {
		if vote, ok := r.Votes[setting]; ok {
			fault := vote.From
			fault.Reason = reason
			faults[r] = fault
		}
	}
	return faults
}
