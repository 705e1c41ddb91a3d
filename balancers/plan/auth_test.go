// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// oneRule is a stack with one rule, whose requests log in when a version of the client secret is given.
func oneRule(protocol, version string) stack.Stack {
	s := genStack{Members: []genMember{{Name: "ns/m", Type: "ip", Rules: []genRule{{Port: 80, Path: "/a", To: []genTarget{{0, 1}}}}}}}.want()
	listener := &s.LoadBalancers[0].Listeners[0]
	if listener.Protocol = protocol; protocol == "HTTPS" {
		listener.Certificates, listener.SSLPolicy = []string{"cert"}, "policy"
	}
	if version != "" {
		rule := &listener.Rules[0]
		rule.Action.Auth = &stack.Auth{OIDC: &stack.OIDC{ClientID: "id", Secret: "secret", Version: version}}
		rule.Tags = maps.Clone(rule.Tags)
		rule.Tags[stack.SecretTag] = version
	}
	return s
}

// planFrom makes a stack, edits what is seen of it, and returns what is planned for another.
func planFrom(t *testing.T, from, to stack.Stack, edit func(*stack.Rule)) []string {
	t.Helper()
	w := newWorld()
	first, _ := Make(from, w.Stack, Options{})
	if err := w.run(first, nothing); err != nil {
		t.Fatal(err)
	}
	edit(&w.LoadBalancers[0].Listeners[0].Rules[0])
	planned, _ := Make(to, w.Stack, Options{})
	if err := w.run(planned, nothing); err != nil {
		t.Fatal(err)
	}
	if again, _ := Make(to, w.Stack, Options{}); len(again) > 0 {
		t.Errorf("planned again: %s", lines(again))
	}
	texts := make([]string, len(planned))
	for i, step := range planned {
		texts[i] = step.String()
	}
	return texts
}

// Only HTTPS listeners may have rules that ask for a login, so that the protocol changes before such a rule comes, or after it is gone.
func TestProtocolChangesWithLogins(t *testing.T) {
	same := func(*stack.Rule) {}
	planFrom(t, oneRule("HTTP", ""), oneRule("HTTPS", "1"), same)
	planFrom(t, oneRule("HTTPS", "1"), oneRule("HTTP", ""), same)
}

// A rule is written again when its client secret has another version than the tag says, and not when it has no tag, as those of the
// incumbent, whose version is assumed. One that was written gets its tag, if only in a later pass.
func TestClientSecretsAreWrittenWhenTheyChange(t *testing.T) {
	const change = "change rule 80:1: path /a after a login at  to target group ns/m-s0:80"
	const tag = "tag 80:1 (rule-5) with targetgate.dev/secret-version="
	untagged := func(r *stack.Rule) {
		r.Tags = maps.Clone(r.Tags)
		delete(r.Tags, stack.SecretTag)
	}
	assumed := func(r *stack.Rule) {
		untagged(r)
		r.Action.Auth = &stack.Auth{OIDC: &stack.OIDC{ClientID: "id", Version: "1", Assumed: true}}
	}
	for name, tc := range map[string]struct {
		to   string
		edit func(*stack.Rule)
		want []string
	}{
		"the same":               {"1", func(*stack.Rule) {}, nil},
		"the same, as assumed":   {"1", assumed, nil},
		"the same, as written":   {"1", untagged, []string{tag + "1"}},
		"another":                {"2", func(*stack.Rule) {}, []string{change, tag + "2"}},
		"another, of no tag yet": {"2", untagged, []string{change, tag + "2"}},
		"another than assumed":   {"2", assumed, []string{change, tag + "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := planFrom(t, oneRule("HTTPS", "1"), oneRule("HTTPS", tc.to), tc.edit); !slices.Equal(got, tc.want) {
				t.Errorf("planned:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
		})
	}
}

// A client secret that has changed is written in place, whatever else has changed with it, however many rules there are.
func TestClientSecretsAreWrittenInPlace(t *testing.T) {
	of := func(version string, paths ...string) stack.Stack {
		s := oneRule("HTTPS", version)
		rules := &s.LoadBalancers[0].Listeners[0].Rules
		one := (*rules)[0]
		*rules = nil
		for _, path := range paths {
			one.Conditions = []stack.Condition{{Field: "path-pattern", Values: []string{path}}}
			*rules = append(*rules, one)
		}
		return s
	}
	replaced := of("2", "/a", "/b")
	replaced.TargetGroups[0].ProtocolVersion = "GRPC"
	for name, tc := range map[string]struct {
		to   stack.Stack
		want int
	}{
		"two rules":                              {of("2", "/a", "/b"), 2},
		"and one more":                           {of("2", "/a", "/b", "/c"), 2},
		"and another order":                      {of("2", "/b", "/a"), 2},
		"and the target group is to be replaced": {replaced, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			first, _ := Make(of("1", "/a", "/b"), w.Stack, Options{})
			if err := w.run(first, nothing); err != nil {
				t.Fatal(err)
			}
			planned, _ := Make(tc.to, w.Stack, Options{})
			changed := map[string]bool{}
			for _, step := range planned {
				switch c := step.Change.(type) {
				case steps.ModifyRule:
					changed[c.Rule.ID] = true
				case steps.DeleteRule:
					t.Errorf("a rule is deleted: %s", step)
				}
			}
			if len(changed) != tc.want {
				t.Errorf("%d rules are changed, want %d:\n%s", len(changed), tc.want, lines(planned))
			}
		})
	}
}

