// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// shop is a generated stack of one member with a rule per path, all of one Service.
func shop(paths ...string) genStack {
	m := genMember{Name: "ns/shop", Type: "ip"}
	for _, path := range paths {
		m.Rules = append(m.Rules, genRule{Port: 80, Host: "a.test", Path: path, To: []genTarget{{0, 1}}})
	}
	return genStack{Members: []genMember{m}}
}

func texts(plan steps.Plan) []string {
	list := []string{}
	for _, step := range plan {
		text := step.String()
		if step.Late {
			text = "late: " + text
		}
		list = append(list, text)
	}
	return list
}

func TestAPlanHasTheseSteps(t *testing.T) {
	other := func(s genStack, edit func(m *genMember)) genStack {
		s.Members = slices.Clone(s.Members)
		s.Members[0].Rules = slices.Clone(s.Members[0].Rules)
		edit(&s.Members[0])
		return s
	}
	two := genStack{Members: []genMember{
		{Name: "ns/k", Type: "ip", Rules: []genRule{{Port: 80, Path: "/k", To: []genTarget{{1, 1}}}}},
		{Name: "ns/shop", Type: "ip", Rules: []genRule{
			{Port: 80, Path: "/a", To: []genTarget{{0, 1}}}, {Port: 80, Path: "/r", Other: "redirect"}, {Port: 443, Path: "/a", To: []genTarget{{0, 1}}},
		}},
	}}
	wide := genStack{Members: []genMember{{Name: "ns/new", Type: "ip", Rules: []genRule{{Port: 80, Path: "/*", To: []genTarget{{2, 1}}}}}, two.Members[0], two.Members[1]}}
	held := other(two, func(*genMember) {})
	held.Members[1].Held = true
	held.Members[0].Rules = []genRule{{Port: 80, Path: "/new", To: []genTarget{{1, 1}}}}
	byDefault := other(two, func(m *genMember) { m.Rules[0].Path = "" })
	gone := func(s genStack) genStack { // the first of two members, while the second is held
		s.Members = []genMember{s.Members[1]}
		s.Members[0].Held = true
		return s
	}
	internal, dual, given := shop("/a"), shop("/a"), shop("/a")
	internal.Internal, dual.Dual, given.Given = true, true, true
	secure := genStack{Members: []genMember{
		{Name: "ns/k", Type: "ip", Rules: []genRule{{Port: 443, Path: "/k", To: []genTarget{{1, 1}}}}},
		{Name: "ns/z", Type: "ip", Rules: []genRule{{Port: 443, Path: "/z", To: []genTarget{{2, 1}}}}},
	}}
	swapped := genStack{Members: []genMember{secure.Members[1], secure.Members[0]}}
	secureOne := genStack{Members: secure.Members[1:]}

	both := genStack{Members: []genMember{
		{Name: "ns/a", Type: "ip", Rules: []genRule{{Port: 80, Path: "/a", To: []genTarget{{0, 1}}}}},
		{Name: "ns/k", Type: "ip", Rules: []genRule{{Port: 80, Path: "/k", To: []genTarget{{1, 1}}}, {Port: 443, Path: "/k", To: []genTarget{{1, 1}}}}},
	}}

	// A good member has a page for maintenance, on its host k.test and on port 80, and takes it away while another member is held.
	maintained := func(host string, port int32, held bool) genStack {
		k := genMember{Name: "ns/k", Type: "ip", Rules: []genRule{{Port: 80, Host: "k.test", Path: "/k", To: []genTarget{{1, 1}}}}}
		if !held {
			k.Rules = append([]genRule{{Port: 80, Host: "k.test", Path: "/*", Other: "fixed"}}, k.Rules...)
		}
		return genStack{Members: []genMember{
			k, {Name: "ns/shop", Type: "ip", Held: held, Rules: []genRule{{Port: port, Host: host, Path: "/a", To: []genTarget{{0, 1}}}}},
		}}
	}

	alone := func(host string, held bool) genStack {
		return genStack{Members: []genMember{{Name: "ns/shop", Type: "ip", Held: held, Rules: []genRule{
			{Port: 80, Host: host, Path: "/a", To: []genTarget{{0, 1}}}, {Port: 80, Host: host, Path: "/r", Other: "redirect"},
		}}}}
	}

	for name, test := range map[string]struct {
		from, to genStack
		want     []string
	}{
		"nothing when nothing differs": {shop("/a", "/b"), shop("/a", "/b"), []string{}},
		"what is new on one listener is there before the old one goes": {both, other(both, func(m *genMember) { m.Rules[0].Port = 443 }), []string{
			"add certificate cert-ns/a to listener 443",
			"create rule 443:1: path /a to target group ns/a-s0:80",
			"move 2 rules of listener 80",
			"delete rule 80:1",
			"move 2 rules of listener 443",
			"change listener 443: HTTPS, by default answer 404",
			"late: tag 80:2 (R3) with ingress.k8s.aws/resource=80:1",
			"late: tag 443:1 (R1) with ingress.k8s.aws/resource=443:2",
		}},
		"one call when one path differs": {shop("/a", "/b", "/c"), shop("/a", "/x", "/c"), []string{
			"change rule 80:2: host a.test, path /x to target group ns/shop-s0:80",
		}},
		"a rule is not changed in place when the default action may take its requests": {shop("/a"), other(shop("/b"), func(m *genMember) {
			m.Rules = append(m.Rules, genRule{Port: 80, To: []genTarget{{0, 1}}})
		}), []string{
			"create rule 80:1: host a.test, path /b to target group ns/shop-s0:80",
			"move 2 rules of listener 80",
			"change listener 80: HTTP, by default to target group ns/shop-s0:80",
			"delete rule 80:1",
		}},
		"one call for a rule at the end": {shop("/a"), shop("/a", "/b"), []string{
			"create rule 80:2: host a.test, path /b to target group ns/shop-s0:80",
		}},
		"two calls and late tags for a rule in front": {shop("/a", "/b"), shop("/x", "/a", "/b"), []string{
			"create rule 80:1: host a.test, path /x to target group ns/shop-s0:80",
			"move 3 rules of listener 80",
			"late: tag 80:1 (R1) with ingress.k8s.aws/resource=80:2",
			"late: tag 80:2 (R2) with ingress.k8s.aws/resource=80:3",
		}},
		"a new rule before others leaves their requests to them until its targets are healthy": {two, wide, []string{
			"create target group ns/new-s2:80 named ns/new-s2:80ip",
			"set delay=30 of target group ns/new-s2:80",
			"create rule 80:1: path /* to target group ns/new-s2:80",
			"move 3 rules of listener 80",
			"late: tag 80:1 (R2) with ingress.k8s.aws/resource=80:2",
			"late: tag 80:2 (R3) with ingress.k8s.aws/resource=80:3",
			"late: tag 80:3 (R4) with ingress.k8s.aws/resource=80:4",
			"create binding ns/ns/new-s2:80ip of Service s2:80 to target group ns/new-s2:80",
			"wait until target group ns/new-s2:80 is as healthy as ns/k-s1:80",
			"wait until target group ns/new-s2:80 is as healthy as ns/shop-s0:80",
			"move 1 rule of listener 80",
		}},
		"two calls and late tags when a rule goes": {shop("/a", "/b"), shop("/b"), []string{
			"move 2 rules of listener 80",
			"delete rule 80:1",
			"late: tag 80:2 (R2) with ingress.k8s.aws/resource=80:1",
		}},
		"another target type waits for healthy targets": {shop("/a", "/b"), other(shop("/a", "/b"), func(m *genMember) { m.Type = "instance" }), []string{
			"create target group ns/shop-s0:80 named ns/shop-s0:80instance",
			"set delay=30 of target group ns/shop-s0:80",
			"change rule 80:1: host a.test, path /a to target groups T1 (weight 1), ns/shop-s0:80 (weight 0)",
			"create binding ns/ns/shop-s0:80instance of Service s0:80 to target group ns/shop-s0:80",
			"change rule 80:1: host a.test, path /a to target group ns/shop-s0:80, once target group ns/shop-s0:80 is as healthy as the one before",
			"change rule 80:2: host a.test, path /b to target group ns/shop-s0:80",
			"delete binding ns/ns/shop-s0:80ip",
			"delete target group ns/shop-s0:80 (T1)",
		}},
		"another control port waits for healthy targets, too": {shop("/a"), other(shop("/a"), func(m *genMember) { m.Control = 3000 }), []string{
			"create target group ns/shop-s0:80 named ns/shop-s0:80ip3000",
			"set delay=30 of target group ns/shop-s0:80",
			"change rule 80:1: host a.test, path /a to target groups T1 (weight 1), ns/shop-s0:80 (weight 0)",
			"create binding ns/ns/shop-s0:80ip3000 of Service s0:80 to target group ns/shop-s0:80",
			"change rule 80:1: host a.test, path /a to target group ns/shop-s0:80, once target group ns/shop-s0:80 is as healthy as the one before",
			"delete binding ns/ns/shop-s0:80ip",
			"delete target group ns/shop-s0:80 (T1)",
		}},
		"another port of the Service waits for healthy targets, too": {shop("/a"), other(shop("/a"), func(m *genMember) { m.Backend = 81 }), []string{
			"create target group ns/shop-s0:81 named ns/shop-s0:81ip",
			"set delay=30 of target group ns/shop-s0:81",
			"change rule 80:1: host a.test, path /a to target groups T1 (weight 1), ns/shop-s0:81 (weight 0)",
			"create binding ns/ns/shop-s0:81ip of Service s0:81 to target group ns/shop-s0:81",
			"change rule 80:1: host a.test, path /a to target group ns/shop-s0:81, once target group ns/shop-s0:81 is as healthy as ns/shop-s0:80",
			"delete binding ns/ns/shop-s0:80ip",
			"delete target group ns/shop-s0:80 (T1)",
		}},
		"what is answered goes to a Service when its targets are registered": {other(shop("/a", "/b"), func(m *genMember) {
			m.Rules[1] = genRule{Port: 80, Host: "a.test", Path: "/b", Other: "redirect"}
		}), other(shop("/a", "/b"), func(m *genMember) { m.Rules[1].To = []genTarget{{1, 1}} }), []string{
			"create target group ns/shop-s1:80 named ns/shop-s1:80ip",
			"set delay=30 of target group ns/shop-s1:80",
			"create binding ns/ns/shop-s1:80ip of Service s1:80 to target group ns/shop-s1:80",
			"change rule 80:2: host a.test, path /b to target group ns/shop-s1:80",
		}},
		"another Service waits for healthy targets, too": {shop("/a"), other(shop("/a"), func(m *genMember) { m.Rules[0].To[0].Service = 1 }), []string{
			"create target group ns/shop-s1:80 named ns/shop-s1:80ip",
			"set delay=30 of target group ns/shop-s1:80",
			"change rule 80:1: host a.test, path /a to target groups T1 (weight 1), ns/shop-s1:80 (weight 0)",
			"create binding ns/ns/shop-s1:80ip of Service s1:80 to target group ns/shop-s1:80",
			"change rule 80:1: host a.test, path /a to target group ns/shop-s1:80, once target group ns/shop-s1:80 is as healthy as the one before",
			"delete binding ns/ns/shop-s0:80ip",
			"delete target group ns/shop-s0:80 (T1)",
		}},
		"a new rule leaves its requests to the one that serves them until then": {shop("/*"), other(shop("/b", "/*"), func(m *genMember) {
			m.Rules[0].To = []genTarget{{1, 1}}
		}), []string{
			"create target group ns/shop-s1:80 named ns/shop-s1:80ip",
			"set delay=30 of target group ns/shop-s1:80",
			"create rule 80:1: host a.test, path /b to target groups T1 (weight 1), ns/shop-s1:80 (weight 0)",
			"move 2 rules of listener 80",
			"late: tag 80:1 (R1) with ingress.k8s.aws/resource=80:2",
			"create binding ns/ns/shop-s1:80ip of Service s1:80 to target group ns/shop-s1:80",
			"change rule 80:1: host a.test, path /b to target group ns/shop-s1:80, once target group ns/shop-s1:80 is as healthy as the one before",
		}},
		"a new rule for requests that nobody serves waits for nothing": {shop("/a"), other(shop("/a", "/b"), func(m *genMember) {
			m.Rules[1].To = []genTarget{{1, 1}}
		}), []string{
			"create target group ns/shop-s1:80 named ns/shop-s1:80ip",
			"set delay=30 of target group ns/shop-s1:80",
			"create rule 80:2: host a.test, path /b to target group ns/shop-s1:80",
			"create binding ns/ns/shop-s1:80ip of Service s1:80 to target group ns/shop-s1:80",
		}},
		"another scheme makes all anew first": {shop("/a"), internal, []string{
			"create internal load balancer spare",
			"set idle=60 of the new load balancer",
			"create target group ns/shop-s0:80 named ns/shop-s0:80ip-spare",
			"set delay=30 of target group ns/shop-s0:80",
			"create listener 80: HTTP, by default answer 404",
			"create rule 80:1: host a.test, path /a to target group ns/shop-s0:80",
			"create binding ns/ns/shop-s0:80ip-spare of Service s0:80 to target group ns/shop-s0:80",
			"wait until the new load balancer is active",
			"wait until target group ns/shop-s0:80 is as healthy as the one before",
			"delete load balancer B1, once the settle time of load balancer B1 is over (--load-balancer-settle-time)",
			"wait until load balancer B1 is deleted",
			"delete binding ns/ns/shop-s0:80ip",
			"delete target group ns/shop-s0:80 (T1)",
		}},
		"subnets have IPv6 before the load balancer needs it": {shop("/a"), dual, []string{
			"set subnets s3, s2 of load balancer B1", "set address type dualstack of load balancer B1", "set idle=90 of load balancer B1",
		}},
		"subnets have IPv6 for as long as the load balancer needs it": {dual, shop("/a"), []string{
			"set address type ipv4 of load balancer B1", "set subnets s1, s2 of load balancer B1", "set idle=60 of load balancer B1",
		}},
		"the security group goes once the load balancer has another": {shop("/a"), given, []string{
			"set security groups sg-given of load balancer B1", "delete security group ManagedLBSecurityGroup (S1)",
		}},
		"another port is let in before, and the former listener goes last": {shop("/a"), other(shop("/a"), func(m *genMember) { m.Rules[0].Port = 443 }), []string{
			"let in 0.0.0.0/0 to port 443 by security group ManagedLBSecurityGroup (S1)",
			"create listener 443: HTTPS, by default answer 404",
			"add certificate cert-ns/shop to listener 443",
			"create rule 443:1: host a.test, path /a to target group ns/shop-s0:80",
			"delete listener 80",
			"no longer let in 0.0.0.0/0 to port 80 by security group ManagedLBSecurityGroup (S1)",
		}},
		"another default certificate": {secure, swapped, []string{
			"move 2 rules of listener 443",
			"change listener 443: HTTPS, by default answer 404",
			"late: tag 443:2 (R2) with ingress.k8s.aws/resource=443:1",
			"late: tag 443:1 (R1) with ingress.k8s.aws/resource=443:2",
		}},
		"a certificate goes once it is not the default one": {secure, secureOne, []string{
			"move 2 rules of listener 443",
			"change listener 443: HTTPS, by default answer 404",
			"remove certificate cert-ns/k from listener 443",
			"delete rule 443:1",
			"delete binding ns/ns/k-s1:80ip",
			"delete target group ns/k-s1:80 (T1)",
			"late: tag 443:2 (R2) with ingress.k8s.aws/resource=443:1",
		}},
		"the load balancer goes first when no member is left": {shop("/a"), genStack{}, []string{
			"delete load balancer B1",
			"wait until load balancer B1 is deleted",
			"delete binding ns/ns/shop-s0:80ip",
			"delete target group ns/shop-s0:80 (T1)",
			"delete security group ManagedLBSecurityGroup (S1)",
		}},
		"a held member keeps its listener, rules and target groups": {two, held, []string{
			"change rule 80:1: path /new to target group ns/k-s1:80",
		}},
		"what another one has goes though all are held": {two, gone(two), []string{
			"delete rule 80:1",
			"delete binding ns/ns/k-s1:80ip",
			"delete target group ns/k-s1:80 (T1)",
		}},
		"a default action of another one goes though all are held": {byDefault, gone(byDefault), []string{
			"change listener 80: HTTP, by default answer 404",
			"delete binding ns/ns/k-s1:80ip",
			"delete target group ns/k-s1:80 (T1)",
		}},
		"a redirect of a former host stays while all are held": {alone("a.test", false), alone("b.test", true), []string{}},
		"a page goes that is for none of a held member's hosts": {maintained("a.test", 80, false), maintained("a.test", 80, true), []string{
			"move 3 rules of listener 80",
			"delete rule 80:1",
			"late: tag 80:2 (R2) with ingress.k8s.aws/resource=80:1",
			"late: tag 80:3 (R3) with ingress.k8s.aws/resource=80:2",
		}},
		"a page goes that is on none of a held member's ports": {maintained("k.test", 8080, false), maintained("k.test", 8080, true), []string{
			"move 2 rules of listener 80",
			"delete rule 80:1",
			"late: tag 80:2 (R3) with ingress.k8s.aws/resource=80:1",
		}},
		"a page stays that may be a held member's": {maintained("k.test", 80, false), maintained("k.test", 80, true), []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.settle(t, test.from)
			plan, _ := Make(test.to.want(), w.seen(), Options{})
			if diff := cmp.Diff(test.want, texts(plan)); diff != "" {
				t.Errorf("want, got:\n%s", diff)
			}
		})
	}
}

