// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"cmp"
	"slices"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

func (n *noting) loadBalancer(change steps.Change) bool {
	switch c := change.(type) {
	case steps.CreateLoadBalancer:
		b := copyOf(c.LoadBalancer)
		b.Capacity, b.Protection = new(int32), &stack.Protection{}
		b.ARN, b.DNSName, b.Active, b.SpareName = n.done.ID, n.done.DNSName, false, ""
		b.Name = cmp.Or(n.done.Name, b.Name)
		b.SecurityGroups, b.Attributes, b.Listeners, b.WebACL = ids(b.SecurityGroups), map[string]string{}, nil, new(string)
		b.ClassicACL = new(string)
		slices.Sort(b.Subnets)
		n.create(b.Tags)
		n.seen.LoadBalancers = append(n.seen.LoadBalancers, b)
	case steps.DeleteLoadBalancer:
		n.remove(c.LoadBalancer.ID)
		n.seen.LoadBalancers = slices.DeleteFunc(n.seen.LoadBalancers, func(b stack.LoadBalancer) bool { return b.ARN == c.LoadBalancer.ID })
		for i := range n.seen.TargetGroups {
			g := &n.seen.TargetGroups[i]
			g.LoadBalancers = slices.DeleteFunc(g.LoadBalancers, func(arn string) bool { return arn == c.LoadBalancer.ID })
		}
	default:
		return n.loadBalancerSetting(change)
	}
	return true
}

func (n *noting) loadBalancerSetting(change steps.Change) bool {
	switch c := change.(type) {
	case steps.SetSubnets:
		n.eachLoadBalancer(c.LoadBalancer, func(b *stack.LoadBalancer) { b.SetSubnets(c.Subnets, c.Allocations) })
	case steps.SetSecurityGroups:
		n.eachLoadBalancer(c.LoadBalancer, func(b *stack.LoadBalancer) { b.SecurityGroups = ids(c.Groups) })
	case steps.SetAddressType:
		n.eachLoadBalancer(c.LoadBalancer, func(b *stack.LoadBalancer) { b.AddressType = c.AddressType })
	case steps.SetLoadBalancerAttributes:
		n.eachLoadBalancer(c.LoadBalancer, func(b *stack.LoadBalancer) { merge(b.Attributes, c.Attributes) })
	case steps.SetIPAMPool:
		n.eachLoadBalancer(c.LoadBalancer, func(b *stack.LoadBalancer) { b.IPAMPool = c.Pool })
	case steps.SetCapacity:
		n.eachLoadBalancer(c.LoadBalancer, func(b *stack.LoadBalancer) { b.Capacity = &c.Units })
	default:
		return n.guard(change)
	}
	return true
}

// guard is for what guards a load balancer. When it gets a web ACL of one kind, AWS may take the one of the other kind off.
func (n *noting) guard(change steps.Change) bool {
	switch c := change.(type) {
	case steps.Protect:
		n.eachLoadBalancer(c.LoadBalancer, func(b *stack.LoadBalancer) { b.Protection = nil }) // its ID is read when it is needed
	case steps.Unprotect:
		n.eachLoadBalancer(c.LoadBalancer, func(b *stack.LoadBalancer) { b.Protection = &stack.Protection{} })
	case steps.SetWebACL:
		n.eachLoadBalancer(c.LoadBalancer, func(b *stack.LoadBalancer) {
			if b.WebACL = &c.WebACL; c.WebACL != "" {
				b.ClassicACL = nil
			}
		})
	case steps.SetClassicACL:
		n.eachLoadBalancer(c.LoadBalancer, func(b *stack.LoadBalancer) {
			if b.ClassicACL = &c.ID; c.ID != "" {
				b.WebACL = nil
			}
		})
	default:
		return false
	}
	return true
}

// ids are references as they are seen.
func ids(refs []stack.Ref) (out []stack.Ref) {
	for _, ref := range refs {
		out = append(out, stack.Ref{ID: ref.ID})
	}
	return out
}

func (n *noting) eachLoadBalancer(ref stack.Ref, do func(*stack.LoadBalancer)) {
	if b := n.findLoadBalancer(ref.ID); b != nil {
		do(b)
	}
}

func (n *noting) findLoadBalancer(arn string) *stack.LoadBalancer {
	for i := range n.seen.LoadBalancers {
		if n.seen.LoadBalancers[i].ARN == arn {
			return &n.seen.LoadBalancers[i]
		}
	}
	return nil
}

