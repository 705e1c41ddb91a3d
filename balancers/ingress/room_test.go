// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/reading"
	"github.com/targetgate/targetgate/balancers/stack"
)

// holding are the faults that hold the member of that name.
func holding(faults []fault.Fault, member string) []string {
	var out []string
	for _, fault := range faults {
		if fault.Member == member && !fault.IsWarning() {
			out = append(out, fault.Error())
		}
	}
	return out
}

// One Ingress: 4,000 CIDRs and 8 ports, 47 kB of annotations, make 32,000 inbound rules. AWS takes some 1,000 rules at an interface.
func TestInboundRulesAreCountedBeforeTheyAreMade(t *testing.T) {
	in := hostile["sources"](t, 4000)
	got, faults := Build(in)
	const want = "this Ingress has 32000 inbound rules (sources x listeners), and at most 2000 are read " +
		"(twice what AWS allows at a network interface), so the Ingress is not read: use fewer, or another group"
	if held := holding(faults, "shop/b"); len(held) != 1 || !strings.Contains(held[0], "which has 32000, and at most 2000 are read") || len(got.SecurityGroups[0].Inbound) > 10 {
		t.Errorf("faults %q; %d rules", held, len(got.SecurityGroups[0].Inbound))
	}
	if warned := CheckAlone(in.Group, in.Members[1], in.Services, in.Options); !slices.ContainsFunc(warned, func(f fault.Fault) bool { return f.Reason == want }) {
		t.Errorf("at admission: %v", warned)
	}
}

// What has room is built, and one more is not: its member is held with a fault that names the sum and the limit, and no other member is.
func TestABudgetHasRoomForAllThatFits(t *testing.T) {
	limits := input.DefaultOptions("", "").Sizes().Budget()
	for name, tc := range map[string]struct {
		most int
		make func(b *networkingv1.Ingress, n int)
		want string
	}{
		"paths x listeners": {limits.Rules / 10, func(b *networkingv1.Ingress, n int) {
			b.Annotations[annotation.ListenPorts.FullName()] = listenOn("HTTP", 10)
			path := b.Spec.Rules[0].HTTP.Paths[0]
			b.Spec.Rules[0].HTTP.Paths = slices.Repeat([]networkingv1.HTTPIngressPath{path}, n)
		}, "1010 rules (paths x listeners)"},
		"listeners": {limits.Ports, func(b *networkingv1.Ingress, n int) {
			b.Annotations[annotation.ListenPorts.FullName()] = listenOn("HTTP", n)
		}, "101 listeners"},
		"sources x listeners": {limits.Inbound / 2, func(b *networkingv1.Ingress, n int) { b.Annotations[annotation.InboundCIDRs.FullName()] = cidrs(n) },
			"which has 2002, and at most 2000 are read"},
		"conditions": {limits.Conditions, func(b *networkingv1.Ingress, n int) {
			for i := range n {
				b.Annotations[fmt.Sprintf("%sx%d", annotation.Conditions.FullName(), i)] = "[]"
			}
		}, "3001 values in annotations of conditions"},
		"certificates": {limits.Certificates, func(b *networkingv1.Ingress, n int) {
			b.Annotations[annotation.Certificates.FullName()] = each(n, ",", func(i int) string { return certARN(fmt.Sprint(i)) })
		}, "251 certificates"},
		"bytes": {limits.Bytes / (128 << 10), func(b *networkingv1.Ingress, n int) {
			b.Annotations[annotation.Prefix+"unknown"] = strings.Repeat("x", n<<17)
		}, "bytes of annotations and rules"},
	} {
		t.Run(name, func(t *testing.T) {
			for n, isOver := range map[int]bool{tc.most: false, tc.most + 1: true} {
				in, b := withPaths(t, 1, "b", "")
				in.Members = in.Members[1:2]
				tc.make(b, n)
				in.Members = append(in.Members, three(t).Members[0])
				a := in.Members[1].Ingress
				a.Annotations[annotation.ListenPorts.FullName()] = b.Annotations[annotation.ListenPorts.FullName()]
				a.Spec.Rules = nil
				if isOver {
					a.Annotations[annotation.ListenPorts.FullName()] = `[{"HTTP": 1000}]`
				}
				_, faults := Build(in)
				over := slices.DeleteFunc(holding(faults, "shop/b"), func(text string) bool { return !strings.Contains(text, "so the Ingress is not read") })
				if isOver != (len(over) == 1 && strings.Contains(over[0], tc.want)) || !isOver && len(over) > 0 {
					t.Errorf("%d: faults %.300q", n, over)
				}
				if others := holding(faults, "shop/a"); len(others) > 0 && strings.Contains(others[0], "not read") {
					t.Errorf("%d: another is held: %q", n, others)
				}
			}
		})
	}
}

// Members share the sources of a port, as they must agree on them: what all say counts once.
func TestSharedSourcesCountOnce(t *testing.T) {
	in, b := withPaths(t, 1, "b", "")
	b.Annotations[annotation.InboundCIDRs.FullName()] = cidrs(300)
	in = copies(in, b, 40, func(copied *networkingv1.Ingress, i int) {
		copied.Spec.Rules[0].Host = fmt.Sprintf("%d.example.com", i)
	})
	in.Members = in.Members[1:]
	in.Members = slices.Delete(in.Members, 1, 2)
	got, faults := Build(in)
	if isHeld := func(m stack.Member) bool { return m.Held }; slices.ContainsFunc(got.Members, isHeld) || len(got.SecurityGroups[0].Inbound) != 600 {
		t.Errorf("%d inbound rules, faults %v", len(got.SecurityGroups[0].Inbound), faults)
	}
}

