// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"cmp"
	"reflect"
	"slices"
)

// In is the stack, or that in front of it, which is made if there is none yet.
func (s *Stack) In(front bool) *Stack {
	if !front {
		return s
	}
	if s.Front == nil {
		s.Front = &Stack{ID: s.ID}
	}
	return s.Front
}

// first is the first of the parts of which is holds, nil if there is none.
func first[Part any](parts []Part, is func(*Part) bool) *Part {
	for i := range parts {
		if is(&parts[i]) {
			return &parts[i]
		}
	}
	return nil
}

// inAny is what one of the stack and that in front of it has, nil if neither has it, or if there is no ID.
func inAny[Part any](s *Stack, id string, find func(*Stack) *Part) (found *Part) {
	for _, s := range s.All() {
		if found == nil && id != "" {
			found = find(s)
		}
	}
	return found
}

// SecurityGroup is the one with the ID, nil if there is none. So are the next ones.
func (s *Stack) SecurityGroup(id string) *SecurityGroup {
	return inAny(s, id, func(s *Stack) *SecurityGroup {
		return first(s.SecurityGroups, func(g *SecurityGroup) bool { return g.ID == id })
	})
}

// TargetGroup is the one with the ARN.
func (s *Stack) TargetGroup(arn string) *TargetGroup {
	return inAny(s, arn, func(s *Stack) *TargetGroup {
		return first(s.TargetGroups, func(g *TargetGroup) bool { return g.ARN == arn })
	})
}

// LoadBalancer is the one with the ARN.
func (s *Stack) LoadBalancer(arn string) *LoadBalancer {
	return inAny(s, arn, func(s *Stack) *LoadBalancer {
		return first(s.LoadBalancers, func(b *LoadBalancer) bool { return b.ARN == arn })
	})
}

// Listener is the one with the ARN.
func (s *Stack) Listener(arn string) (found *Listener) {
	s.EachListener(func(l *Listener) {
		if l.ARN == arn && arn != "" {
			found = l
		}
	})
	return found
}

// Rule is the one with the ARN.
func (s *Stack) Rule(arn string) (found *Rule) {
	s.EachListener(func(l *Listener) {
		if arn != "" {
			found = cmp.Or(found, first(l.Rules, func(r *Rule) bool { return r.ARN == arn }))
		}
	})
	return found
}

// Serving is the first load balancer that is active, else the first; nil if there is none.
func Serving(balancers []LoadBalancer) *LoadBalancer {
	return cmp.Or(first(balancers, func(b *LoadBalancer) bool { return b.Active }), first(balancers, func(*LoadBalancer) bool { return true }))
}

// InboundOfMade are the rules of the security group that was made for the load balancer.
func (s *Stack) InboundOfMade() []Inbound {
	if made := first(s.SecurityGroups, func(g *SecurityGroup) bool { return !g.Shared }); made != nil {
		return made.Inbound
	}
	return nil
}

// ListenerOn is the listener of that port, nil if there is none or no load balancer.
func (b *LoadBalancer) ListenerOn(port int32) *Listener {
	if b == nil {
		return nil
	}
	return first(b.Listeners, func(l *Listener) bool { return l.Port == port })
}

// Binding is the one with the name.
func (s *Stack) Binding(namespace, name string) *Binding {
	return first(s.Bindings, func(b *Binding) bool { return b.Namespace == namespace && b.Name == name })
}

// EachListener hands on the listeners of all load balancers, those in front last.
func (s *Stack) EachListener(do func(*Listener)) {
	for _, s := range s.All() {
		for i := range s.LoadBalancers {
			for j := range s.LoadBalancers[i].Listeners {
				do(&s.LoadBalancers[i].Listeners[j])
			}
		}
	}
}

// TagsOf are the tags of a part of AWS, nil if the stack does not have it.
func (s *Stack) TagsOf(id string) *map[string]string {
	if g := s.SecurityGroup(id); g != nil {
		return &g.Tags
	}
	if g := s.TargetGroup(id); g != nil {
		return &g.Tags
	}
	if b := s.LoadBalancer(id); b != nil {
		return &b.Tags
	}
	if l := s.Listener(id); l != nil {
		return &l.Tags
	}
	if r := s.Rule(id); r != nil {
		return &r.Tags
	}
	return nil
}

// Attach says of each target group which load balancers send to it. All listeners and rules must be known.
func (s *Stack) Attach() {
	for i := range s.TargetGroups {
		g := &s.TargetGroups[i]
		others := func(arn string) bool {
			return first(s.LoadBalancers, func(b *LoadBalancer) bool { return b.ARN == arn }) != nil
		}
		g.LoadBalancers = slices.DeleteFunc(slices.Clone(g.LoadBalancers), others)
		for j := range s.LoadBalancers {
			if b := &s.LoadBalancers[j]; b.names(g.ARN) {
				g.LoadBalancers = append(g.LoadBalancers, b.ARN)
			}
		}
	}
}

// names reports whether a listener or a rule names the target group.
func (b *LoadBalancer) names(group string) bool {
	has := func(a Action) bool {
		return a.Forward != nil && slices.ContainsFunc(a.Forward.Groups, func(w Weighted) bool { return w.Group.ID == group })
	}
	return slices.ContainsFunc(b.Listeners, func(l Listener) bool {
		return has(l.Default) || slices.ContainsFunc(l.Rules, func(r Rule) bool { return has(r.Action) })
	})
}

// SortRules sorts the rules by their priorities.
func (l *Listener) SortRules() {
	slices.SortStableFunc(l.Rules, func(a, b Rule) int { return cmp.Compare(a.Priority, b.Priority) })
}

// Copy shares nothing with the value that could be written.
func Copy[T any](value T) T {
	copied := reflect.New(reflect.TypeFor[T]()).Elem()
	copyInto(copied, reflect.ValueOf(value))
	return copied.Interface().(T) // it is made as one
}

func copyInto(to, from reflect.Value) {
	to.Set(from)
	switch from.Kind() {
	case reflect.Pointer:
		if !from.IsNil() {
			to.Set(reflect.New(from.Type().Elem()))
			copyInto(to.Elem(), from.Elem())
		}
	case reflect.Struct:
		for i := range from.NumField() {
			copyInto(to.Field(i), from.Field(i))
		}
	case reflect.Slice:
		if !from.IsNil() {
			to.Set(reflect.MakeSlice(from.Type(), from.Len(), from.Len()))
			for i := range from.Len() {
				copyInto(to.Index(i), from.Index(i))
			}
		}
	case reflect.Map: // of values that are not shared
		if !from.IsNil() {
			to.Set(reflect.MakeMapWithSize(from.Type(), from.Len()))
			for _, key := range from.MapKeys() {
				to.SetMapIndex(key, from.MapIndex(key))
			}
		}
	}
}
