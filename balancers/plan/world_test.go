// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/targetgate/targetgate/balancers/plan/actions"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// world is what AWS and the cluster have, with what stands in front in the same lists. It refuses what they would.
type world struct {
	stack.Stack
	inFront string // ARN of the Network Load Balancer that clients come to
	limit   int
	// certificates is how many a load balancer may have, the default ones not counted; 0 for any number.
	certificates int
	// groups is how many target groups a load balancer may name; 0 for any number.
	groups  int
	next    int
	made    map[string]string // ID by kind and part, of those that the present plan has made
	healthy map[string]bool   // target groups, by ARN
	client  string            // ARN of the load balancer that clients come to
	lenient bool              // target groups answer though they are not healthy
	// letIn are the security groups that targets let in by the rules of their bindings, by the bindings' names; nil where that does not
	// count.
	letIn map[string]string
	// protected load balancers are not deleted; refusals are how often that was asked for.
	protected bool
	refusals  int
}

var errNoSecret = errors.New("a client has no secret")

func (w *world) clone() *world {
	c := *w
	c.made, c.healthy, c.letIn = maps.Clone(w.made), maps.Clone(w.healthy), maps.Clone(w.letIn)
	c.SecurityGroups, c.TargetGroups = slices.Clone(w.SecurityGroups), slices.Clone(w.TargetGroups)
	c.Bindings, c.LoadBalancers = slices.Clone(w.Bindings), slices.Clone(w.LoadBalancers)
	for i := range c.LoadBalancers {
		b := &c.LoadBalancers[i]
		b.Listeners = slices.Clone(b.Listeners)
		for j := range b.Listeners {
			b.Listeners[j].Rules = slices.Clone(b.Listeners[j].Rules)
		}
	}
	return &c
}

func (w *world) make(kind, part string) string {
	w.next++
	id := fmt.Sprintf("%s-%d", kind, w.next)
	w.made[kind+part] = id
	return id
}

func (w *world) id(kind string, ref stack.Ref) string {
	if ref.ID != "" {
		return ref.ID
	}
	return w.made[kind+ref.Part]
}

// await makes true what a step waits for, or refuses to when it never would be.
func (w *world) await(wait *steps.Wait) error {
	switch {
	case wait == nil:
	case wait.Healthy != (stack.Ref{}):
		id := w.id("tg", wait.Healthy)
		bound := slices.ContainsFunc(w.Bindings, func(b stack.Binding) bool { return b.Group.ID == id })
		g := w.group(id)
		if g == nil || !bound && g.Target.ID == "" || len(g.LoadBalancers) == 0 {
			return fmt.Errorf("waits for ever for %s: bound %v", id, bound)
		}
		w.healthy[id] = true
	case wait.Gone != (stack.Ref{}):
		if w.balancer(wait.Gone) != nil {
			return fmt.Errorf("waits for ever for %s to be gone", wait.Gone.ID)
		}
	case wait.Open != (stack.Ref{}):
		w.grant()
	case wait.Settled != (stack.Ref{}):
		w.leave(w.balancer(wait.Settled))
	}
	return nil
}

// grant has all rules be there that bindings ask for, and no others.
func (w *world) grant() {
	for _, b := range w.Bindings {
		if w.letIn != nil {
			w.letIn[b.Name] = b.Spec.Peer.ID
		}
	}
}

// open are the target groups whose targets let in the load balancer that clients come to, which sends to them. What sg-given is let in to is
// the user's business.
func (w *world) open() map[string]bool {
	out := map[string]bool{}
	for _, b := range w.LoadBalancers {
		for _, binding := range w.Bindings {
			isLetIn := func(g stack.Ref) bool { return g.ID == "sg-given" || g.ID == w.letIn[binding.Name] }
			if w.letIn != nil && b.ARN == w.client && actions.AnySendsTo(&b, binding.Group) {
				out[binding.Group.ID] = slices.ContainsFunc(b.SecurityGroups, isLetIn)
			}
		}
	}
	return out
}

// staysOpen says which target group does not let in the load balancer any more that sends to it.
func (w *world) staysOpen(before map[string]bool) error {
	for group, open := range w.open() {
		if before[group] && !open {
			return fmt.Errorf("targets of %s let in %v, not the load balancer's %v", group, w.letIn, w.balancer(stack.Ref{ID: w.client}).SecurityGroups)
		}
	}
	return nil
}