// Who is served keeps its room, whoever comes before it in the order of rules; of others who asks for less comes first.
func TestWhoIsServedHasRoomFirst(t *testing.T) {
	names := func(members []stack.Member) (held []string) {
		for _, m := range members {
			if m.Held {
				held = append(held, m.Name)
			}
		}
		return held
	}
	in, b := withPaths(t, 400, "b", "") // 800 rules, and the budget is 1,000
	large := b.DeepCopy()
	large.Name = "a-large"
	in = copies(in, large, 1, func(copied *networkingv1.Ingress, _ int) { copied.Name = "0-large" })
	in.Members = slices.Insert(in.Members[:3:3], 0, in.Members[3])
	in.Options.Limits.Rules = 100
	for name, tc := range map[string]struct {
		see  func(*input.Input)
		want []string
	}{
		"nobody": {func(*input.Input) {}, []string{"shop/b"}},
		"by a target group": {func(in *input.Input) {
			in.Seen.TargetGroups = []stack.TargetGroup{{ARN: "arn", Part: "shop/b-b:80"}}
		}, []string{"shop/0-large"}},
		"by its status": {func(in *input.Input) {
			in.Seen.LoadBalancers = []stack.LoadBalancer{{ARN: "lb", DNSName: "Edge.elb", Active: true}}
			b.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{Hostname: "edge.elb"}}
		}, []string{"shop/0-large"}},
	} {
		t.Run(name, func(t *testing.T) {
			seen := in
			tc.see(&seen)
			seen.Bound()
			var over []string
			for _, m := range seen.Members {
				if m.Over != nil {
					over = append(over, m.Ingress.Namespace+"/"+m.Ingress.Name)
				}
			}
			if !slices.Equal(over, tc.want) {
				t.Errorf("%v have no room, want %v", over, tc.want)
			}
			b.Status = networkingv1.IngressStatus{}
		})
	}
	got, _ := Build(in)
	if held := names(got.Members); !slices.Contains(held, "shop/b") || slices.Contains(held, "shop/a") || slices.Contains(held, "shop/c") {
		t.Errorf("held are %v", held)
	}
}

// Rules are compared as far as the quota has room, and with those of their host: what redirects to itself, or is hidden by a redirect, with
// none.
func TestComparisonsAreBounded(t *testing.T) {
	for name, tc := range map[string]struct {
		in   func() input.Input
		most int
	}{
		"redirects to themselves": {func() input.Input { return hostile["redirects to themselves"](t, 500) }, 10},
		"hidden by a redirect": {func() input.Input {
			in, b := withPaths(t, 499, "away", input.UseAnnotation)
			b.Annotations[annotation.Actions.FullName()+"away"] = `{"type":"redirect","redirectConfig":{"host":"away","statusCode":"HTTP_301"}}`
			paths := &b.Spec.Rules[0].HTTP.Paths
			*paths = append(*paths, (*paths)[0])
			(*paths)[499].Path = "/"
			for i := range *paths {
				(*paths)[i].PathType = new(networkingv1.PathTypeImplementationSpecific)
			}
			(*paths)[0].Path, (*paths)[499].Path = "/*", "/0"
			return in
		}, 20},
		"other hosts": {func() input.Input {
			in, b := withPaths(t, 1, "b", "")
			for i := range 40 {
				rule := *b.Spec.Rules[0].DeepCopy()
				rule.Host = fmt.Sprintf("%d.example.com", i)
				b.Spec.Rules = append(b.Spec.Rules, rule)
			}
			return in
		}, 20},
		"as many as the quota": {func() input.Input { in, _ := withPaths(t, 45, "b", ""); return in }, 2 * 45 * 50 / 2},
		"a quota that is raised": {func() input.Input {
			in, _ := withPaths(t, 1000, "b", "")
			in.Options.Limits.Rules, in.Options.Limits.TargetGroups = 3000, 3000
			return in
		}, mostCompared},
	} {
		t.Run(name, func(t *testing.T) {
			in := tc.in()
			all := readAll(t.Context(), &in)
			reading.Settle(all)
			d := newDraft(&in, all, nil)
			d.warnings()
			if d.compared > tc.most {
				t.Errorf("%d comparisons, want %d at most", d.compared, tc.most)
			}
		})
	}
}

// until ends after so many looks at it.
type until struct {
	context.Context
	left int
}

func (u *until) Err() error {
	if u.left--; u.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// When the time is over, members that are not read are held, and what was read is built.
func TestBuildEndsWithItsContext(t *testing.T) {
	for left, want := range []int{3, 2, 1, 0} {
		got, faults := BuildWithin(&until{t.Context(), left}, three(t))
		held := 0
		for _, m := range got.Members {
			if m.Held {
				held++
			}
		}
		if isSlow := func(f fault.Fault) bool { return strings.Contains(f.Reason, "takes too long to read") }; held != want ||
			slices.ContainsFunc(faults, isSlow) != (want > 0) || (len(got.LoadBalancers) > 0) != (want < 3) {
			t.Errorf("after %d looks %d are held, want %d; faults %v", left, held, want, faults)
		}
	}
	in := members(t, 30, func(i int) map[string]string {
		return map[string]string{"ipam-ipv4-pool-id": fmt.Sprintf("ipam-pool-%d", i)}
	})
	looks := &until{t.Context(), len(in.Members) + 2}
	if got, faults := BuildWithin(looks, in); looks.left != -1 || got.Members[0].Held || len(faults) != 30 {
		t.Errorf("%d looks are left; the first is held: %v; %d faults", looks.left, got.Members[0].Held, len(faults))
	}
}