func (n *noting) listener(change steps.Change) bool {
	switch c := change.(type) {
	case steps.CreateListener:
		n.makes(nil)
		n.eachLoadBalancer(c.LoadBalancer, func(b *stack.LoadBalancer) {
			l := copyOf(c.Listener)
			l.ARN, l.Rules, l.Attributes = n.done.ID, nil, map[string]string{}
			l.Certificates, l.Default = l.Certificates[:min(1, len(l.Certificates))], seenAction(l.Default)
			b.Listeners = append(b.Listeners, l)
		})
	case steps.ModifyListener:
		n.eachListener(c.Listener, func(l *stack.Listener) {
			l.Protocol, l.SSLPolicy, l.Default = c.To.Protocol, c.To.SSLPolicy, seenAction(copyOf(c.To.Default))
			if c.To.MutualAuth != nil {
				l.MutualAuth = copyOf(c.To.MutualAuth)
			}
			if l.Certificates = slices.Concat(c.To.Certificates[:min(1, len(c.To.Certificates))], l.SNI()); l.Protocol == "HTTP" {
				l.Certificates = nil
			}
		})
	case steps.SetListenerAttributes:
		n.eachListener(c.Listener, func(l *stack.Listener) { merge(l.Attributes, c.Attributes) })
	case steps.DeleteListener:
		n.remove(c.Listener.ID)
		for i := range n.seen.LoadBalancers {
			b := &n.seen.LoadBalancers[i]
			b.Listeners = slices.DeleteFunc(b.Listeners, func(l stack.Listener) bool { return l.ARN == c.Listener.ID })
		}
	default:
		return n.certificate(change)
	}
	return true
}

func (n *noting) certificate(change steps.Change) bool {
	switch c := change.(type) {
	case steps.AddCertificate:
		n.eachListener(c.Listener, func(l *stack.Listener) {
			if !slices.Contains(l.SNI(), c.Certificate) {
				l.Certificates = append(l.Certificates, c.Certificate)
			}
		})
	case steps.RemoveCertificate:
		n.eachListener(c.Listener, func(l *stack.Listener) {
			if i := slices.Index(l.SNI(), c.Certificate); i >= 0 {
				l.Certificates = slices.Delete(l.Certificates, i+1, i+2)
			}
		})
	default:
		return false
	}
	return true
}

func (n *noting) eachListener(ref stack.Ref, do func(*stack.Listener)) {
	if l := n.findListener(ref.ID); l != nil {
		do(l)
	}
}

func (n *noting) findListener(arn string) *stack.Listener {
	for i := range n.seen.LoadBalancers {
		for j := range n.seen.LoadBalancers[i].Listeners {
			if l := &n.seen.LoadBalancers[i].Listeners[j]; l.ARN == arn {
				return l
			}
		}
	}
	return nil
}

func (n *noting) rule(change steps.Change) bool {
	switch c := change.(type) {
	case steps.CreateRule:
		n.makes(nil)
		n.eachListener(c.Listener, func(l *stack.Listener) {
			r := copyOf(c.Rule)
			r.ARN, r.Owner, r.Action = n.done.ID, "", seenAction(r.Action)
			l.Rules = append(l.Rules, r)
			sortRules(l)
		})
	case steps.ModifyRule:
		if l, i := n.findRule(c.Rule.ID); l != nil {
			to := copyOf(c.To)
			l.Rules[i].Conditions, l.Rules[i].Action, l.Rules[i].Transforms = to.Conditions, seenAction(to.Action), to.Transforms
		}
	case steps.SetPriorities:
		for _, p := range c.Priorities {
			if l, i := n.findRule(p.Rule.ID); l != nil {
				l.Rules[i].Priority = p.Priority
			}
		}
		n.eachListener(c.Listener, sortRules)
	case steps.DeleteRule:
		n.remove(c.Rule.ID)
		if l, i := n.findRule(c.Rule.ID); l != nil {
			l.Rules = slices.Delete(l.Rules, i, i+1)
		}
	default:
		return false
	}
	return true
}

func (n *noting) findRule(arn string) (*stack.Listener, int) {
	for i := range n.seen.LoadBalancers {
		for j := range n.seen.LoadBalancers[i].Listeners {
			l := &n.seen.LoadBalancers[i].Listeners[j]
			if k := slices.IndexFunc(l.Rules, func(r stack.Rule) bool { return r.ARN == arn }); k >= 0 {
				return l, k
			}
		}
	}
	return nil, 0
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

// attach notes which load balancers' listeners send to each target group.
func (n *noting) attach() {
	for i := range n.seen.TargetGroups {
		g := &n.seen.TargetGroups[i]
		for j := range n.seen.LoadBalancers {
			b := &n.seen.LoadBalancers[j]
			if !n.detailed {
				continue // its listeners are not known
			}
			g.LoadBalancers = slices.DeleteFunc(g.LoadBalancers, func(arn string) bool { return arn == b.ARN })
			if sendsTo(b, g.ARN) {
				g.LoadBalancers = append(g.LoadBalancers, b.ARN)
			}
		}
	}
}

func sendsTo(b *stack.LoadBalancer, group string) bool {
	has := func(a stack.Action) bool {
		return a.Forward != nil && slices.ContainsFunc(a.Forward.Groups, func(w stack.Weighted) bool { return w.Group.ID == group })
	}
	return slices.ContainsFunc(b.Listeners, func(l stack.Listener) bool {
		return has(l.Default) || slices.ContainsFunc(l.Rules, func(r stack.Rule) bool { return has(r.Action) })
	})
}
