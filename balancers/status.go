// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers/ingress"
	"github.com/targetgate/targetgate/balancers/plan"
	"github.com/targetgate/targetgate/balancers/stack"
)

// DefaultSettleTime is enough for DNS records that others make of the status, their time to live, and clients that keep addresses and
// connections.
const DefaultSettleTime = 10 * time.Minute

// writeStatuses writes the load balancer into the status of each active member, also while it is provisioned, and takes it out
// of the status of those that have left.
func (p *pass) writeStatuses(ctx context.Context) (errs error) {
	if shown := p.shown(); shown != nil {
		for _, member := range p.members.Active {
			if p.isToShow(member.Ingress, shown) {
				_, err := p.writeStatus(ctx, member.Ingress, statusOf(shown))
				errs = join(errs, err)
			}
		}
		if errs == nil {
			p.noteMoved(shown)
		}
	}
	for i, member := range p.members.Inactive {
		if p.isToForget(member) {
			written, err := p.writeStatus(ctx, member, nil)
			p.members.Inactive[i], errs = written, join(errs, err)
		}
	}
	return errs
}

// isToShow reports whether the status of an active member is to have the load balancer.
func (p *pass) isToShow(member *networkingv1.Ingress, shown *stack.LoadBalancer) bool {
	return !p.isLeaving(member) && !p.unclaimed[member.UID] && !p.mustWait(member, shown)
}

// isToForget reports whether the status of an inactive member is to be emptied.
func (p *pass) isToForget(member *networkingv1.Ingress) bool {
	return member.DeletionTimestamp == nil && p.names[hostname(member)]
}

// shown is the load balancer that clients are to find; nil for none. While one replaces another, it is the old one until all that the old
// one may go for is there.
func (p *pass) shown() *stack.LoadBalancer {
	balancers := p.seen.LoadBalancers
	for _, wait := range p.result.Waits {
		isNew := func(b stack.LoadBalancer) bool {
			return wait.Settled != (stack.Ref{}) && b.ARN != wait.Settled.ID && !p.isUnguarded(&b)
		}
		if i := slices.IndexFunc(balancers, isNew); i >= 0 {
			return &balancers[i]
		}
	}
	for i := range balancers {
		for _, member := range p.members.Active {
			if hasName(member.Ingress, balancers[i]) {
				return &balancers[i]
			}
		}
	}
	if len(p.wanted.LoadBalancers) > 0 {
		scheme := p.wanted.LoadBalancers[0].Scheme
		if i := slices.IndexFunc(balancers, func(b stack.LoadBalancer) bool { return b.Scheme == scheme }); i >= 0 {
			return &balancers[i]
		}
	}
	if len(balancers) == 0 {
		return nil
	}
	return &balancers[0]
}

// isUnguarded reports whether a load balancer lacks the web ACL that is wanted, as the pass has not set it. Where that is not known, one
// that clients have been sent to counts as guarded.
func (p *pass) isUnguarded(balancer *stack.LoadBalancer) bool {
	if p.unknownACL {
		return !slices.ContainsFunc(p.members.Active, func(m ingress.Member) bool { return hasName(m.Ingress, *balancer) })
	}
	sets := func(s plan.Step) bool {
		c, is := s.Change.(plan.SetWebACL)
		return is && c.WebACL != "" && (c.LoadBalancer.ID == balancer.ARN || c.LoadBalancer.ID == "" && !slices.Contains(p.before, balancer.ARN))
	}
	isSet := func(s plan.Step) bool { _, is := s.Change.(plan.SetWebACL); return is }
	return slices.ContainsFunc(p.steps, sets) && !slices.ContainsFunc(p.result.Done, isSet)
}

// mustWait reports whether clients of the member are served elsewhere, and would not be here yet, or without the web ACL.
func (p *pass) mustWait(member *networkingv1.Ingress, shown *stack.LoadBalancer) bool {
	if hostname(member) == "" {
		return p.isUnguarded(shown)
	}
	if p.isServed(member) || shown.Active && !p.awaits(member) && len(p.result.LeftOut) == 0 {
		return false
	}
	p.soon(leavingPause)
	return true
}