// leave has clients come to another load balancer than this one.
func (w *world) leave(old *stack.LoadBalancer) {
	client := &w.client
	if old.Network {
		client = &w.inFront
		w.inFront = ""
	}
	for _, b := range w.LoadBalancers {
		if b.ARN != old.ARN && b.Network == old.Network {
			*client = b.ARN
		}
	}
}

// seen is what is seen of it.
func (w *world) seen() stack.Stack {
	out, front := w.Stack, stack.Stack{ID: w.ID}
	out.Bindings = slices.Clone(w.Bindings)
	for i := range out.Bindings {
		if b := &out.Bindings[i]; w.letIn[b.Name] != b.Spec.Peer.ID {
			b.Awaited = "rules are not there yet"
		}
	}
	out.LoadBalancers, out.TargetGroups = nil, nil
	for _, b := range w.LoadBalancers {
		b.InStatus = b.ARN == w.client
		if b.Network {
			front.LoadBalancers = append(front.LoadBalancers, b)
		} else {
			out.LoadBalancers = append(out.LoadBalancers, b)
		}
	}
	for _, g := range w.TargetGroups {
		if stack.IsFrontGroup(g.Part) {
			front.TargetGroups = append(front.TargetGroups, g)
		} else {
			out.TargetGroups = append(out.TargetGroups, g)
		}
	}
	if len(front.LoadBalancers)+len(front.TargetGroups) > 0 {
		out.Front = &front
	}
	return out
}

// opened are the ports of the Network Load Balancer that lead to a listener.
func (w *world) opened() map[int32]bool {
	open := map[int32]bool{}
	for _, b := range w.LoadBalancers {
		for _, l := range b.Listeners {
			if b.ARN != w.inFront {
				continue
			}
			for _, group := range l.Default.Forward.Groups {
				if actions.SendsTo(l.Default, group.Group) && w.leads(w.group(group.Group.ID)) {
					open[l.Port] = true
				}
			}
		}
	}
	return open
}

// leads reports whether a target group has a load balancer as its target that listens there.
func (w *world) leads(g *stack.TargetGroup) bool {
	if g == nil || g.Target.ID == "" {
		return false
	}
	b := w.balancer(g.Target)
	return b != nil && slices.ContainsFunc(b.Listeners, func(l stack.Listener) bool { return l.Port == g.TargetPort })
}

// isTarget reports whether a load balancer is the target of one, at the port or at any if it is 0.
func (w *world) isTarget(arn string, port int32) bool {
	return slices.ContainsFunc(w.TargetGroups, func(g stack.TargetGroup) bool { return g.Target.ID == arn && (port == 0 || g.TargetPort == port) })
}

func (w *world) group(id string) *stack.TargetGroup {
	for i := range w.TargetGroups {
		if w.TargetGroups[i].ARN == id {
			return &w.TargetGroups[i]
		}
	}
	return nil
}

func (w *world) balancer(ref stack.Ref) *stack.LoadBalancer {
	id := w.id("lb", ref)
	for i := range w.LoadBalancers {
		if w.LoadBalancers[i].ARN == id {
			return &w.LoadBalancers[i]
		}
	}
	return nil
}

func (w *world) listener(ref stack.Ref) (*stack.LoadBalancer, *stack.Listener) {
	id := w.id("ls", ref)
	for i := range w.LoadBalancers {
		for j := range w.LoadBalancers[i].Listeners {
			if w.LoadBalancers[i].Listeners[j].ARN == id {
				return &w.LoadBalancers[i], &w.LoadBalancers[i].Listeners[j]
			}
		}
	}
	return nil, nil
}

func (w *world) rule(ref stack.Ref) *stack.Rule {
	id := w.id("rule", ref)
	for i := range w.LoadBalancers {
		for j := range w.LoadBalancers[i].Listeners {
			l := &w.LoadBalancers[i].Listeners[j]
			for k := range l.Rules {
				if l.Rules[k].ARN == id {
					return &l.Rules[k]
				}
			}
		}
	}
	return nil
}

// lacksSecret reports whether an action has a client that logs users in without its secret, and what has another action now has none either.
func lacksSecret(to, has stack.Action) bool {
	oidc := func(a stack.Action) *stack.OIDC {
		if a.Auth == nil {
			return nil
		}
		return a.Auth.OIDC
	}
	now, before := oidc(to), oidc(has)
	return now != nil && now.Secret == "" && (before == nil || before.ClientID != now.ClientID)
}