// settle makes the world what a generated stack asks for, with IDs that can be written down.
func (w *world) settle(t *testing.T, s genStack) {
	t.Helper()
	plan, _ := Make(s.want(), w.seen(), Options{})
	if err := w.run(plan, nothing); err != nil {
		t.Fatal(err)
	}
	w.rest()
	names, counts := map[string]string{}, map[string]int{}
	short := func(kind, id string) string {
		if names[id] == "" {
			counts[kind]++
			names[id] = kind + fmt.Sprint(counts[kind])
		}
		return names[id]
	}
	action := func(a *stack.Action) {
		if a.Forward != nil {
			for i := range a.Forward.Groups {
				a.Forward.Groups[i].Group.ID = short("T", a.Forward.Groups[i].Group.ID)
			}
		}
	}
	for i := range w.TargetGroups {
		w.TargetGroups[i].ARN = short("T", w.TargetGroups[i].ARN)
		for j := range w.TargetGroups[i].LoadBalancers {
			w.TargetGroups[i].LoadBalancers[j] = short("B", w.TargetGroups[i].LoadBalancers[j])
		}
	}
	for i := range w.Bindings {
		w.Bindings[i].Group.ID = short("T", w.Bindings[i].Group.ID)
	}
	for i := range w.SecurityGroups {
		w.SecurityGroups[i].ID = short("S", w.SecurityGroups[i].ID)
	}
	for i := range w.LoadBalancers {
		b := &w.LoadBalancers[i]
		b.ARN = short("B", b.ARN)
		for j := range b.SecurityGroups {
			b.SecurityGroups[j].ID = short("S", b.SecurityGroups[j].ID)
		}
		for j := range b.Listeners {
			l := &b.Listeners[j]
			l.ARN = short("L", l.ARN)
			action(&l.Default)
			for k := range l.Rules {
				l.Rules[k].ARN = short("R", l.Rules[k].ARN)
				action(&l.Rules[k].Action)
			}
		}
	}
}

