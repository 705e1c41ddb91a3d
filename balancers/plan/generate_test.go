// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/targetgate/targetgate/balancers/stack"
)

// The generated input. It is small, so that rules cover one another often, and plain, so that it can be shrunk and printed.
type (
	genStack struct {
		Internal, Dual, Given bool // scheme, address type, a security group that is given
		Front                 int  // what stands in front: nothing, the same ports, another scheme, other ports
		// Backend is the security group that targets are to let in, unless one is given; none where what they let in does not count.
		Backend string
		// Rewritten are the Services that get requests rewritten, as bits; from the lowest on. Only what forwards to one of them has transforms.
		Rewritten int
		// Login says that users log in where else requests bring tokens.
		Login   bool
		Members []genMember
	}
	genMember struct {
		Name, Type string
		Held       bool
		Control    int32 // control port of its target groups
		Backend    int   // port of its Services, 80 when it is 0
		Rules      []genRule
	}
	genRule struct {
		Port       int32
		Host, Path string // without both it is the default action
		To         []genTarget
		Other      string // redirect or fixed response, without To
		Auth       string // issuer of the tokens that requests of port 443 bring
	}
	genTarget struct {
		Service int
		Weight  int32
	}
)

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func generate(r *rand.Rand) genStack {
	s := genStack{Internal: r.IntN(8) == 0, Dual: r.IntN(4) == 0, Given: r.IntN(8) == 0}
	s.Front = pick(r, 0, 0, 0, 1, 2, 3)
	names := []string{"ns/m", "ns/m-s1", "ns/k", "ns/z"}
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for i := range 1 + r.IntN(3) {
		m := genMember{Name: names[i], Type: pick(r, "ip", "ip", "instance")}
		for range r.IntN(4) {
			m.Rules = append(m.Rules, generateRule(r))
		}
		s.Members = append(s.Members, m)
	}
	return s.withOneDefault()
}

// withOneDefault leaves to each port its first default action, as members may not have several.
func (s genStack) withOneDefault() genStack {
	seen := map[int32]bool{}
	for i := range s.Members {
		m := &s.Members[i]
		m.Rules = slices.DeleteFunc(slices.Clone(m.Rules), func(rule genRule) bool {
			again := rule.Host == "" && rule.Path == "" && seen[rule.Port]
			seen[rule.Port] = seen[rule.Port] || rule.Host == "" && rule.Path == ""
			return again
		})
	}
	return s
}

func generateRule(r *rand.Rand) genRule {
	rule := genRule{
		Port: pick[int32](r, 80, 80, 443), Host: pick(r, "", "", "a.test", "b.test", "*.test", "A.*"), Path: pick(r, "", "", "/*", "/a", "/a*", "/?", "/b"),
	}
	if r.IntN(6) == 0 {
		rule.Host, rule.Path = "", ""
	}
	if rule.Port == 443 {
		rule.Auth = pick(r, "", "", "one", "two")
	}
	if r.IntN(5) == 0 {
		rule.Other = pick(r, "redirect", "fixed")
		return rule
	}
	for range pick(r, 1, 1, 1, 2) {
		rule.To = append(rule.To, genTarget{pick(r, 0, 0, 1, 2), pick[int32](r, 1, 1, 2, 0)})
	}
	if len(rule.To) == 1 || rule.To[0].Service == rule.To[1].Service || rule.To[0].Weight+rule.To[1].Weight == 0 {
		rule.To = rule.To[:1]
		rule.To[0].Weight = 1
	}
	return rule
}

// change is another stack, some edits away.
func change(r *rand.Rand, s genStack) genStack {
	s.Members = slices.Clone(s.Members)
	for range 1 + r.IntN(4) {
		if len(s.Members) == 0 {
			break
		}
		i := r.IntN(len(s.Members))
		m := &s.Members[i]
		m.Rules = slices.Clone(m.Rules)
		switch r.IntN(14) {
		case 0:
			before := m.Type
			if m.Type = pick(r, "ip", "instance"); m.Type == before {
				m.Control = 3000 - m.Control
			}
		case 1, 2, 3:
			m.Rules = slices.Insert(m.Rules, r.IntN(len(m.Rules)+1), generateRule(r))
		case 4, 5:
			if len(m.Rules) > 0 {
				j := r.IntN(len(m.Rules))
				m.Rules = slices.Delete(m.Rules, j, j+1)
			}
		case 6:
			r.Shuffle(len(m.Rules), func(a, b int) { m.Rules[a], m.Rules[b] = m.Rules[b], m.Rules[a] })
		case 7:
			r.Shuffle(len(s.Members), func(a, b int) { s.Members[a], s.Members[b] = s.Members[b], s.Members[a] })
		case 8:
			if len(m.Rules) > 0 {
				m.Rules[r.IntN(len(m.Rules))] = generateRule(r)
			}
		case 9:
			m.Name = pick(r, "ns/n1", "ns/n2") + fmt.Sprint(i)
		case 10:
			s.Internal, s.Dual, s.Given = r.IntN(3) == 0, r.IntN(3) == 0, r.IntN(3) == 0
		case 11:
			m.Backend = pick(r, 80, 81)
		case 13:
			s.Front = r.IntN(4)
		case 12:
			s.Members = slices.Delete(s.Members, i, i+1)
		}
	}
	return s.withOneDefault()
}

