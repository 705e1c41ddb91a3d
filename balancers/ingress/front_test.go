// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
)

// frontOf is what stands in front, in lines.
func frontOf(s stack.Stack) (lines []string) {
	if s.Front == nil {
		return nil
	}
	for _, b := range s.Front.LoadBalancers {
		lines = append(lines, fmt.Sprintf("%s %s %s subnets %v %v groups %v", b.Name, b.Scheme, b.AddressType, b.Subnets, b.Allocations, b.SecurityGroups))
		for _, l := range b.Listeners {
			lines = append(lines, fmt.Sprintf("listener %d %s %s", l.Port, l.Protocol, l.Default.Forward.Groups[0].Group.Part))
		}
	}
	for _, g := range s.Front.TargetGroups {
		lines = append(lines, fmt.Sprintf("group %s %s:%d to %d, check %+v", g.Part, g.Protocol, g.Port, g.TargetPort, g.HealthCheck))
	}
	return lines
}

func TestFront(t *testing.T) {
	const check = ", check {Port:traffic-port Protocol:HTTP Path:/ Interval:15 Timeout:5 Healthy:2 Unhealthy:2 Matcher:200}"
	name := stack.FrontName(input.LoadBalancerName("prod-1", stack.Group{Name: "edge"}, annotation.Internal))
	first := name + " internal ipv4 subnets [subnet-a2 subnet-b2] [] groups [{ ManagedLBSecurityGroup} { backend-sg}]"
	for name, tc := range map[string]struct {
		annotations [3]string // name=value;name=value of each member
		want        []string
		held        string // the fault of the member b
		warned      string // a warning of the member a
	}{
		"nothing asks for it": {annotations: [3]string{"frontend-nlb-scheme=internal"}},
		"nobody asks for what members disagree on": {
			annotations: [3]string{"frontend-nlb-scheme=internal;frontend-nlb-tags=a=b", "enable-frontend-nlb=false;frontend-nlb-scheme=internet-facing;frontend-nlb-tags=a=c"},
		},
		"nobody asks for a subnet that is gone": {annotations: [3]string{"frontend-nlb-subnets=subnet-z"}, warned: "the VPC has no subnet subnet-z"},
		"nobody asks for a group that is gone":  {annotations: [3]string{"frontend-nlb-security-groups=none"}, warned: "Name=none"},
		"one asks for it in no subnets": {
			annotations: [3]string{"enable-frontend-nlb=true;frontend-nlb-listener-port-mapping=443=443;frontend-nlb-subnets=", "listen-ports=[{\"HTTPS\":443}]", "listen-ports=[{\"HTTPS\":443}]"},
			want:        []string{first, "listener 443 TCP FrontendNlb-tg-TCP-443", "group FrontendNlb-tg-TCP-443 TCP:443 to 443" + check},
			warned:      `frontend-nlb-subnets, value "": is empty`,
		},
		"nobody asks for what cannot be read": {annotations: [3]string{"frontend-nlb-healthcheck-interval-seconds=x"}, warned: `interval-seconds, value "x"`},
		"one is held that asks for it": {
			annotations: [3]string{"frontend-nlb-subnets=subnet-z", "enable-frontend-nlb=true;frontend-nlb-scheme=public"}, held: `scheme, value "public"`,
		},
		"one is held that perhaps asks for it": {
			annotations: [3]string{"frontend-nlb-subnets=subnet-z", "enable-frontend-nlb=perhaps"}, held: `value "perhaps"`,
		},
		"one is held that asks for it and disagrees": {
			annotations: [3]string{
				"frontend-nlb-scheme=internet-facing", "enable-frontend-nlb=true;frontend-nlb-scheme=internal", "frontend-nlb-subnets=subnet-z",
			},
			held: `the group has "internet-facing"`,
		},
		"one does not ask, and what it says is wrong": {
			annotations: [3]string{"enable-frontend-nlb=true", "frontend-nlb-subnets=subnet-z"}, held: "the VPC has no subnet subnet-z",
		},
		"one asks for it": {
			annotations: [3]string{"enable-frontend-nlb=true"},
			want: []string{
				first, "listener 80 TCP FrontendNlb-tg-TCP-80", "listener 443 TCP FrontendNlb-tg-TCP-443",
				"group FrontendNlb-tg-TCP-80 TCP:80 to 80" + check, "group FrontendNlb-tg-TCP-443 TCP:443 to 443" + check,
			},
		},
		"ports are mapped by all": {
			annotations: [3]string{
				"enable-frontend-nlb=true;frontend-nlb-listener-port-mapping=8080=80", "frontend-nlb-listener-port-mapping=8080=80",
				"frontend-nlb-listener-port-mapping=9000=9001",
			},
			want: []string{first, "listener 8080 TCP FrontendNlb-tg-TCP-8080", "group FrontendNlb-tg-TCP-8080 TCP:8080 to 80" + check},
		},
		"ports are mapped by one": {
			annotations: [3]string{
				"enable-frontend-nlb=true;frontend-nlb-listener-port-mapping=80=443", `listen-ports=[{"HTTPS":443}]`, `listen-ports=[{"HTTPS":443}]`,
			},
			want: []string{
				first, "listener 80 TCP FrontendNlb-tg-TCP-80", "listener 443 TCP FrontendNlb-tg-TCP-443",
				"group FrontendNlb-tg-TCP-80 TCP:80 to 443" + check, "group FrontendNlb-tg-TCP-443 TCP:443 to 443" + check,
			},
		},
		"a port of one is mapped, not the other": {
			annotations: [3]string{
				`enable-frontend-nlb=true;frontend-nlb-listener-port-mapping=443=443`, `listen-ports=[{"HTTPS":443}]`, `listen-ports=[{"HTTPS":443}]`,
			},
			want: []string{first, "listener 443 TCP FrontendNlb-tg-TCP-443", "group FrontendNlb-tg-TCP-443 TCP:443 to 443" + check},
		},
		"a port of another is mapped": {
			annotations: [3]string{
				`enable-frontend-nlb=true;frontend-nlb-listener-port-mapping=9000=443,8080=80;listen-ports=[{"HTTP":80}]`,
				`listen-ports=[{"HTTPS":443}]`, `listen-ports=[{"HTTPS":8443}]`,
			},
			want: []string{
				first, "listener 443 TCP FrontendNlb-tg-TCP-443", "listener 8080 TCP FrontendNlb-tg-TCP-8080", "listener 8443 TCP FrontendNlb-tg-TCP-8443",
				"group FrontendNlb-tg-TCP-443 TCP:443 to 443" + check, "group FrontendNlb-tg-TCP-8080 TCP:8080 to 80" + check,
				"group FrontendNlb-tg-TCP-8443 TCP:8443 to 8443" + check,
			},
			warned: `value "9000=443": this Ingress does not listen on port 443`,
		},
		"ports are mapped twice": {
			annotations: [3]string{
				"enable-frontend-nlb=true;frontend-nlb-listener-port-mapping=80=443", "frontend-nlb-listener-port-mapping=80=80", `listen-ports=[{"HTTPS":443}]`,
			},
			held: `the group has "443"`,
		},
		"a port of one is mapped to another's": {
			annotations: [3]string{"enable-frontend-nlb=true;frontend-nlb-listener-port-mapping=80=443", "", `listen-ports=[{"HTTPS":443}]`},
			held: `port-mapping, value "80": the group has "443", as alb.ingress.kubernetes.io/frontend-nlb-listener-port-mapping of ` +
				"Ingress shop/a says on port 80: set the same, or another port in front; without a mapping each port leads to itself",
		},
		"members disagree": {
			annotations: [3]string{"enable-frontend-nlb=false", "enable-frontend-nlb=true"}, held: `the group has "false"`,
		},
		"addresses of an internal one": {
			annotations: [3]string{"enable-frontend-nlb=true", "frontend-nlb-eip-allocations=eipalloc-0a,eipalloc-0b"},
			held:        "is internal and has no public addresses",
		},
		"too few addresses": {
			annotations: [3]string{"enable-frontend-nlb=true;frontend-nlb-scheme=internet-facing", "frontend-nlb-eip-allocations=eipalloc-0a"},
			held:        "1 addresses for",
		},
		"more ports than AWS lets the load balancer be a target at": {
			annotations: [3]string{"enable-frontend-nlb=true", "listen-ports=" + listenPorts(11)},
			held: "with this Ingress the load balancer would have 11 ports in front, each of which counts as 50 targets of the Network Load Balancer, " +
				"and its quota is 10: use fewer, another group, or a higher quota",
		},
		"more ports than in all zones": {
			annotations: [3]string{
				"enable-frontend-nlb=true;frontend-nlb-attributes=load_balancing.cross_zone.enabled=true", "listen-ports=" + listenPorts(6),
			},
			held: "6 ports in front, each of which counts as 100 targets of the Network Load Balancer, and its quota is 5",
		},
		"ports are checked at paths of their own": {
			annotations: [3]string{
				`enable-frontend-nlb=true;frontend-nlb-healthcheck-path=/a;listen-ports=[{"HTTP":80}]`,
				`frontend-nlb-healthcheck-path=/b;frontend-nlb-healthcheck-interval-seconds=30;listen-ports=[{"HTTPS":443}]`, `listen-ports=[{"HTTPS":443}]`,
			},
			want: []string{
				first, "listener 80 TCP FrontendNlb-tg-TCP-80", "listener 443 TCP FrontendNlb-tg-TCP-443",
				"group FrontendNlb-tg-TCP-80 TCP:80 to 80" + strings.Replace(check, "Path:/", "Path:/a", 1),
				"group FrontendNlb-tg-TCP-443 TCP:443 to 443" + strings.NewReplacer("Path:/", "Path:/b", "Interval:15", "Interval:30").Replace(check),
			},
		},
		"a port is checked at two paths": {
			annotations: [3]string{
				"enable-frontend-nlb=true;frontend-nlb-healthcheck-path=/a", "frontend-nlb-healthcheck-path=/b", "frontend-nlb-healthcheck-path=/a",
			},
			held: `healthcheck-path, value "/b": the group has "/a", as alb.ingress.kubernetes.io/frontend-nlb-healthcheck-path of Ingress shop/a says on port 443`,
		},
		"health checks that overlap": {
			annotations: [3]string{"", "enable-frontend-nlb=true;frontend-nlb-healthcheck-timeout-seconds=15"}, held: "longer than the timeout",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := three(t)
			for i, text := range tc.annotations {
				for pair := range strings.SplitSeq(text, ";") {
					if key, value, ok := strings.Cut(pair, "="); ok {
						annotate(&in, i, annotation.Prefix+key, value)
					}
				}
			}
			built, faults := Build(in)
			if tc.held != "" {
				if built.Members[0].Held || built.Members[2].Held {
					t.Errorf("others are held, too: %q", faults)
				}
				if !built.Members[1].Held || !slices.ContainsFunc(faults, func(f fault.Fault) bool { return strings.Contains(f.Error(), tc.held) }) {
					t.Errorf("held: %v, faults %q", built.Members[1].Held, faults)
				}
				return
			}
			if slices.ContainsFunc(built.Members, func(m stack.Member) bool { return m.Held }) {
				t.Errorf("a member is held: %v", faults)
			}
			if diff := cmp.Diff(tc.want, frontOf(built)); diff != "" {
				t.Errorf("(-want +got):\n%s%v", diff, faults)
			}
			if !slices.ContainsFunc(faults, func(f fault.Fault) bool {
				return f.IsWarning() && f.Member == "shop/a" && strings.Contains(f.Error(), tc.warned)
			}) && tc.warned != "" {
				t.Errorf("no warning %q in %v", tc.warned, faults)
			}
		})
	}
}