// action is one as it is seen.
func (w *world) action(a stack.Action) stack.Action {
	if a.Auth != nil && a.Auth.OIDC != nil {
		client := *a.Auth.OIDC
		client.Secret, a.Auth = "", &stack.Auth{OIDC: &client}
	}
	if a.Forward == nil {
		return a
	}
	f := stack.Forward{Sticky: a.Forward.Sticky}
	for _, g := range a.Forward.Groups {
		g.Group = stack.Ref{ID: w.id("tg", g.Group)}
		f.Groups = append(f.Groups, g)
	}
	a.Forward = &f
	return a
}

// do does a change, and then finds out which load balancer sends to which target group.
func (w *world) do(change steps.Change) error {
	if err := w.apply(change); err != nil {
		return fmt.Errorf("%T %+v: %w", change, change, err)
	}
	for i := range w.TargetGroups {
		g := &w.TargetGroups[i]
		g.LoadBalancers = nil
		for _, b := range w.LoadBalancers {
			if refers(&b, g.ARN) {
				g.LoadBalancers = append(g.LoadBalancers, b.ARN)
			}
		}
		if len(g.LoadBalancers) > 1 {
			return fmt.Errorf("%T: target group %s has two load balancers", change, g.ARN)
		}
	}
	for _, b := range w.LoadBalancers {
		n, certificates := 0, 0
		for _, l := range b.Listeners {
			n += len(l.Rules)
			certificates += len(l.SNI())
		}
		named := actions.Named{}
		for _, l := range b.Listeners {
			named.AddAll(&l)
		}
		if w.groups > 0 && len(named) > w.groups {
			return fmt.Errorf("%T: %d target groups", change, len(named))
		}
		if w.certificates > 0 && certificates > w.certificates {
			return fmt.Errorf("%T: %d certificates", change, certificates)
		}
		if n > w.limit {
			return fmt.Errorf("%T: %d rules", change, n)
		}
	}
	return nil
}

func refers(b *stack.LoadBalancer, id string) bool {
	ref := stack.Ref{ID: id}
	for _, l := range b.Listeners {
		if actions.Names(l.Default, ref) || slices.ContainsFunc(l.Rules, func(r stack.Rule) bool { return actions.Names(r.Action, ref) }) {
			return true
		}
	}
	return false
}

func (w *world) apply(change steps.Change) error {
	switch c := change.(type) {
	case steps.Nothing, steps.SetHealthCheck, steps.SetWebACL, steps.SetClassicACL, steps.Protect, steps.Unprotect:
		return nil
	case steps.CreateSecurityGroup, steps.Authorize, steps.Revoke, steps.DeleteSecurityGroup:
		return w.applySecurityGroup(change)
	case steps.CreateTargetGroup, steps.SetTargetGroupAttributes, steps.RegisterLoadBalancer, steps.DeleteTargetGroup:
		return w.applyTargetGroup(change)
	case steps.CreateBinding, steps.UpdateBinding, steps.DeleteBinding:
		return w.applyBinding(change)
	case steps.SetIPAMPool, steps.SetCapacity, steps.CreateLoadBalancer, steps.SetSubnets, steps.SetSecurityGroups, steps.SetAddressType, steps.SetLoadBalancerAttributes, steps.DeleteLoadBalancer:
		return w.applyLoadBalancer(change)
	case steps.CreateListener, steps.ModifyListener, steps.SetListenerAttributes, steps.AddCertificate, steps.RemoveCertificate, steps.DeleteListener:
		return w.applyListener(change)
	case steps.CreateRule, steps.ModifyRule, steps.SetPriorities, steps.DeleteRule:
		return w.applyRule(change)
	case steps.Tag:
		return w.retag(c.Of, c.Tags, nil)
	case steps.Untag:
		return w.retag(c.Of, nil, c.Keys)
	}
	return fmt.Errorf("unknown change")
}