// want is the stack that a generated one asks for.
func (s genStack) want() stack.Stack {
	id := stack.ID{Cluster: "c", Kind: stack.Ingresses, Name: "g"}
	out := stack.Stack{ID: id}
	tags := func(part string) map[string]string { return stack.Tags("c", stack.Ingresses, "g", part) }
	b := stack.LoadBalancer{
		Name: "custom", SpareName: "spare", Scheme: "internet-facing", AddressType: "ipv4", Subnets: []string{"s1", "s2"},
		Attributes: map[string]string{"idle": "60"}, Tags: tags("LoadBalancer"),
	}
	if s.Internal {
		b.Scheme = "internal"
	}
	if s.Dual {
		b.AddressType, b.Subnets, b.Attributes = "dualstack", []string{"s3", "s2"}, map[string]string{"idle": "90"}
	}
	ports := map[int32]*stack.Listener{}
	certificates := map[int32][]string{} // also of held members, as they are seen
	for _, m := range s.Members {
		member := stack.Member{Name: m.Name, Held: m.Held}
		for _, rule := range m.Rules {
			if cert := "cert-" + m.Name; !slices.Contains(certificates[rule.Port], cert) {
				certificates[rule.Port] = append(certificates[rule.Port], cert)
			}
			if member.Held {
				member.Ports, member.Hosts = append(member.Ports, rule.Port), append(member.Hosts, rule.Host)
				continue
			}
			l := ports[rule.Port]
			if l == nil {
				l = newListener(rule.Port, tags)
				ports[rule.Port] = l
			}
			action := target(&out, m, rule, tags)
			if rule.Auth != "" {
				action.Auth = s.auth(rule.Auth)
			}
			if rule.Host == "" && rule.Path == "" {
				l.Default = action
				continue
			}
			made := stack.Rule{Owner: m.Name, Conditions: rule.conditions(), Action: action, Tags: tags("")}
			if len(rule.To) > 0 && s.Rewritten>>rule.To[0].Service&1 > 0 {
				made.Transforms = []stack.Transform{{Type: "url-rewrite", Rewrites: []stack.Rewrite{{Regex: "/", Replace: fmt.Sprint("/s", rule.To[0].Service)}}}}
			}
			l.Rules = append(l.Rules, made)
		}
		out.Members = append(out.Members, member)
	}
	if !slices.ContainsFunc(out.Members, func(m stack.Member) bool { return !m.Held }) {
		return out
	}
	var inbound []stack.Inbound
	for _, port := range slices.Sorted(maps.Keys(ports)) {
		if ports[port].Protocol == "HTTPS" {
			ports[port].Certificates = certificates[port]
		}
		b.Listeners = append(b.Listeners, *ports[port])
		inbound = append(inbound, stack.Inbound{From: port, To: port, Protocol: "tcp", Source: "0.0.0.0/0"})
	}
	b.SecurityGroups = []stack.Ref{{ID: "sg-given"}}
	if !s.Given {
		out.SecurityGroups = []stack.SecurityGroup{{Name: "sg", Inbound: inbound, Tags: tags("ManagedLBSecurityGroup")}}
		b.SecurityGroups = []stack.Ref{{Part: "ManagedLBSecurityGroup"}}
		if s.Backend != "" {
			b.SecurityGroups = append(b.SecurityGroups, stack.Ref{ID: s.Backend})
			for i := range out.Bindings {
				out.Bindings[i].Spec.Networking, out.Bindings[i].Spec.Peer = []intstr.IntOrString{{}}, stack.Ref{ID: s.Backend}
			}
		}
	}
	out.LoadBalancers = []stack.LoadBalancer{b}
	if s.Front > 0 {
		out.Front = s.front(b, tags)
	}
	return out
}