// Mutual authentication is changed where it is wanted otherwise, and left alone where nothing is.
func TestMutualAuthenticationIsChangedInPlace(t *testing.T) {
	verify := stack.MutualAuth{Mode: "verify", TrustStore: "store"}
	for name, tc := range map[string]struct {
		seen   stack.MutualAuth
		wanted *stack.MutualAuth
		want   int
	}{
		"nothing is wanted": {verify, nil, 0},
		"the same":          {verify, &verify, 0},
		"another":           {stack.MutualAuth{Mode: "off"}, &verify, 1},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := oneRule("HTTPS", ""), oneRule("HTTPS", "")
			from.LoadBalancers[0].Listeners[0].MutualAuth = &tc.seen
			to.LoadBalancers[0].Listeners[0].MutualAuth = tc.wanted
			if got := planFrom(t, from, to, func(*stack.Rule) {}); len(got) != tc.want {
				t.Errorf("planned %v, want %d steps", got, tc.want)
			}
		})
	}
}

// Capacity is reserved once the load balancer is active, and pools are changed in place.
func TestPoolsAndCapacity(t *testing.T) {
	of := func(pool string, units int32) stack.Stack {
		s := oneRule("HTTP", "")
		s.LoadBalancers[0].IPAMPool, s.LoadBalancers[0].Capacity = pool, &units
		return s
	}
	texts := func(wanted, seen stack.Stack) (out []string) {
		planned, _ := Make(wanted, seen, Options{})
		for _, step := range planned {
			if text := step.String(); strings.Contains(text, "capacity") || strings.Contains(text, "addresses") {
				out = append(out, text)
			}
		}
		return out
	}
	w := newWorld()
	first, _ := Make(of("", 0), w.Stack, Options{})
	if err := w.run(first, nothing); err != nil {
		t.Fatal(err)
	}
	w.LoadBalancers[0].Capacity = new(int32)
	if got := texts(of("", 0), w.Stack); len(got) > 0 {
		t.Errorf("planned %v, though nothing differs", got)
	}
	want := []string{
		"take public addresses of load balancer lb-2 from p",
		"reserve 100 capacity units for load balancer lb-2, once load balancer lb-2 is active",
	}
	if got := texts(of("p", 100), w.Stack); !slices.Equal(got, want) {
		t.Errorf("planned %v, want %v", got, want)
	}
	w.LoadBalancers[0].Active, w.LoadBalancers[0].IPAMPool = true, "p"
	want = []string{"take public addresses of load balancer lb-2 from Amazon's pool", "reserve 100 capacity units for load balancer lb-2"}
	if got := texts(of("", 100), w.Stack); !slices.Equal(got, want) {
		t.Errorf("planned %v, want %v", got, want)
	}
}

// A web ACL is there before routes that it is to guard, unless AWS WAF does not take the load balancer yet.
func TestWebACLComesFirst(t *testing.T) {
	w := newWorld()
	first, _ := Make(oneRule("HTTP", ""), w.Stack, Options{})
	if err := w.run(first, nothing); err != nil {
		t.Fatal(err)
	}
	wanted := oneRule("HTTP", "")
	wanted.LoadBalancers[0].WebACL = new("acl")
	rules := &wanted.LoadBalancers[0].Listeners[0].Rules
	more := (*rules)[0]
	more.Conditions = []stack.Condition{{Field: "path-pattern", Values: []string{"/admin"}}}
	*rules = append(*rules, more)
	for _, active := range []bool{true, false} {
		w.LoadBalancers[0].Active = active
		planned, _ := Make(wanted, w.Stack, Options{})
		guard := slices.IndexFunc(planned, func(s steps.Step) bool { set, is := s.Change.(steps.Set); return is && set.Setting == steps.WebACL })
		route := slices.IndexFunc(planned, func(s steps.Step) bool { _, is := s.Change.(steps.CreateRule); return is })
		if guard < 0 || (guard < route) != active || (planned[guard].Wait == nil) != active {
			t.Errorf("active %v: planned\n%s", active, lines(planned))
		}
	}
}