func (w *world) retag(of stack.Ref, add map[string]string, remove []string) error {
	edit := func(id string, tags *map[string]string) {
		if id == of.ID {
			*tags = maps.Clone(*tags)
			if *tags == nil {
				*tags = map[string]string{}
			}
			maps.Copy(*tags, add)
			for _, key := range remove {
				delete(*tags, key)
			}
		}
	}
	for i := range w.SecurityGroups {
		edit(w.SecurityGroups[i].ID, &w.SecurityGroups[i].Tags)
	}
	for i := range w.TargetGroups {
		edit(w.TargetGroups[i].ARN, &w.TargetGroups[i].Tags)
	}
	for i := range w.LoadBalancers {
		b := &w.LoadBalancers[i]
		edit(b.ARN, &b.Tags)
		for j := range b.Listeners {
			edit(b.Listeners[j].ARN, &b.Listeners[j].Tags)
			for k := range b.Listeners[j].Rules {
				edit(b.Listeners[j].Rules[k].ARN, &b.Listeners[j].Rules[k].Tags)
			}
		}
	}
	return nil
}

func (w *world) applySecurityGroup(change steps.Change) error {
	find := func(ref stack.Ref) *stack.SecurityGroup {
		for i := range w.SecurityGroups {
			if w.SecurityGroups[i].ID == w.id("sg", ref) {
				return &w.SecurityGroups[i]
			}
		}
		return nil
	}
	switch c := change.(type) {
	case steps.CreateSecurityGroup:
		if slices.ContainsFunc(w.SecurityGroups, func(g stack.SecurityGroup) bool { return g.Name == c.Group.Name }) {
			return nil
		}
		c.Group.ID, c.Group.Inbound = w.make("sg", c.Group.Tags["ingress.k8s.aws/resource"]), nil
		w.SecurityGroups = append(w.SecurityGroups, c.Group)
	case steps.Authorize:
		g := find(c.Group)
		if g == nil {
			return fmt.Errorf("no such group")
		}
		g.Inbound = append(slices.Clone(g.Inbound), without(c.Rules, g.Inbound)...)
	case steps.Revoke:
		g := find(c.Group)
		g.Inbound = without(g.Inbound, c.Rules)
	case steps.DeleteSecurityGroup:
		for _, b := range w.LoadBalancers {
			if slices.ContainsFunc(b.SecurityGroups, func(r stack.Ref) bool { return r.ID == c.Group.ID }) {
				return fmt.Errorf("in use")
			}
		}
		w.SecurityGroups = slices.DeleteFunc(w.SecurityGroups, func(g stack.SecurityGroup) bool { return g.ID == c.Group.ID })
	}
	return nil
}

func (w *world) applyTargetGroup(change steps.Change) error {
	switch c := change.(type) {
	case steps.CreateTargetGroup:
		for _, g := range w.TargetGroups {
			if g.Name == c.Group.Name {
				if g.ARN == w.made["tg"+c.Group.Part] {
					return nil
				}
				return fmt.Errorf("duplicate name")
			}
		}
		c.Group.ARN, c.Group.Owner, c.Group.SpareName, c.Group.Attributes = w.make("tg", c.Group.Part), "", "", map[string]string{}
		c.Group.Target, c.Group.TargetPort = stack.Ref{}, 0
		w.TargetGroups = append(w.TargetGroups, c.Group)
	case steps.SetTargetGroupAttributes:
		g := w.group(w.id("tg", c.Group))
		g.Attributes = merged(g.Attributes, c.Attributes)
	case steps.RegisterLoadBalancer:
		g, b := w.group(w.id("tg", c.Group)), w.balancer(c.Target)
		if g == nil || b == nil || !slices.ContainsFunc(b.Listeners, func(l stack.Listener) bool { return l.Port == c.Port }) {
			return fmt.Errorf("nobody listens at port %d", c.Port)
		}
		if g.Target.ID != "" && (g.Target.ID != b.ARN || g.TargetPort != c.Port) {
			return fmt.Errorf("a second target")
		}
		g.Target, g.TargetPort = stack.Ref{ID: b.ARN}, c.Port
	case steps.DeleteTargetGroup:
		for _, b := range w.LoadBalancers {
			if refers(&b, c.Group.ID) {
				return fmt.Errorf("in use")
			}
		}
		if slices.ContainsFunc(w.Bindings, func(b stack.Binding) bool { return b.Group.ID == c.Group.ID }) {
			return fmt.Errorf("still bound")
		}
		w.TargetGroups = slices.DeleteFunc(w.TargetGroups, func(g stack.TargetGroup) bool { return g.ARN == c.Group.ID })
	}
	return nil
}

func merged(a, b map[string]string) map[string]string {
	c := map[string]string{}
	maps.Copy(c, a)
	maps.Copy(c, b)
	return c
}