// listenPorts are so many ports in an annotation, those of the other members first.
func listenPorts(n int) string {
	ports := []string{`{"HTTP":80}`, `{"HTTPS":443}`}
	for i := len(ports); i < n; i++ {
		ports = append(ports, fmt.Sprintf(`{"HTTP":%d}`, 8000+i))
	}
	return "[" + strings.Join(ports, ",") + "]"
}

// TestPortsInFrontBeyondTheQuotaStay: who wants no more than there is goes over no quota.
func TestPortsInFrontBeyondTheQuotaStay(t *testing.T) {
	in := three(t)
	annotate(&in, 1, annotation.EnableFront.FullName(), "true")
	before, _ := Build(in)
	in.Seen = asSeen(before)
	in.Options.Limits.FrontTargets = 50
	after, faults := Build(in)
	if diff := cmp.Diff(frontOf(before)[1:], frontOf(after)[1:]); diff != "" || slices.ContainsFunc(after.Members, func(m stack.Member) bool { return m.Held }) {
		t.Errorf("faults %v (-before +after):\n%s", faults, diff)
	}
}

// TestFrontStays: what is seen in front stays as it is while the only member that speaks of it cannot be read, whatever others say of theirs.
func TestFrontStays(t *testing.T) {
	in := three(t)
	annotate(&in, 2, annotation.ListenPorts.FullName(), `[{"HTTPS":8443}]`)
	annotate(&in, 2, annotation.FrontCheckPath.FullName(), "/c")
	for key, value := range map[string]string{
		"enable-frontend-nlb": "true", "frontend-nlb-scheme": "internal", "frontend-nlb-healthcheck-path": "/x",
		"frontend-nlb-attributes": "load_balancing.cross_zone.enabled=true", "frontend-nlb-tags": "a=b",
	} {
		annotate(&in, 1, annotation.Prefix+key, value)
	}
	before, _ := Build(in)
	in.Seen = asSeen(before)
	in.Members[1].Fault = &fault.Fault{Reason: "no class"}
	after, _ := Build(in)
	if !after.Members[1].Held {
		t.Fatal("the member is not held")
	}
	want, got := before.Front.LoadBalancers[0], after.Front.LoadBalancers[0]
	if diff := cmp.Diff(want.Attributes, got.Attributes); diff != "" {
		t.Errorf("attributes:\n%s", diff)
	}
	if diff := cmp.Diff(want.Tags, got.Tags); diff != "" {
		t.Errorf("tags:\n%s", diff)
	}
	if diff := cmp.Diff(frontOf(before)[1:], frontOf(after)[1:]); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

// TestFrontPortsStay: a port in front that leads to a port of a held member alone is left alone, though another wants to be reached there.
func TestFrontPortsStay(t *testing.T) {
	in := three(t)
	for i, name := range []string{"enable-frontend-nlb=true;listen-ports=[{\"HTTP\":8080}]", "frontend-nlb-listener-port-mapping=80=443", "listen-ports=[{\"HTTP\":8080}]"} {
		for pair := range strings.SplitSeq(name, ";") {
			key, value, _ := strings.Cut(pair, "=")
			annotate(&in, i, annotation.Prefix+key, value)
		}
	}
	before, faults := Build(in)
	if got := before.Front.TargetGroups; len(got) != 2 || got[0].Port != 80 || got[0].TargetPort != 443 {
		t.Fatalf("target groups %+v, want one from 80 to 443 and that of 8080; faults %v", got, faults)
	}
	in.Seen = asSeen(before)
	in.Members[1].Fault = &fault.Fault{Reason: "no class"}
	annotate(&in, 0, annotation.ListenPorts.FullName(), `[{"HTTP":80}]`)
	after, _ := Build(in)
	if after.Front == nil || len(after.Front.TargetGroups) != 1 || after.Front.TargetGroups[0].Port != 8080 {
		t.Errorf("in front %+v, want port 8080 alone, as the other is the held member's", after.Front)
	}
	if !after.Members[0].Held || after.Members[2].Held {
		t.Errorf("members %+v, want the first held", after.Members)
	}
}

// TestWhatStaysInFront: AWS does not change all of a Network Load Balancer, and those who want that are told.
func TestWhatStaysInFront(t *testing.T) {
	for name, tc := range map[string]struct {
		annotations   string
		seen          stack.LoadBalancer
		subnets, want []string
		warned        string
	}{
		"addresses that it has, in another order": {
			annotations: "frontend-nlb-subnets=subnet-b1,subnet-a1;frontend-nlb-eip-allocations=eipalloc-0b,eipalloc-0a",
			seen:        stack.LoadBalancer{Subnets: []string{"subnet-a1", "subnet-b1"}, Allocations: []string{"eipalloc-0a", "eipalloc-0b"}},
			subnets:     []string{"subnet-b1", "subnet-a1"}, want: []string{"eipalloc-0b", "eipalloc-0a"},
		},
		"other addresses": {
			annotations: "frontend-nlb-subnets=subnet-a1,subnet-b1;frontend-nlb-eip-allocations=eipalloc-0c,eipalloc-0d",
			seen:        stack.LoadBalancer{Subnets: []string{"subnet-a1", "subnet-b1"}, Allocations: []string{"eipalloc-0a", "eipalloc-0b"}},
			subnets:     []string{"subnet-a1", "subnet-b1"}, want: []string{"eipalloc-0a", "eipalloc-0b"},
			warned: `frontend-nlb-eip-allocations, value "eipalloc-0c,eipalloc-0d": AWS does not change the addresses of a Network Load Balancer: set eipalloc-0a,eipalloc-0b`,
		},
		"addresses of one that has none": {
			annotations: "frontend-nlb-subnets=subnet-a1,subnet-b1;frontend-nlb-eip-allocations=eipalloc-0a,eipalloc-0b",
			seen:        stack.LoadBalancer{Subnets: []string{"subnet-a1", "subnet-b1"}},
			subnets:     []string{"subnet-a1", "subnet-b1"}, warned: "set none, as this one was made without",
		},
		"no addresses any more": {
			annotations: "frontend-nlb-subnets=subnet-a1,subnet-b1",
			seen:        stack.LoadBalancer{Subnets: []string{"subnet-a1", "subnet-b1"}, Allocations: []string{"eipalloc-0a", "eipalloc-0b"}},
			subnets:     []string{"subnet-a1", "subnet-b1"}, want: []string{"eipalloc-0a", "eipalloc-0b"},
		},
		"a zone more, with an address": {
			annotations: "frontend-nlb-subnets=subnet-c1,subnet-b1,subnet-a1;frontend-nlb-eip-allocations=eipalloc-0c,eipalloc-0b,eipalloc-0a",
			seen:        stack.LoadBalancer{Subnets: []string{"subnet-a1", "subnet-b1"}, Allocations: []string{"eipalloc-0a", "eipalloc-0b"}},
			subnets:     []string{"subnet-c1", "subnet-b1", "subnet-a1"}, want: []string{"eipalloc-0c", "eipalloc-0b", "eipalloc-0a"},
		},
		"another subnet of a zone, and a zone more": {
			annotations: "frontend-nlb-subnets=subnet-a2,subnet-b1,subnet-c1",
			seen:        stack.LoadBalancer{Subnets: []string{"subnet-a1", "subnet-b1"}},
			subnets:     []string{"subnet-a1", "subnet-b1", "subnet-c1"},
			warned: `frontend-nlb-subnets, value "subnet-a2,subnet-b1,subnet-c1": the Network Load Balancer is in zone eu-west-1a by subnet-a1, and AWS ` +
				"does not exchange that for subnet-a2: set subnet-a1, or no subnet of the zone until it has left it",
		},
		"a subnet of the zone that it has left": {
			annotations: "frontend-nlb-subnets=subnet-a2,subnet-b1",
			seen:        stack.LoadBalancer{Subnets: []string{"subnet-b1"}},
			subnets:     []string{"subnet-a2", "subnet-b1"},
		},
		"a zone more, without one": {
			annotations: "frontend-nlb-subnets=subnet-a1,subnet-b1,subnet-c1",
			seen:        stack.LoadBalancer{Subnets: []string{"subnet-a1", "subnet-b1"}, Allocations: []string{"eipalloc-0a", "eipalloc-0b"}},
			subnets:     []string{"subnet-a1", "subnet-b1", "subnet-c1"}, want: []string{"eipalloc-0a", "eipalloc-0b", ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := three(t)
			in.AWS.Subnets = append(in.AWS.Subnets, lookup.Subnet{ID: "subnet-c1", Zone: "eu-west-1c", Locale: "availability-zone", Free: 100})
			for pair := range strings.SplitSeq("enable-frontend-nlb=true;frontend-nlb-scheme=internet-facing;"+tc.annotations, ";") {
				key, value, _ := strings.Cut(pair, "=")
				annotate(&in, 1, annotation.Prefix+key, value)
			}
			tc.seen.Network, tc.seen.Active, tc.seen.Scheme = true, true, annotation.InternetFacing
			in.Seen.Front = &stack.Stack{LoadBalancers: []stack.LoadBalancer{tc.seen}}
			built, faults := Build(in)
			got := built.Front.LoadBalancers[0]
			if diff := cmp.Diff(tc.subnets, got.Subnets); diff != "" {
				t.Errorf("subnets (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, got.Allocations); diff != "" {
				t.Errorf("addresses (-want +got):\n%s", diff)
			}
			isFault := func(f fault.Fault) bool {
				return f.IsWarning() && f.Member == "shop/b" && strings.Contains(f.Error(), tc.warned)
			}
			if (tc.warned == "") != (len(faults) == 0) || tc.warned != "" && !slices.ContainsFunc(faults, isFault) {
				t.Errorf("faults %q, want a warning %q", faults, tc.warned)
			}
		})
	}
}

// asSeen is what is wanted, as it is seen when it is made.
func asSeen(s stack.Stack) stack.Stack {
	s.Members = nil
	for i := range s.LoadBalancers {
		s.LoadBalancers[i].ARN, s.LoadBalancers[i].Active = fmt.Sprint("alb-", i), true
	}
	for i := range s.Front.LoadBalancers {
		s.Front.LoadBalancers[i].ARN, s.Front.LoadBalancers[i].Active = fmt.Sprint("nlb-", i), true
		s.Front.LoadBalancers[i].SecurityGroups = []stack.Ref{{ID: "sg-1"}}
	}
	for i := range s.Front.TargetGroups {
		s.Front.TargetGroups[i].ARN = fmt.Sprint("group-", i)
	}
	return s
}

// TestFrontNames: the second one is that of the incumbent.
func TestFrontNames(t *testing.T) {
	if got := stack.FrontName("k8s-shop-checkout-a9c512984d"); got != "k8s-shop-checkout-a9c512984d-nlb" {
		t.Error(got)
	}
	in := three(t)
	in.Group = stack.Group{Namespace: "shop", Name: "checkout-web"}
	in.Members = in.Members[:1]
	annotate(&in, 0, annotation.Prefix+"enable-frontend-nlb", "true")
	built, faults := Build(in)
	if built.Front == nil {
		t.Fatal(faults)
	}
	if got := built.Front.TargetGroups[0].Name; got != "k8s-shop-checkout-1df235b772" {
		t.Errorf("the target group's name is %s, want k8s-shop-checkout-1df235b772", got)
	}
}