// awaits reports whether something that is to serve the member does not yet. What is for another member alone does not count.
func (p *pass) awaits(member *networkingv1.Ingress) bool {
	return slices.ContainsFunc(slices.Concat(p.result.Waits, p.result.Behind), func(w plan.Wait) bool {
		owner := ownerOfGroup(w.Healthy, p.wanted, p.seen)
		return owner == "" || owner == nameOf(member)
	})
}

func (p *pass) isLeaving(member *networkingv1.Ingress) bool {
	return slices.ContainsFunc(p.leaving, func(other *networkingv1.Ingress) bool { return other.UID == member.UID })
}

// isServed reports whether the member's status has the name of one of the group's load balancers.
func (p *pass) isServed(member *networkingv1.Ingress) bool {
	return slices.ContainsFunc(p.seen.LoadBalancers, func(b stack.LoadBalancer) bool { return hasName(member, b) })
}

func hasName(member *networkingv1.Ingress, balancer stack.LoadBalancer) bool {
	return hostname(member) != "" && hostname(member) == strings.ToLower(balancer.DNSName)
}

func hostname(member *networkingv1.Ingress) string {
	if entries := member.Status.LoadBalancer.Ingress; len(entries) > 0 {
		return entries[0].Hostname
	}
	return ""
}

// statusOf has the ports of all listeners, in order; as with the incumbent, all members have the same.
func statusOf(balancer *stack.LoadBalancer) []networkingv1.IngressLoadBalancerIngress {
	entry := networkingv1.IngressLoadBalancerIngress{Hostname: strings.ToLower(balancer.DNSName)}
	var ports []int32
	for _, listener := range balancer.Listeners {
		ports = append(ports, listener.Port)
	}
	slices.Sort(ports)
	for _, port := range ports {
		entry.Ports = append(entry.Ports, networkingv1.IngressPortStatus{Port: port})
	}
	return []networkingv1.IngressLoadBalancerIngress{entry}
}

// writeStatus writes the status if it differs in host names or ports, and returns the Ingress as it is then.
func (p *pass) writeStatus(
	ctx context.Context, member *networkingv1.Ingress, entries []networkingv1.IngressLoadBalancerIngress,
) (*networkingv1.Ingress, error) {
	if isStatus(member, entries) {
		return member, nil
	}
	changed := member.DeepCopy()
	changed.Status.LoadBalancer.Ingress = entries
	err := client.IgnoreNotFound(p.Client.Status().Patch(ctx, changed, client.MergeFrom(member)))
	if err != nil {
		p.warn(member, reasonUpdateStatus, "Failed update status due to %v", err)
		return member, fmt.Errorf("writing status of Ingress %s: %w", nameOf(member), err)
	}
	return changed, nil
}

// isStatus reports whether the status has these already.
func isStatus(member *networkingv1.Ingress, entries []networkingv1.IngressLoadBalancerIngress) bool {
	return slices.Equal(shape(member.Status.LoadBalancer.Ingress), shape(entries))
}

// shape is what counts of a status.
func shape(entries []networkingv1.IngressLoadBalancerIngress) (out []string) {
	for _, entry := range entries {
		out = append(out, entry.Hostname)
		for _, port := range entry.Ports {
			out = append(out, fmt.Sprint(port.Port))
		}
	}
	return out
}

// noteNames remembers the names of the load balancers that are there in this pass.
func (p *pass) noteNames() {
	for _, balancer := range p.seen.LoadBalancers {
		p.names[strings.ToLower(balancer.DNSName)] = true
	}
}

// noteMoved takes in that of the group's load balancers this one alone is in a status, apart from those of members whose status is not
// ours to write now.
func (p *pass) noteMoved(shown *stack.LoadBalancer) {
	for _, balancer := range p.seen.LoadBalancers {
		isKnown := func(member ingress.Member) bool {
			return hasName(member.Ingress, balancer) && !p.isToShow(member.Ingress, shown)
		}
		if balancer.ARN == shown.ARN || slices.ContainsFunc(p.members.Active, isKnown) {
			p.memory.movedTo(balancer.ARN)
		} else {
			p.memory.movedFrom(balancer.ARN, p.Clock.Now())
		}
	}
}

// unsettled is for how long the load balancer must still serve, 0 for no longer.
func (p *pass) unsettled(arn string) time.Duration {
	return p.memory.unsettled(arn, p.Clock.Now(), p.SettleTime)
}