func (w *world) applyBinding(change steps.Change) error {
	find := func(namespace, name string) int {
		return slices.IndexFunc(w.Bindings, func(b stack.Binding) bool { return b.Namespace == namespace && b.Name == name })
	}
	switch c := change.(type) {
	case steps.CreateBinding:
		group := stack.Ref{ID: w.id("tg", c.Binding.Group)}
		if w.group(group.ID) == nil {
			return fmt.Errorf("no target group")
		}
		if i := find(c.Binding.Namespace, c.Binding.Name); i >= 0 {
			if w.Bindings[i].Group != group {
				return fmt.Errorf("duplicate name")
			}
			return nil
		}
		c.Binding.Group, c.Binding.Spec.Peer = group, stack.Ref{ID: w.id("sg", c.Binding.Spec.Peer)}
		w.Bindings = append(w.Bindings, c.Binding)
	case steps.UpdateBinding:
		i := find(c.Binding.Namespace, c.Binding.Name)
		c.Binding.Group, c.Binding.Spec.Peer = stack.Ref{ID: w.id("tg", c.Binding.Group)}, stack.Ref{ID: w.id("sg", c.Binding.Spec.Peer)}
		if w.Bindings[i] = c.Binding; c.Binding.Spec.Networking == nil {
			delete(w.letIn, c.Binding.Name) // rules go at once, and come later
		}
	case steps.DeleteBinding:
		if i := find(c.Namespace, c.Name); i >= 0 {
			w.Bindings = slices.Delete(slices.Clone(w.Bindings), i, i+1)
			delete(w.letIn, c.Name)
		}
	}
	return nil
}

func (w *world) applyLoadBalancer(change steps.Change) error {
	switch c := change.(type) {
	case steps.CreateLoadBalancer:
		for _, b := range w.LoadBalancers {
			if b.Name == c.LoadBalancer.Name {
				if b.ARN == w.made["lb"+b.Part()] {
					return nil
				}
				return fmt.Errorf("duplicate name")
			}
		}
		b := c.LoadBalancer
		b.ARN, b.SpareName, b.Attributes = w.make("lb", b.Part()), "", map[string]string{}
		b.SecurityGroups = slices.Clone(b.SecurityGroups)
		for i, ref := range b.SecurityGroups {
			b.SecurityGroups[i] = stack.Ref{ID: w.id("sg", ref)}
		}
		w.LoadBalancers = append(w.LoadBalancers, b)
		if client := map[bool]*string{false: &w.client, true: &w.inFront}[b.Network]; *client == "" {
			*client = b.ARN
		}
	case steps.SetSubnets:
		w.balancer(c.LoadBalancer).Subnets = c.Subnets
	case steps.SetSecurityGroups:
		b := w.balancer(c.LoadBalancer)
		b.SecurityGroups = nil
		for _, ref := range c.Groups {
			b.SecurityGroups = append(b.SecurityGroups, stack.Ref{ID: w.id("sg", ref)})
		}
	case steps.SetAddressType:
		w.balancer(c.LoadBalancer).AddressType = c.AddressType
	case steps.SetIPAMPool:
		w.balancer(c.LoadBalancer).IPAMPool = c.Pool
	case steps.SetCapacity:
		w.balancer(c.LoadBalancer).Capacity = &c.Units
	case steps.SetLoadBalancerAttributes:
		b := w.balancer(c.LoadBalancer)
		b.Attributes = merged(b.Attributes, c.Attributes)
	case steps.DeleteLoadBalancer:
		if w.isTarget(c.LoadBalancer.ID, 0) {
			return fmt.Errorf("a load balancer in front still sends to it")
		}
		if w.protected {
			w.refusals++
			return nil
		}
		w.LoadBalancers = slices.DeleteFunc(w.LoadBalancers, func(b stack.LoadBalancer) bool { return b.ARN == c.LoadBalancer.ID })
	}
	return nil
}