func TestOneOfAHundredRulesIsChangedWithoutALoss(t *testing.T) {
	var paths []string
	for i := range 100 {
		paths = append(paths, fmt.Sprintf("/%d", i))
	}
	from := shop(paths...)
	for name, place := range map[string]int{"the first": 0, "one in the middle": 50, "the last": 99} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.settle(t, from)
			w.limit = 100
			changed := slices.Clone(paths)
			changed[place] = "/x"
			plan, over := Make(shop(changed...).want(), w.seen(), Options{})
			if len(plan) != 1 || len(over) > 0 {
				t.Errorf("want one call, got %q, %v left out", texts(plan), over)
			}
		})
	}
	t.Run("one that is taken away while another is added elsewhere", func(t *testing.T) {
		w := newWorld()
		w.settle(t, from)
		w.limit = 100
		changed := append([]string{"/x"}, paths[1:50]...)
		changed = append(append(changed, paths[51:]...), "/y")
		plan, _ := Make(shop(changed...).want(), w.seen(), Options{})
		calls := slices.DeleteFunc(slices.Clone(plan), func(s steps.Step) bool { return s.Late })
		if err := w.run(plan, nothing); err != nil || len(calls) > 4 {
			t.Errorf("%v: want at most 4 calls, got %q", err, texts(calls))
		}
	})
}

