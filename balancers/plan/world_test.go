// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
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
	made    steps.Refs      // those that the present plan has made
	removed map[string]bool // certificates, by listener, that the present plan has removed
	healthy map[string]bool // target groups, by ARN
	client  string          // ARN of the load balancer that clients come to
	lenient bool            // target groups answer though they are not healthy
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

// await makes true what a step waits for, or refuses to when it never would be.
func (w *world) await(wait *steps.Wait) error {
	switch {
	case wait == nil:
	case wait.Healthy != (stack.Ref{}):
		id := w.made.ID(wait.Healthy)
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

// group is the target group with the ARN, nil if there is none. The world has what stands in front in the same lists.
func (w *world) group(id string) *stack.TargetGroup { return w.TargetGroup(id) }

func (w *world) balancer(ref stack.Ref) *stack.LoadBalancer { return w.LoadBalancer(w.made.ID(ref)) }

// balancerOf is the one that has the listener, and that listener.
func (w *world) balancerOf(arn string) (*stack.LoadBalancer, *stack.Listener) {
	for i := range w.LoadBalancers {
		for j := range w.LoadBalancers[i].Listeners {
			if l := &w.LoadBalancers[i].Listeners[j]; l.ARN == arn {
				return &w.LoadBalancers[i], l
			}
		}
	}
	return nil, nil
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

// do does a change, and then finds out which load balancer sends to which target group.
func (w *world) do(change steps.Change) error {
	if err := w.apply(change); err != nil {
		return fmt.Errorf("%T %+v: %w", change, change, err)
	}
	w.Attach()
	for _, g := range w.TargetGroups {
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

// errThere says that what a step makes is there already, as the present plan has made it.
var errThere = errors.New("it is there")

func (w *world) apply(change steps.Change) error {
	resolved, missing := w.made.Resolve(change)
	if len(missing) > 0 {
		return fmt.Errorf("%v are not made", missing)
	}
	if err := w.refuse(resolved); errors.Is(err, errThere) {
		return nil
	} else if err != nil {
		return err
	}
	var made steps.Made
	if part, _ := steps.Created(resolved); part != "" {
		w.next++
		made.ID = fmt.Sprintf("%s-%d", kindOf(resolved), w.next)
		w.made[part] = made.ID
	}
	resolved.On(&w.Stack, made)
	if front := w.Front; front != nil {
		w.LoadBalancers, w.TargetGroups = append(w.LoadBalancers, front.LoadBalancers...), append(w.TargetGroups, front.TargetGroups...)
		w.Front = nil
	}
	w.follow(resolved, made)
	return nil
}

// kindOf begins the ID of what the change makes.
func kindOf(change steps.Change) string {
	switch change.(type) {
	case steps.CreateSecurityGroup:
		return "sg"
	case steps.CreateTargetGroup:
		return "tg"
	case steps.CreateLoadBalancer:
		return "lb"
	case steps.CreateListener:
		return "ls"
	}
	return "rule"
}

// follow has clients come to the first load balancer, and the rules of a binding go with what it asks for.
func (w *world) follow(change steps.Change, made steps.Made) {
	switch c := change.(type) {
	case steps.CreateLoadBalancer:
		if client := map[bool]*string{false: &w.client, true: &w.inFront}[c.LoadBalancer.Network]; *client == "" {
			*client = made.ID
		}
	case steps.UpdateBinding:
		if c.Binding.Spec.Networking == nil {
			delete(w.letIn, c.Binding.Name) // rules go at once, and come later
		}
	case steps.DeleteBinding:
		delete(w.letIn, c.Name)
	case steps.RemoveCertificate:
		w.removed[c.Listener.ID+c.Certificate] = true
	}
}

// refuse is why AWS or the API server refuse a change, nil if they do not.
func (w *world) refuse(change steps.Change) error {
	for _, refuse := range []func(steps.Change) error{
		w.refuseSecurityGroup, w.refuseTargetGroup, w.refuseBinding, w.refuseLoadBalancer, w.refuseListener, w.refuseCertificate, w.refuseRule,
	} {
		if err := refuse(change); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) refuseSecurityGroup(change steps.Change) error {
	switch c := change.(type) {
	case steps.CreateSecurityGroup:
		if slices.ContainsFunc(w.SecurityGroups, func(g stack.SecurityGroup) bool { return g.Name == c.Group.Name }) {
			return errThere
		}
	case steps.Authorize:
		if w.SecurityGroup(c.Group.ID) == nil {
			return errors.New("no such group")
		}
	case steps.DeleteSecurityGroup:
		for _, b := range w.LoadBalancers {
			if slices.Contains(b.SecurityGroups, stack.Ref{ID: c.Group.ID}) {
				return errors.New("in use")
			}
		}
	}
	return nil
}

func (w *world) refuseTargetGroup(change steps.Change) error {
	switch c := change.(type) {
	case steps.CreateTargetGroup:
		for _, g := range w.TargetGroups {
			if g.Name == c.Group.Name {
				return w.unlessMade(g.ARN, c.Group.Part, "duplicate name")
			}
		}
	case steps.RegisterLoadBalancer:
		g, b := w.group(c.Group.ID), w.balancer(c.Target)
		if g == nil || b == nil || !slices.ContainsFunc(b.Listeners, func(l stack.Listener) bool { return l.Port == c.Port }) {
			return fmt.Errorf("nobody listens at port %d", c.Port)
		}
		if g.Target.ID != "" && (g.Target.ID != b.ARN || g.TargetPort != c.Port) {
			return errors.New("a second target")
		}
	case steps.DeleteTargetGroup:
		for _, b := range w.LoadBalancers {
			if refers(&b, c.Group.ID) {
				return errors.New("in use")
			}
		}
		if slices.ContainsFunc(w.Bindings, func(b stack.Binding) bool { return b.Group.ID == c.Group.ID }) {
			return errors.New("still bound")
		}
	}
	return nil
}

// unlessMade is the error that a name or place is taken, unless the present plan has made what has it.
func (w *world) unlessMade(id, part, taken string) error {
	if id == w.made[part] {
		return errThere
	}
	return errors.New(taken)
}

func (w *world) refuseBinding(change steps.Change) error {
	c, is := change.(steps.CreateBinding)
	if !is {
		return nil
	}
	if w.group(c.Binding.Group.ID) == nil {
		return errors.New("no target group")
	}
	if b := w.Binding(c.Binding.Namespace, c.Binding.Name); b != nil && b.Group.ID != c.Binding.Group.ID {
		return errors.New("duplicate name")
	}
	return nil
}

func (w *world) refuseLoadBalancer(change steps.Change) error {
	switch c := change.(type) {
	case steps.CreateLoadBalancer:
		for _, b := range w.LoadBalancers {
			if b.Name == c.LoadBalancer.Name {
				return w.unlessMade(b.ARN, b.Part(), "duplicate name")
			}
		}
	case steps.DeleteLoadBalancer:
		if w.isTarget(c.LoadBalancer.ID, 0) {
			return errors.New("a load balancer in front still sends to it")
		}
		if w.protected {
			w.refusals++
			return errThere
		}
	}
	return nil
}

func (w *world) refuseListener(change steps.Change) error {
	switch c := change.(type) {
	case steps.CreateListener:
		b := w.balancer(c.LoadBalancer)
		switch {
		case b == nil:
			return errors.New("no load balancer")
		case slices.ContainsFunc(b.Listeners, func(o stack.Listener) bool { return o.Port == c.Listener.Port }):
			return errThere
		case lacksSecret(c.Listener.Default, stack.Action{}):
			return errNoSecret
		}
	case steps.ModifyListener:
		l := w.Listener(c.Listener.ID)
		if c.To.Protocol == "HTTP" && slices.ContainsFunc(l.Rules, func(r stack.Rule) bool { return r.Action.Auth != nil }) {
			return errors.New("a rule has an authentication")
		}
		if lacksSecret(c.To.Default, l.Default) {
			return errNoSecret
		}
	case steps.DeleteListener:
		if b, l := w.balancerOf(c.Listener.ID); l != nil && w.isTarget(b.ARN, l.Port) {
			return errors.New("a load balancer in front still sends to it")
		}
	}
	return nil
}

func (w *world) refuseCertificate(change steps.Change) error {
	switch c := change.(type) {
	case steps.AddCertificate:
		if l := w.Listener(c.Listener.ID); l.Protocol != "HTTPS" {
			return fmt.Errorf("a certificate for %s", l.Protocol)
		}
	case steps.RemoveCertificate:
		l := w.Listener(c.Listener.ID)
		isDefault := !slices.Contains(l.SNI(), c.Certificate) && first(l.Certificates) == c.Certificate
		if isDefault && !w.removed[l.ARN+c.Certificate] {
			return errors.New("the default certificate")
		}
	}
	return nil
}

func (w *world) refuseRule(change steps.Change) error {
	switch c := change.(type) {
	case steps.CreateRule:
		l := w.Listener(c.Listener.ID)
		if l == nil {
			return errors.New("no listener")
		}
		for _, r := range l.Rules {
			if r.Priority == c.Rule.Priority {
				return w.unlessMade(r.ARN, c.Part, "priority in use")
			}
		}
		switch {
		case lacksSecret(c.Rule.Action, stack.Action{}):
			return errNoSecret
		case c.Rule.Action.Auth != nil && l.Protocol != "HTTPS":
			return fmt.Errorf("an authentication over %s", l.Protocol)
		case c.Rule.Priority < 1 || c.Rule.Priority > 50000:
			return errors.New("priority out of range")
		}
	case steps.ModifyRule:
		if lacksSecret(c.To.Action, w.Rule(c.Rule.ID).Action) {
			return errNoSecret
		}
	case steps.SetPriorities:
		return w.refusePriorities(c)
	}
	return nil
}

func (w *world) refusePriorities(c steps.SetPriorities) error {
	to := map[string]int32{}
	for _, p := range c.Priorities {
		to[p.Rule.ID] = p.Priority
	}
	taken := map[int32]bool{}
	for _, r := range w.Listener(c.Listener.ID).Rules {
		priority := cmp.Or(to[r.ARN], r.Priority)
		if taken[priority] {
			return fmt.Errorf("priority %d twice", priority)
		}
		taken[priority] = true
	}
	return nil
}