func (w *world) applyListener(change steps.Change) error {
	switch c := change.(type) {
	case steps.CreateListener:
		b := w.balancer(c.LoadBalancer)
		if b == nil {
			return fmt.Errorf("no load balancer")
		}
		l := c.Listener
		if slices.ContainsFunc(b.Listeners, func(o stack.Listener) bool { return o.Port == l.Port }) {
			return nil
		}
		if lacksSecret(l.Default, stack.Action{}) {
			return errNoSecret
		}
		l.ARN, l.Rules, l.Attributes = w.make("ls", l.Part()), nil, map[string]string{}
		l.Certificates, l.Default = l.Certificates[:min(1, len(l.Certificates))], w.action(l.Default)
		b.Listeners = append(b.Listeners, l)
		return nil
	case steps.ModifyListener:
		_, l := w.listener(c.Listener)
		if c.To.Protocol == "HTTP" && slices.ContainsFunc(l.Rules, func(r stack.Rule) bool { return r.Action.Auth != nil }) {
			return fmt.Errorf("a rule has an authentication")
		}
		if lacksSecret(c.To.Default, l.Default) {
			return errNoSecret
		}
		l.Protocol, l.SSLPolicy, l.Default = c.To.Protocol, c.To.SSLPolicy, w.action(c.To.Default)
		if c.To.MutualAuth != nil {
			l.MutualAuth = c.To.MutualAuth
		}
		if first := first(c.To.Certificates); first != "" {
			l.Certificates = append([]string{first}, l.SNI()...)
		} else {
			l.Certificates = nil
		}
	case steps.SetListenerAttributes:
		_, l := w.listener(c.Listener)
		l.Attributes = merged(l.Attributes, c.Attributes)
	case steps.AddCertificate:
		_, l := w.listener(c.Listener)
		if l.Protocol != "HTTPS" {
			return fmt.Errorf("a certificate for %s", l.Protocol)
		}
		if !slices.Contains(l.SNI(), c.Certificate) {
			l.Certificates = append(slices.Clone(l.Certificates), c.Certificate)
		}
	case steps.RemoveCertificate:
		_, l := w.listener(c.Listener)
		if i := slices.Index(l.SNI(), c.Certificate); i >= 0 {
			l.Certificates = slices.Delete(slices.Clone(l.Certificates), i+1, i+2)
			w.made["removed "+l.ARN+c.Certificate] = "by this plan"
		} else if first(l.Certificates) == c.Certificate && w.made["removed "+l.ARN+c.Certificate] == "" {
			return fmt.Errorf("the default certificate")
		}
	case steps.DeleteListener:
		if b, l := w.listener(c.Listener); l != nil {
			if w.isTarget(b.ARN, l.Port) {
				return fmt.Errorf("a load balancer in front still sends to it")
			}
			b.Listeners = slices.DeleteFunc(b.Listeners, func(o stack.Listener) bool { return o.ARN == c.Listener.ID })
		}
	}
	return nil
}

func (w *world) applyRule(change steps.Change) error {
	switch c := change.(type) {
	case steps.CreateRule:
		_, l := w.listener(c.Listener)
		if l == nil {
			return fmt.Errorf("no listener")
		}
		for _, r := range l.Rules {
			if r.Priority == c.Rule.Priority {
				if r.ARN == w.made["rule"+c.Part] {
					return nil
				}
				return fmt.Errorf("priority in use")
			}
		}
		if lacksSecret(c.Rule.Action, stack.Action{}) {
			return errNoSecret
		}
		if c.Rule.Action.Auth != nil && l.Protocol != "HTTPS" {
			return fmt.Errorf("an authentication over %s", l.Protocol)
		}
		c.Rule.ARN, c.Rule.Owner, c.Rule.Action = w.make("rule", c.Part), "", w.action(c.Rule.Action)
		if c.Rule.Priority < 1 || c.Rule.Priority > 50000 {
			return fmt.Errorf("priority out of range")
		}
		l.Rules = append(l.Rules, c.Rule)
	case steps.ModifyRule:
		r := w.rule(c.Rule)
		if lacksSecret(c.To.Action, r.Action) {
			return errNoSecret
		}
		r.Conditions, r.Action, r.Transforms = c.To.Conditions, w.action(c.To.Action), c.To.Transforms
	case steps.SetPriorities:
		_, l := w.listener(c.Listener)
		for _, p := range c.Priorities {
			w.rule(p.Rule).Priority = p.Priority
		}
		taken := map[int32]bool{}
		for _, r := range l.Rules {
			if taken[r.Priority] {
				return fmt.Errorf("priority %d twice", r.Priority)
			}
			taken[r.Priority] = true
		}
	case steps.DeleteRule:
		for i := range w.LoadBalancers {
			for j := range w.LoadBalancers[i].Listeners {
				l := &w.LoadBalancers[i].Listeners[j]
				l.Rules = slices.DeleteFunc(l.Rules, func(r stack.Rule) bool { return r.ARN == c.Rule.ID })
			}
		}
	}
	return nil
}