func TestRulesWithGapsBetweenTheirPriorities(t *testing.T) {
	for name, test := range map[string]struct {
		seen []int32 // priorities of /a, /b
		want genStack
		plan []string
	}{
		"a rule behind the gap does not get the place of a new one before others": {[]int32{2, 3}, shop("/x", "/a"), []string{
			"create rule 80:1: host a.test, path /x to target group ns/shop-s0:80",
			"delete rule 80:3",
			"late: tag 80:2 (R1) with ingress.k8s.aws/resource=80:2",
		}},
		"rules move up when there is no room behind the last": {[]int32{49999, 50000}, shop("/a", "/x", "/b"), []string{
			"move 2 rules of listener 80",
			"create rule 80:2: host a.test, path /x to target group ns/shop-s0:80",
			"move 2 rules of listener 80",
			"late: tag 80:2 (R2) with ingress.k8s.aws/resource=80:3",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.settle(t, shop("/a", "/b"))
			rules := w.LoadBalancers[0].Listeners[0].Rules
			for i := range rules {
				rules[i].Priority = test.seen[i]
			}
			plan, _ := Make(test.want.want(), w.seen(), Options{})
			if diff := cmp.Diff(test.plan, texts(plan)); diff != "" {
				t.Errorf("want, got:\n%s", diff)
			}
			if err := w.run(plan, nothing); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRulesBeyondTheQuotaAreLeftOutAndNamed(t *testing.T) {
	w := newWorld()
	w.settle(t, shop("/a", "/b"))
	w.limit = 2
	plan, over := Make(shop("/x", "/a", "/b", "/y").want(), w.seen(), Options{Rules: 2})
	if len(plan) > 0 || len(over) != 2 || over[0].Rule.Owner != "ns/shop" || over[0].Port != 80 {
		t.Errorf("planned %q, left out %+v", texts(plan), over)
	}
}

func TestWhatOthersHaveChangedIsSetRight(t *testing.T) {
	none := []string{}
	for name, test := range map[string]struct {
		edit func(w *world)
		want []string
	}{
		"the node selector of a binding":  {func(w *world) { w.Bindings[0].Spec.NodeSelector = map[string]string{"a": "b"} }, []string{"update binding ns/ns/shop-s0:80ip"}},
		"a label of others on a binding":  {func(w *world) { w.Bindings[0].Spec.Labels = map[string]string{"a": "b"} }, none},
		"the name of a binding":           {func(w *world) { w.Bindings[0].Name = "x" }, none},
		"a binding that is gone":          {func(w *world) { w.Bindings = nil }, []string{"create binding ns/ns/shop-s0:80ip of Service s0:80 to target group ns/shop-s0:80"}},
		"a health check":                  {func(w *world) { w.TargetGroups[0].HealthCheck.Path = "/x" }, []string{"change the health check of target group ns/shop-s0:80"}},
		"port and name of a target group": {func(w *world) { w.TargetGroups[0].Port, w.TargetGroups[0].Name = 7, "x" }, none},
		"an attribute":                    {func(w *world) { w.TargetGroups[0].Attributes = map[string]string{"delay": "1"} }, []string{"set delay=30 of target group ns/shop-s0:80"}},
		"attributes that are not read":    {func(w *world) { w.TargetGroups[0].Attributes = nil }, none},
		"the order of subnets":            {func(w *world) { w.LoadBalancers[0].Subnets = []string{"s2", "s1"} }, none},
		"a security group that lets in more": {func(w *world) {
			w.SecurityGroups[0].Inbound = append(w.SecurityGroups[0].Inbound, stack.Inbound{From: 22, To: 22, Protocol: "tcp", Source: "0.0.0.0/0"})
		}, []string{"no longer let in 0.0.0.0/0 to port 22 by security group ManagedLBSecurityGroup (S1)"}},
		"a target group of another part": {func(w *world) {
			w.TargetGroups = append(w.TargetGroups, stack.TargetGroup{ARN: "T9", Part: "ns/gone-s0:80"})
		}, []string{"delete target group ns/gone-s0:80 (T9)"}},
		"a target group that a load balancer of others sends to": {func(w *world) {
			w.TargetGroups = append(w.TargetGroups, stack.TargetGroup{ARN: "T9", Part: "ns/gone-s0:80", LoadBalancers: []string{"other"}})
		}, none},
		"a rule that cannot be written": {func(w *world) {
			l := &w.LoadBalancers[0].Listeners[0]
			l.Rules = append(l.Rules, stack.Rule{ARN: "R9", Priority: 9, Action: stack.Action{Unknown: "authenticate-oidc"}})
		}, []string{"delete rule 80:9"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.settle(t, shop("/a"))
			test.edit(w)
			plan, _ := Make(shop("/a").want(), w.seen(), Options{})
			if diff := cmp.Diff(test.want, texts(plan)); diff != "" {
				t.Errorf("want, got:\n%s", diff)
			}
		})
	}
}

func TestAWebACLIsSetOnceTheLoadBalancerIsActive(t *testing.T) {
	w := newWorld()
	wanted := shop("/a").want()
	last := func() string {
		planned, _ := Make(wanted, w.seen(), Options{})
		if len(planned) == 0 {
			return ""
		}
		return planned[len(planned)-1].String()
	}
	wanted.LoadBalancers[0].WebACL = new("acl")
	if got := last(); got != "set web ACL acl of the new load balancer, once the new load balancer is active" {
		t.Errorf("new: at last %q", got)
	}
	w.settle(t, shop("/a"))
	w.LoadBalancers[0].Active, w.LoadBalancers[0].WebACL = true, new("other")
	if got := last(); got != "set web ACL acl of load balancer B1" {
		t.Errorf("with another: at last %q", got)
	}
	w.LoadBalancers[0].WebACL = new("acl")
	if got := last(); got != "" {
		t.Errorf("with this one: at last %q", got)
	}
	wanted.LoadBalancers[0].WebACL = nil
	if got := last(); got != "" {
		t.Errorf("of others: at last %q", got)
	}
}

func TestAttributesThatNothingNamesGoBack(t *testing.T) {
	w := newWorld()
	w.settle(t, shop("/a"))
	wanted := shop("/a").want()
	wanted.LoadBalancers[0].Presets = map[string]string{"http2": "true", "newer": "0"}
	wanted.LoadBalancers[0].Listeners[0].Presets = map[string]string{"server": "true"}
	wanted.TargetGroups[0].Presets = map[string]string{"slow": "0"}
	w.LoadBalancers[0].Attributes = map[string]string{"idle": "60", "http2": "false", "protection": "true"}
	w.LoadBalancers[0].Listeners[0].Attributes = map[string]string{"server": "false"}
	w.TargetGroups[0].Attributes = map[string]string{"delay": "30", "slow": "60"}
	planned, _ := Make(wanted, w.seen(), Options{})
	want := []string{
		"set http2=true of load balancer B1", "set slow=0 of target group ns/shop-s0:80", "set server=true of listener 80",
	}
	if diff := cmp.Diff(want, texts(planned)); diff != "" {
		t.Errorf("want, got:\n%s", diff)
	}
	if err := w.run(planned, nothing); err != nil {
		t.Fatal(err)
	}
	if again, _ := Make(wanted, w.seen(), Options{}); len(again) > 0 {
		t.Errorf("planned again: %q", texts(again))
	}
	w.TargetGroups[0].Attributes = nil
	if unread, _ := Make(wanted, w.seen(), Options{}); len(unread) > 0 {
		t.Errorf("planned without what is seen: %q", texts(unread))
	}
}

// What the incumbent has written stays, in whatever case the user has it.
func TestTheCaseOfASwitchDoesNotCount(t *testing.T) {
	w := newWorld()
	w.settle(t, shop("/a"))
	wanted := shop("/a").want()
	wanted.LoadBalancers[0].Attributes = map[string]string{"http2": "true", "name": "X-A"}
	w.LoadBalancers[0].Attributes = map[string]string{"http2": "True", "name": "x-a"}
	planned, _ := Make(wanted, w.seen(), Options{})
	if diff := cmp.Diff([]string{"set name=X-A of load balancer B1"}, texts(planned)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTagsOfOthersStay(t *testing.T) {
	w := newWorld()
	w.settle(t, shop("/a"))
	for key := range map[string]int{"aws:x": 0, "kubernetes.io/cluster/c": 0, "kubernetes.io/namespace": 0, "team": 0, "stray": 0} {
		steps.Tag{Of: stack.Ref{ID: "B1"}, Tags: map[string]string{key: "v"}}.On(&w.Stack, steps.Made{})
	}
	plan, _ := Make(shop("/a").want(), w.seen(), Options{KeepTag: func(key string) bool { return key == "team" }})
	if diff := cmp.Diff([]string{"late: remove tags stray from LoadBalancer (B1)"}, texts(plan)); diff != "" {
		t.Errorf("want, got:\n%s", diff)
	}
}

// Rule 13: the incumbent sets what users ask for, also tags of controllers. Adopting that changes nothing; the next change takes them off.
func TestATagThatUsersMayNotSetStaysUntilSomethingChanges(t *testing.T) {
	for _, key := range []string{"ingress.k8s.aws/other", "service.k8s.aws/stack", "kubernetes.io/cluster/another", "targetgate.dev/x"} {
		w := newWorld()
		w.settle(t, shop("/a"))
		steps.Tag{Of: stack.Ref{ID: "B1"}, Tags: map[string]string{key: "v"}}.On(&w.Stack, steps.Made{})
		if plan, _ := Make(shop("/a").want(), w.seen(), Options{}); len(plan) > 0 {
			t.Errorf("with the tag %s: %v, want nothing", key, texts(plan))
		}
		plan, _ := Make(shop("/b").want(), w.seen(), Options{})
		if want := "remove tags " + key + " from LoadBalancer (B1)"; !slices.Contains(texts(plan), want) {
			t.Errorf("steps %v, want %q among them", texts(plan), want)
		}
	}
}

func TestTheOrderOfSecurityGroupsDoesNotCount(t *testing.T) {
	w := newWorld()
	w.settle(t, shop("/a"))
	wanted, seen := shop("/a").want(), w.seen()
	wanted.LoadBalancers[0].SecurityGroups = append(wanted.LoadBalancers[0].SecurityGroups, stack.Ref{ID: "sg-given"})
	given := append([]stack.Ref{{ID: "sg-given"}}, seen.LoadBalancers[0].SecurityGroups...)
	for order, want := range map[string]int{"turned": 0, "without one": 1} {
		if seen.LoadBalancers[0].SecurityGroups = given; order != "turned" {
			seen.LoadBalancers[0].SecurityGroups = given[1:]
		}
		if plan, _ := Make(wanted, seen, Options{}); len(plan) != want {
			t.Errorf("%s: %q, want %d steps", order, texts(plan), want)
		}
	}
}

func TestAPlanInJSON(t *testing.T) {
	plan := steps.Plan{{
		Wait: &steps.Wait{Settled: stack.Ref{ID: "b"}}, Change: steps.DeleteLoadBalancer{LoadBalancer: stack.Ref{ID: "b"}}, Why: "another has replaced it", Late: true,
	}}
	got, err := json.Marshal(plan)
	want := `[{"change":"DeleteLoadBalancer","text":"delete load balancer b","why":"another has replaced it",` +
		`"wait":"the settle time of load balancer b is over (--load-balancer-settle-time)","late":true}]`
	if err != nil || strings.TrimSpace(string(got)) != want {
		t.Errorf("got %s, %v", got, err)
	}
}

// The name of a good member begins with that of a held one and a hyphen, and so do the parts of its target groups.
func TestTheNameOfAHeldMemberMayBeginAnother(t *testing.T) {
	held, other := one("ns/m", "/m", 1), one("ns/m-s1", "/a", 0)
	w := newWorld()
	w.settle(t, genStack{Members: []genMember{held, other}})
	w.rest()
	w.client = w.LoadBalancers[0].ARN
	held.Held = true
	for _, to := range []struct {
		stack genStack
		want  string
	}{
		{genStack{Members: []genMember{held, one("ns/m-s1", "/a", 2)}}, "s2"},
		{genStack{Members: []genMember{held}}, "fixed 404"},
	} {
		plan, _ := Make(to.stack.want(), w.seen(), Options{})
		if err := w.run(plan, nothing); err != nil {
			t.Fatal(err)
		}
		isLeft := slices.ContainsFunc(w.TargetGroups, func(g stack.TargetGroup) bool { return g.Part == "ns/m-s1-s0:80" })
		if got := w.answer(request{80, "a.test", "/a"}); got != to.want || isLeft {
			t.Errorf("the path of the good member is answered by %q, want %q; its former target group is left: %v\n%s", got, to.want, isLeft, lines(plan))
		}
		if got := w.answer(request{80, "a.test", "/m"}); got != "s1" {
			t.Errorf("the path of the held member is answered by %q, want its Service", got)
		}
	}
}

// What does not tell whose a target group is leaves it to the held member that may have it.
func TestAHeldMemberKeepsWhatMayBeItsOwn(t *testing.T) {
	for name, tc := range map[string]struct {
		bindings []stack.Binding
		want     bool
	}{
		"no binding":                        {nil, true},
		"a binding of the held member":      {[]stack.Binding{bindingOf("ns", "s1-s0")}, true},
		"a binding of another one":          {[]stack.Binding{bindingOf("ns", "s0")}, false},
		"a binding of each":                 {[]stack.Binding{bindingOf("ns", "s0"), bindingOf("ns", "s1-s0")}, true},
		"a binding of another namespace":    {[]stack.Binding{bindingOf("elsewhere", "s0")}, true},
		"a binding of a Service of no part": {[]stack.Binding{bindingOf("ns", "s9")}, true},
	} {
		if got := MayBeOf(&stack.TargetGroup{ARN: "arn", Part: "ns/m-s1-s0:80"}, "ns/m", tc.bindings); got != tc.want {
			t.Errorf("%s: may be of the held member: %v, want %v", name, got, tc.want)
		}
	}
}

func bindingOf(namespace, service string) stack.Binding {
	return stack.Binding{Namespace: namespace, Group: stack.Ref{ID: "arn"}, Spec: stack.BindingSpec{Service: service}}
}

// Anybody may write the labels of a group, and the ARN of a target group of another namespace, into a binding of theirs: no plan counts it for
// the target group's own, follows what it says, or changes it.
func TestBindingsOfOtherNamespacesChangeNoPlan(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 7))
		from, to := generate(r), generate(r)
		w := newWorld()
		first, _ := Make(from.want(), w.seen(), Options{})
		if err := w.run(first[:r.IntN(len(first)+1)], nothing); err != nil {
			t.Fatal(err)
		}
		if r.IntN(4) == 0 {
			to.Members = nil
		}
		seen := w.seen()
		want, _ := Make(to.want(), seen, Options{})
		var strange []stack.Binding
		for _, b := range seen.Bindings {
			b.Namespace, b.Spec.Service, b.Spec.Peer.ID, b.Awaited = "elsewhere", "theirs", "sg-theirs", "something"
			strange = append(strange, b)
		}
		for _, g := range seen.TargetGroups {
			b := bindingOf("elsewhere", "s0")
			b.Name, b.Group.ID = g.Name, g.ARN
			strange = append(strange, b)
		}
		seen.Bindings = append(strange, seen.Bindings...)
		got, _ := Make(to.want(), seen, Options{})
		if diff := cmp.Diff(texts(want), texts(got)); diff != "" {
			t.Fatalf("seed %d: want, got:\n%s", seed, diff)
		}
	}
}

func TestHoldingMembersChangesNothing(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 2))
		from := generate(r)
		to := from
		to.Members = slices.Clone(from.Members)
		for i := range to.Members {
			to.Members[i].Held = r.IntN(2) == 0
		}
		w := newWorld()
		first, _ := Make(from.want(), w.seen(), Options{})
		if err := w.run(first, nothing); err != nil {
			t.Fatal(err)
		}
		if plan, _ := Make(to.want(), w.seen(), Options{}); len(plan) > 0 {
			t.Fatalf("seed %d: %+v: want no step, got %q", seed, to, texts(plan))
		}
	}
}

// The tag that says since when a load balancer has had no Ingress goes when it has one again, though nothing else changes.
func TestTheTagOfAnOrphanGoesWithItsFirstIngress(t *testing.T) {
	w := newWorld()
	w.settle(t, shop("/a"))
	steps.Tag{Of: stack.Ref{ID: "B1"}, Tags: map[string]string{stack.OrphanTag: "2026-11-28T10:00:00Z"}}.On(&w.Stack, steps.Made{})
	plan, _ := Make(shop("/a").want(), w.seen(), Options{})
	if diff := cmp.Diff([]string{"late: remove tags " + stack.OrphanTag + " from LoadBalancer (B1)"}, texts(plan)); diff != "" {
		t.Errorf("want, got:\n%s", diff)
	}
}