// One of AWS WAF takes over from one of AWS WAF Classic without a time in which there is none, and each is left alone that nobody speaks of.
func TestWebACLsOfWAFClassic(t *testing.T) {
	w := newWorld()
	first, _ := Make(oneRule("HTTP", ""), w.Stack, Options{})
	if err := w.run(first, nothing); err != nil {
		t.Fatal(err)
	}
	w.LoadBalancers[0].Active = true
	for name, tc := range map[string]struct {
		acl, classic, seen *string
		want               []string
	}{
		"nobody says anything": {seen: new("id")},
		"it is there":          {classic: new("id"), seen: new("id")},
		"there is none":        {classic: new("id"), seen: new(""), want: []string{"set web ACL id of AWS WAF Classic of load balancer lb-2"}},
		"it is not known":      {classic: new("id"), want: []string{"set web ACL id of AWS WAF Classic of load balancer lb-2"}},
		"there is another":     {classic: new("id"), seen: new("other"), want: []string{"set web ACL id of AWS WAF Classic of load balancer lb-2"}},
		"there is to be none":  {classic: new(""), seen: new("id"), want: []string{"remove the web ACL of AWS WAF Classic of load balancer lb-2"}},
		"there is none to go":  {classic: new(""), seen: new("")},
		"another takes over": {acl: new("acl"), classic: new(""), seen: new("id"), want: []string{
			"set web ACL acl of load balancer lb-2", "remove the web ACL of AWS WAF Classic of load balancer lb-2",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			wanted := oneRule("HTTP", "")
			wanted.LoadBalancers[0].WebACL, wanted.LoadBalancers[0].ClassicACL = tc.acl, tc.classic
			w.LoadBalancers[0].ClassicACL = tc.seen
			planned, _ := Make(wanted, w.Stack, Options{})
			var got []string
			for _, step := range planned {
				got = append(got, step.String())
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("planned %q, want %q", got, tc.want)
			}
		})
	}
}

// A protection is made where there is none, and only our own ends.
func TestProtections(t *testing.T) {
	w := newWorld()
	first, _ := Make(oneRule("HTTP", ""), w.Stack, Options{})
	if err := w.run(first, nothing); err != nil {
		t.Fatal(err)
	}
	w.LoadBalancers[0].Active = true
	for name, tc := range map[string]struct {
		wanted *bool
		seen   *stack.Protection
		want   []string
	}{
		"nobody says anything":   {nil, &stack.Protection{ID: "p", Own: true}, nil},
		"it is not read":         {new(true), nil, nil},
		"there is none":          {new(true), &stack.Protection{}, []string{"protect load balancer lb-2 by AWS Shield Advanced"}},
		"there is one of others": {new(true), &stack.Protection{ID: "p"}, nil},
		"ours is to end":         {new(false), &stack.Protection{ID: "p", Own: true}, []string{"delete protection p of load balancer lb-2"}},
		"that of others is to":   {new(false), &stack.Protection{ID: "p"}, nil},
		"there is none to end":   {new(false), &stack.Protection{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			wanted := oneRule("HTTP", "")
			wanted.LoadBalancers[0].Shield, w.LoadBalancers[0].Protection = tc.wanted, tc.seen
			planned, _ := Make(wanted, w.Stack, Options{})
			var got []string
			for _, step := range planned {
				got = append(got, step.String())
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("planned %q, want %q", got, tc.want)
			}
		})
	}
}

// What answers until a new target group is healthy has users log in as before. AWS never shows the secret of a client, and no rule is made
// without one.
func TestALoginStaysUntilATargetGroupIsHealthy(t *testing.T) {
	login := func(path, issuer string, service int) genRule {
		rule := genRule{Port: 443, Path: path, Auth: issuer, Other: "fixed"}
		if service >= 0 {
			rule.Other, rule.To = "", []genTarget{{service, 1}}
		}
		return rule
	}
	logins := func(rules ...genRule) genStack {
		return genStack{Login: true, Members: []genMember{{Name: "ns/m", Type: "ip", Rules: rules}}}
	}
	for name, tc := range map[string]struct {
		from, to genStack
		want     []string // who answers /a
	}{
		"a path is open": {logins(login("/*", "one", 0)), logins(login("/a", "", 1), login("/*", "one", 0)), []string{"auth one: s0", "s1"}},
		"a path is open, and the login of the others changes": {
			logins(login("/*", "one", 0)), logins(login("/a", "", 1), login("/*", "two", 0)), []string{"auth one: s0", "auth two: s0", "s1"},
		},
		"a path is open beside a default action":        {logins(login("", "one", 0)), logins(login("/a", "", 1), login("", "one", 0)), []string{"auth one: s0", "s1"}},
		"the default action is open in place of a path": {logins(login("/*", "one", 0)), logins(login("", "", 1)), []string{"auth one: s0", "s1"}},
		"a path is open beneath a page, and its Service comes elsewhere, too": {
			logins(login("/b", "", 0), login("/*", "one", -1)),
			logins(login("/b", "", 1), login("/a", "", 1), login("/*", "one", -1)), []string{"auth one: fixed 503", "s1"},
		},
	} {
		t.Run(name, func(t *testing.T) { checkAnswers(t, request{443, "a.test", "/a"}, tc.from, tc.to, tc.want) })
	}
}
