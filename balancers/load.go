// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/frontend"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// load finds the members of the group. Those that are active in another group are set apart.
func (p *pass) load(ctx context.Context) (err error) {
	if p.members, err = p.Frontend.Members(ctx, p.group); err != nil {
		return err
	}
	return p.findVanished(ctx)
}

// observer finds out what there is of the group: its stack in AWS, its bindings in the cluster.
type observer struct{ *pass }

// observe reads the stack and the bindings: of a group without members, of which all is to be deleted, no details, as these may not be
// read.
func (p observer) observe(ctx context.Context) (err error) {
	read := p.View.Stack
	if !p.hasMembers() {
		read = p.View.Parts
	}
	if p.seen, err = read(ctx, p.id); err != nil {
		return err
	}
	p.leaveOthers()
	p.noteNames()
	return p.findBindings(ctx)
}

// noteNames remembers the names of the load balancers that are there in this pass.
func (p observer) noteNames() {
	for _, s := range p.seen.All() {
		for _, balancer := range s.LoadBalancers {
			p.names[strings.ToLower(balancer.DNSName)] = true
		}
	}
}

// findBindings finds the bindings of the group among those with its labels, which anybody can give to theirs: those in namespaces of
// members, also of members that leave, those of its target groups, and all if it has no member any more.
func (p observer) findBindings(ctx context.Context) error {
	var bindings v1beta1.TargetGroupBindingList
	named := client.MatchingFields{p.Frontend.GroupField(): p.group.String()}
	if err := p.Client.List(ctx, &bindings, named, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing TargetGroupBindings: %w", err)
	}
	isIts := map[string]bool{p.group.Namespace: !p.group.IsExplicit()} // by namespace, and by ARN of the target group
	for _, namespace := range p.namespaces() {
		isIts[namespace] = true
	}
	for _, group := range p.seen.TargetGroups {
		isIts[group.ARN] = p.group.IsExplicit()
	}
	isEnding := p.group.IsExplicit() && p.isEmpty()
	for i := range bindings.Items {
		if b := &bindings.Items[i]; isEnding || isIts[b.Namespace] || isIts[b.Spec.TargetGroupARN] {
			p.seen.Bindings = append(p.seen.Bindings, apply.Binding(b.DeepCopy()))
		}
	}
	return nil
}

// complete reads what else the wanted stack is compared with. What cannot be read stays as it is, and all else goes on.
func (p observer) complete(ctx context.Context) error {
	read, unknown := p.View.Complete(ctx, p.wanted)
	if read {
		bindings := p.seen.Bindings
		seen, err := p.View.Stack(ctx, p.id)
		if err != nil {
			return err
		}
		p.seen = seen
		p.leaveOthers()
		p.seen.Bindings = bindings
	}
	if unknown != nil {
		p.leaveUnknown(unknown)
	}
	return ctx.Err()
}

// leaveUnknown has what is not known count as what is wanted; attributes that are not known do anyhow.
func (p observer) leaveUnknown(why error) {
	for i := range p.seen.LoadBalancers {
		b, wanted := &p.seen.LoadBalancers[i], &p.wanted.LoadBalancers[0]
		p.unknownACL = p.unknownACL || isUnknown(wanted.WebACL, b.WebACL) || isUnknown(wanted.ClassicACL, b.ClassicACL)
		b.WebACL, b.ClassicACL = cmp.Or(b.WebACL, wanted.WebACL), cmp.Or(b.ClassicACL, wanted.ClassicACL)
		b.Capacity = cmp.Or(b.Capacity, wanted.Capacity) // an unknown protection is left alone anyhow
	}
	for _, member := range p.members.Active {
		p.faults = append(p.faults, fault.Fault{Member: member.Name, Kind: fault.Warning,
			Reason: "attributes, the web ACL or the capacity could not be read and stay as they are: " + awserr.Message(why)})
	}
	p.failing = true
	p.soon(unknownPause)
}

// unknownPause is when it is asked again for what could not be read. AWS allows few of these calls, and those of WAF and Shield, while they
// fail, are made once a minute for all groups.
const unknownPause = time.Minute

// isUnknown reports whether a web ACL is wanted and it is not known which one there is.
func isUnknown(wanted, seen *string) bool { return seen == nil && wanted != nil && *wanted != "" }

// leavingPause is how often it is looked whether a member that leaves is served by its new group.
const leavingPause = 30 * time.Second

// keepLeaving holds the members that another group has for as long as clients may come here for them: until that group has written its
// load balancer into their status, and some time on. Those for which that is over are inactive.
func (p *pass) keepLeaving() {
	var kept []client.Object
	for _, member := range p.members.Leaving {
		stays := p.memory.staying(member.GetUID(), statuses{p}.isServed(member), p.Clock.Now(), p.SettleTime)
		if len(p.seen.LoadBalancers) == 0 || stays == 0 {
			p.members.Inactive = append(p.members.Inactive, member)
			continue
		}
		kept = append(kept, member)
		name := frontend.NameOf(member)
		fault := fault.Fault{Member: name, Reason: "it stays until its new group serves it"}
		p.members.Active = append(p.members.Active, frontend.Member{Name: name, Object: member, Fault: &fault})
		p.soon(stays)
	}
	p.members.Leaving, p.lookups = kept, lookups{}
}

// hasMembers reports whether somebody asks for something.
func (p *pass) hasMembers() bool { return len(p.members.Active)+len(p.members.Leaving) > 0 }

// namespaces are those of all members, also of those that leave.
func (p *pass) namespaces() (out []string) {
	for _, m := range p.members.Active {
		out = append(out, m.Object.GetNamespace())
	}
	for _, i := range slices.Concat(p.members.Inactive, p.members.Leaving) {
		out = append(out, i.GetNamespace())
	}
	return out
}

// untilOld is when the next pass over a group comes though nothing changes: not an interval after this one, which may have come long after
// what it knows was read, but when that is as old. Where it is so now, this pass has read nothing, as the group has nothing to be read.
func (r *Reconciler) untilOld() time.Duration {
	if r.Fresh == nil {
		return r.DriftInterval
	}
	if fresh := r.Fresh(); fresh > 0 {
		return min(r.DriftInterval, fresh)
	}
	return r.DriftInterval / 10
}
