// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"regexp"
	"slices"
	"strings"

	"github.com/targetgate/targetgate/balancers/plan/actions"
	"github.com/targetgate/targetgate/balancers/stack"
)

type request struct {
	port       int32
	host, path string
}

// universe are requests that tell apart all rules that the generator makes.
var universe = func() []request {
	var all []request
	for _, port := range []int32{80, 443} {
		for _, host := range []string{"a.test", "b.test", "c.test", "a.other", "other"} {
			for _, path := range []string{"/", "/a", "/a/b", "/b", "/c"} {
				all = append(all, request{port, host, path})
			}
		}
	}
	return all
}()

func (w *world) answers() map[request]string {
	all := map[request]string{}
	for _, r := range universe {
		all[r] = w.answer(r)
	}
	return all
}

// answer says who answers a request: Services, or the load balancer by itself. It is "" when nobody listens, or is let in.
func (w *world) answer(r request) string {
	b := w.balancer(stack.Ref{ID: w.client})
	if b == nil || !w.letsIn(b, r.port) {
		return ""
	}
	if rules := rulesFor(b, r); len(rules) > 0 {
		return w.who(rules[0].Action) + rewritten(rules[0].Transforms)
	}
	return ""
}

// rewritten says what a Service gets in place of what the client has asked for.
func rewritten(transforms []stack.Transform) string {
	if len(transforms) == 0 {
		return ""
	}
	return " as " + transforms[0].Rewrites[0].Replace
}

// rulesFor are the rules that hold for a request, as they are tried, with priority 60000 for the default action; none without a listener.
func rulesFor(b *stack.LoadBalancer, r request) []stack.Rule {
	var list []stack.Rule
	for _, l := range b.Listeners {
		if l.Port == r.port {
			list = append(list, stack.Rule{Action: l.Default, Priority: 60000})
			for _, rule := range l.Rules {
				if matches(rule, r) {
					list = append(list, rule)
				}
			}
		}
	}
	slices.SortFunc(list, byPriority)
	return list
}

// passed are the requests that one rule serves, and that a rule is to pass on to others, by the same load balancer: if the former is next
// in the end, or serves all for which the latter holds.
func (w *world) passed(end *world, before, after map[request]string) []request {
	from, to := w.balancer(stack.Ref{ID: w.client}), end.balancer(stack.Ref{ID: end.client})
	if from == nil || to == nil || from.ARN != to.ARN {
		return nil
	}
	var list []request
	for _, r := range universe {
		if before[r] == after[r] || !isServed(before[r]) || !isServed(after[r]) {
			continue
		}
		was, is := rulesFor(from, r)[0], rulesFor(to, r)
		isOther := func(other request) bool {
			return other.port == r.port && matches(is[0], other) && rulesFor(from, other)[0].Priority != was.Priority
		}
		isNext := len(is) > 1 && is[0].Action.Auth == nil && actions.SameRule(is[1], was)
		if isNext || !slices.ContainsFunc(universe, isOther) {
			list = append(list, r)
		}
	}
	return list
}

// isServed reports whether a Service answers.
func isServed(answer string) bool { return served.MatchString(answer) }

var served = regexp.MustCompile(`^(auth \w+: )?s\d(, s\d)*( as /s\d)?$`)

// unguarded is an answer, whoever may get it.
func unguarded(answer string) string {
	if _, plain, isGuarded := strings.Cut(answer, ": "); isGuarded {
		return plain
	}
	return answer
}

// isGuarded reports whether only those get the answer who may pass.
func isGuarded(answer string) bool { return strings.HasPrefix(answer, "auth ") }

// letsIn reports whether one of the load balancer's security groups lets clients in. One that is given does.
func (w *world) letsIn(b *stack.LoadBalancer, port int32) bool {
	return slices.ContainsFunc(b.SecurityGroups, func(ref stack.Ref) bool {
		return ref.ID == "sg-given" || slices.ContainsFunc(w.SecurityGroups, func(g stack.SecurityGroup) bool {
			return g.ID == ref.ID && slices.ContainsFunc(g.Inbound, func(rule stack.Inbound) bool { return rule.From == port })
		})
	})
}

func (w *world) who(action stack.Action) string {
	if action.Auth != nil {
		issuer := issuerOf(action.Auth)
		action.Auth = nil
		return "auth " + issuer + ": " + w.who(action)
	}
	switch {
	case action.Redirect != nil:
		return "redirect " + action.Redirect.Port
	case action.Fixed != nil:
		return "fixed " + action.Fixed.Status
	}
	var who []string
	for _, g := range action.Forward.Groups {
		if !actions.SendsTo(action, g.Group) {
			continue
		}
		i := slices.IndexFunc(w.Bindings, func(b stack.Binding) bool { return b.Group.ID == g.Group.ID })
		switch {
		case i < 0:
			who = append(who, "nobody is bound to "+g.Group.ID)
		case !w.healthy[g.Group.ID] && !w.lenient:
			who = append(who, "no target is healthy in "+g.Group.ID)
		default:
			who = append(who, w.Bindings[i].Spec.Service)
		}
	}
	slices.Sort(who)
	return strings.Join(slices.Compact(who), ", ")
}

func issuerOf(auth *stack.Auth) string {
	if auth.OIDC != nil {
		return auth.OIDC.Issuer
	}
	return auth.JWT.Issuer
}

func matches(rule stack.Rule, r request) bool {
	for _, c := range rule.Conditions {
		fits := slices.ContainsFunc(c.Values, func(value string) bool {
			if c.Field == "host-header" {
				return glob(strings.ToLower(value), r.host)
			}
			return glob(value, r.path)
		})
		if !fits {
			return false
		}
	}
	return true
}

func glob(pattern, text string) bool {
	switch {
	case pattern == "":
		return text == ""
	case pattern[0] == '*':
		return glob(pattern[1:], text) || text != "" && glob(pattern, text[1:])
	}
	return text != "" && (pattern[0] == '?' || pattern[0] == text[0]) && glob(pattern[1:], text[1:])
}