// front is what stands in front of the load balancer.
func (s genStack) front(behind stack.LoadBalancer, tags func(string) map[string]string) *stack.Stack {
	b := stack.LoadBalancer{
		Network: true, Name: "custom-nlb", SpareName: "spare-nlb", Scheme: "internet-facing", AddressType: behind.AddressType,
		Subnets: behind.Subnets, SecurityGroups: behind.SecurityGroups, Attributes: map[string]string{"zones": "true"}, Tags: tags(stack.FrontPart),
	}
	if s.Front == 2 {
		b.Scheme = "internal"
	}
	front := &stack.Stack{}
	for _, l := range behind.Listeners {
		port := l.Port
		if s.Front == 3 {
			port = 523 - port // each has the other's
		}
		part := stack.FrontGroupPart(port)
		front.TargetGroups = append(front.TargetGroups, stack.TargetGroup{
			Part: part, Name: part, SpareName: part + "-spare", TargetType: "alb", Protocol: "TCP", TargetPort: l.Port, Tags: tags(part),
		})
		to := stack.Listener{
			Port: port, Protocol: "TCP",
			Default: stack.Action{Forward: &stack.Forward{Groups: []stack.Weighted{{Group: stack.Ref{Part: part}, Weight: 1}}}},
		}
		to.Tags = tags(to.Part())
		b.Listeners = append(b.Listeners, to)
	}
	front.LoadBalancers = []stack.LoadBalancer{b}
	return front
}

// auth asks who a request is from.
func (s genStack) auth(issuer string) *stack.Auth {
	if s.Login {
		return &stack.Auth{OIDC: &stack.OIDC{Issuer: issuer, ClientID: "id of " + issuer, Secret: "secret", Version: "1"}}
	}
	return &stack.Auth{JWT: &stack.JWT{Issuer: issuer}}
}

func newListener(port int32, tags func(string) map[string]string) *stack.Listener {
	l := &stack.Listener{
		Port: port, Protocol: "HTTP", Tags: tags(fmt.Sprint(port)),
		Default: stack.Action{Fixed: &stack.FixedResponse{Status: "404", ContentType: "text/plain"}},
	}
	if port == 443 {
		l.Protocol, l.SSLPolicy = "HTTPS", "policy"
	}
	return l
}

func (r genRule) conditions() []stack.Condition {
	var list []stack.Condition
	if r.Host != "" {
		list = append(list, stack.Condition{Field: "host-header", Values: []string{r.Host}})
	}
	if r.Path != "" {
		list = append(list, stack.Condition{Field: "path-pattern", Values: []string{r.Path}})
	}
	return list
}

// target is the action of a generated rule. The target groups that it needs are added to the stack, with their bindings.
func target(out *stack.Stack, m genMember, rule genRule, tags func(string) map[string]string) stack.Action {
	switch rule.Other {
	case "redirect":
		return stack.Action{Redirect: &stack.Redirect{Port: "443", Status: "HTTP_301"}}
	case "fixed":
		return stack.Action{Fixed: &stack.FixedResponse{Status: "503"}}
	}
	forward := &stack.Forward{}
	for _, to := range rule.To {
		service := fmt.Sprintf("s%d", to.Service)
		port := intstr.FromInt(cmp.Or(m.Backend, 80))
		part := m.Name + "-" + service + ":" + port.String()
		forward.Groups = append(forward.Groups, stack.Weighted{Group: stack.Ref{Part: part}, Weight: to.Weight})
		if slices.ContainsFunc(out.TargetGroups, func(g stack.TargetGroup) bool { return g.Part == part }) {
			continue
		}
		name := part + m.Type
		if m.Control != 0 {
			name += fmt.Sprint(m.Control)
		}
		group := stack.TargetGroup{
			Part: part, Owner: m.Name, Name: name, SpareName: name + "-spare", TargetType: m.Type, Protocol: "HTTP", ControlPort: m.Control,
			Attributes: map[string]string{"delay": "30"}, Tags: tags(part),
		}
		out.TargetGroups = append(out.TargetGroups, group)
		out.Bindings = append(out.Bindings, stack.Binding{
			Namespace: "ns", Name: group.Name, Group: stack.Ref{Part: part},
			Spec: stack.BindingSpec{Service: service, Port: port, TargetType: m.Type},
		})
	}
	return stack.Action{Forward: forward}
}
