// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/v1beta1"
)

// made is the stack as AWS shows it once it is made: with IDs, without what is known of wanted ones alone.
func made(s stack.Stack) stack.Stack {
	s.Members = nil
	ids := map[string]string{}
	s.SecurityGroups = slices.Clone(s.SecurityGroups)
	for i := range s.SecurityGroups {
		group := &s.SecurityGroups[i]
		group.ID = fmt.Sprintf("sg-made%d", i)
		ids[stack.SecurityGroupPart] = group.ID
		if group.Shared {
			ids[stack.SharedPart] = group.ID
		}
	}
	if len(s.SecurityGroups) > 0 {
		ids[stack.SecurityGroupPart] = s.SecurityGroups[0].ID
	}
	s.TargetGroups = slices.Clone(s.TargetGroups)
	for i := range s.TargetGroups {
		s.TargetGroups[i].ARN = "arn:" + s.TargetGroups[i].Name
		ids[s.TargetGroups[i].Part] = s.TargetGroups[i].ARN
	}
	refer := func(ref *stack.Ref) {
		if ref.ID == "" {
			ref.ID = ids[ref.Part]
		}
		ref.Part = ""
	}
	action := func(a stack.Action) stack.Action {
		if a.Forward != nil {
			forward := *a.Forward
			forward.Groups = slices.Clone(forward.Groups)
			for i := range forward.Groups {
				refer(&forward.Groups[i].Group)
			}
			a.Forward = &forward
		}
		return a
	}
	s.LoadBalancers = slices.Clone(s.LoadBalancers)
	for i := range s.LoadBalancers {
		balancer := &s.LoadBalancers[i]
		balancer.ARN, balancer.Active, balancer.SpareName = "arn:lb", true, ""
		balancer.SecurityGroups = slices.Clone(balancer.SecurityGroups)
		for j := range balancer.SecurityGroups {
			refer(&balancer.SecurityGroups[j])
		}
		balancer.Listeners = slices.Clone(balancer.Listeners)
		for j := range balancer.Listeners {
			l := &balancer.Listeners[j]
			l.ARN, l.Default, l.Rules = "arn:listener", action(l.Default), slices.Clone(l.Rules)
			for k := range l.Rules {
				l.Rules[k].Owner, l.Rules[k].Action = "", action(l.Rules[k].Action)
			}
		}
	}
	return s
}

// broken makes shop/b one that is held, whatever else it says.
func broken(in *input.Input) { serviceOf(in.Services, "b").Spec.Ports[0].Port = 81 }

// What a held member has brought into the group stays as it is seen, where no other says anything of it.
func TestSettingsOfHeldMemberStay(t *testing.T) {
	var otherPort = `[{"HTTP":80},{"HTTPS":443},{"HTTP":8080}]`
	for name, annotations := range map[string]map[string]string{
		"scheme":                     {"scheme": "internet-facing"},
		"address type":               {"ip-address-type": "dualstack"},
		"security groups":            {"security-groups": "sg-b,sg-a"},
		"security groups with rules": {"security-groups": "sg-b", "manage-backend-security-group-rules": "true"},
		"inbound addresses":          {"inbound-cidrs": "10.0.0.0/8"},
		"prefix lists":               {"security-group-prefix-lists": "pl-b"},
		"policy":                     {"ssl-policy": "b"},
		"redirect":                   {"ssl-redirect": "443"},
		"web ACL":                    {"wafv2-acl-arn": aclARN("b")},
		"web ACL of WAF Classic":     {"waf-acl-id": "b"},
		"attributes":                 {"load-balancer-attributes": "k=v", "listener-attributes.HTTP-80": "k=v"},
		"tags":                       {"tags": "team=b"},
		"certificate":                {"certificate-arn": certARN("b")},
		"port and its addresses":     {"listen-ports": otherPort, "inbound-cidrs": "10.0.0.0/8"},
	} {
		for _, way := range []string{"of a Service's port", "of its own annotation", "of its params"} {
			t.Run(name+", held because "+way, func(t *testing.T) {
				in := three(t)
				for i := range in.AWS.Subnets {
					in.AWS.Subnets[i].IPv6 = true
				}
				for key, value := range annotations {
					annotate(&in, 1, annotation.Prefix+key, value)
				}
				before, faults := Build(in)
				if slices.ContainsFunc(faults, func(f fault.Fault) bool { return !f.IsWarning() }) {
					t.Fatalf("not built: %v", faults)
				}
				in.Seen = made(before)
				switch way {
				case "of a Service's port":
					broken(&in)
				case "of its own annotation":
					breakAnnotations(&in, annotations)
				default:
					in.Members[1].Fault = &fault.Fault{Reason: "its params are gone"}
				}
				after, _ := Build(in)
				if !after.Members[1].Held {
					t.Fatal("the member is not held")
				}
				compareKept(t, in.Seen, made(after))
			})
		}
	}
}

// breakAnnotations makes what was said unreadable, where there is something that cannot be read.
func breakAnnotations(in *input.Input, annotations map[string]string) {
	broken(in)
	for _, name := range slices.Sorted(maps.Keys(annotations)) {
		switch name {
		case "ssl-policy": // any text can be read
		case "security-groups":
			annotate(in, 1, annotation.Prefix+name, "no-such-name")
		default:
			annotate(in, 1, annotation.Prefix+name, "unreadable\\,")
		}
	}
}

// compareKept compares all of the load balancer but its rules, and only those listeners that are still wanted.
func compareKept(t *testing.T, before, after stack.Stack) {
	t.Helper()
	was, is := before.LoadBalancers[0], after.LoadBalancers[0]
	was.Listeners = slices.DeleteFunc(slices.Clone(was.Listeners), func(l stack.Listener) bool { return is.ListenerOn(l.Port) == nil })
	for _, balancer := range []*stack.LoadBalancer{&was, &is} {
		if balancer.WebACL = nil; len(balancer.Attributes) == 0 {
			balancer.Attributes = nil
		}
		balancer.Listeners = slices.Clone(balancer.Listeners)
		for i := range balancer.Listeners {
			l := &balancer.Listeners[i]
			slices.Sort(l.Certificates)
			l.Rules, l.Owners = nil, nil
		}
	}
	if diff := cmp.Diff(was, is); diff != "" {
		t.Errorf("load balancer (-before +after):\n%s", diff)
	}
	inbound := func(s stack.Stack) []string {
		var lines []string
		for _, group := range s.SecurityGroups {
			for _, rule := range group.Inbound {
				lines = append(lines, fmt.Sprint(rule))
			}
		}
		slices.Sort(lines)
		return lines
	}
	if diff := cmp.Diff(inbound(before), inbound(after)); diff != "" {
		t.Errorf("inbound rules (-before +after):\n%s", diff)
	}
}

// Where members disagree, the value that is seen counts, whoever comes first.
func TestSeenValueWins(t *testing.T) {
	for name, tc := range map[string]struct{ annotation, first, seen, want string }{
		"scheme":          {"scheme", "internal", "internet-facing", "internet-facing"},
		"security groups": {"security-groups", "sg-1", "sg-2", "sg-2"},
		"subnets":         {"subnets", "subnet-a1,subnet-b1", "subnet-a2,subnet-b2", "subnet-a2,subnet-b2"},
		"redirect":        {"ssl-redirect", "8443", "443", "443"},
		"attribute":       {"load-balancer-attributes", "k=1", "k=2", "2"},
		"policy":          {"ssl-policy", "1", "2", "2"},
		"web ACL":         {"wafv2-acl-arn", "none", aclARN("a"), aclARN("a")},
		"classic web ACL": {"waf-acl-id", "none", "a", "a"},
		"inbound":         {"inbound-cidrs", "10.0.0.0/8", "11.0.0.0/8", "11.0.0.0/8"},
	} {
		t.Run(name, func(t *testing.T) {
			in := three(t)
			annotate(&in, 1, annotation.Prefix+tc.annotation, tc.seen)
			before, _ := Build(in)
			in.Seen = made(before)
			annotate(&in, 0, annotation.Prefix+tc.annotation, tc.first)
			if name == "web ACL" {
				in.Seen.LoadBalancers[0].WebACL = &tc.seen
			}
			got, faults := Build(in)
			if !got.Members[0].Held || got.Members[1].Held {
				t.Fatalf("held: %v, %v; faults %v", got.Members[0].Held, got.Members[1].Held, faults)
			}
			want := fmt.Sprintf("the group has %q, as the load balancer has it", tc.want)
			if !slices.ContainsFunc(faults, func(f fault.Fault) bool { return f.Member == "shop/a" && strings.Contains(f.Error(), want) }) {
				t.Errorf("faults %v, want %s", faults, want)
			}
		})
	}
}

// The default backend that is seen stays its owner's when another wants to have one.
func TestSeenDefaultBackendWins(t *testing.T) {
	in := three(t)
	backend := func(name string) *networkingv1.IngressBackend {
		return &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: name, Port: networkingv1.ServiceBackendPort{Number: 80}}}
	}
	in.Members[1].Ingress.Spec.DefaultBackend = backend("b")
	before, _ := Build(in)
	in.Seen = made(before)
	in.Members[0].Ingress.Spec.DefaultBackend = backend("a")
	got, _ := Build(in)
	if !got.Members[0].Held || got.Members[1].Held || got.LoadBalancers[0].Listeners[0].Default.Forward.Groups[0].Group.Part != "shop/b-b:80" {
		t.Errorf("members %+v, default %+v", got.Members, got.LoadBalancers[0].Listeners[0].Default)
	}

	in.Members = in.Members[1:]
	broken(&in)
	got, _ = Build(in)
	if diff := cmp.Diff(in.Seen.LoadBalancers[0].Listeners[0].Default, got.LoadBalancers[0].Listeners[0].Default); diff != "" {
		t.Errorf("default of a held member (-seen +wanted):\n%s", diff)
	}
}

// What a member's params have brought into the group stays when they are gone, as nobody knows what it says then.
func TestSettingsOfGoneParamsStay(t *testing.T) {
	in := three(t)
	in.Members[1].Params = &v1beta1.IngressClassParams{Spec: v1beta1.IngressClassParamsSpec{
		Scheme: new("internet-facing"), SSLRedirectPort: "443", SSLPolicy: "b", InboundCIDRs: []string{"10.0.0.0/8"},
	}}
	before, _ := Build(in)
	in.Seen = made(before)
	in.Members[1].Params, in.Members[1].Fault = nil, &fault.Fault{Reason: "its params are gone"}
	after, _ := Build(in)
	compareKept(t, in.Seen, made(after))
}

// A load balancer of another scheme gets other subnets.
func TestSchemeChanges(t *testing.T) {
	in := three(t)
	before, _ := Build(in)
	in.Seen = made(before)
	annotate(&in, 0, annotation.Prefix+"scheme", "internet-facing")
	after, faults := Build(in)
	if diff := cmp.Diff([]string{"subnet-a1", "subnet-b1"}, after.LoadBalancers[0].Subnets); diff != "" || len(faults) > 0 {
		t.Errorf("faults %v, subnets (-want +got):\n%s", faults, diff)
	}
}

// A group all of whose members are held wants no load balancer and has members, so that nothing is touched.
func TestAllHeld(t *testing.T) {
	in := three(t)
	in.Members = in.Members[1:2]
	broken(&in)
	got, faults := Build(in)
	if len(got.Members) != 1 || !got.Members[0].Held || len(got.LoadBalancers)+len(got.TargetGroups)+len(got.SecurityGroups) != 0 || len(faults) != 1 {
		t.Errorf("got %+v, %v", got, faults)
	}
	if diff := cmp.Diff([]int32{80, 443}, got.Members[0].Ports); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
}

// A refusal of what members share holds the member that says it. What is seen already is nobody's word.
func TestWhoSaysWhat(t *testing.T) {
	in := three(t)
	annotate(&in, 1, annotation.SSLPolicy.FullName(), "ELBSecurityPolicy-TLS13-1-2-2021-06")
	annotate(&in, 2, annotation.SSLPolicy.FullName(), "ELBSecurityPolicy-TLS13-1-2-2021-06")
	annotate(&in, 2, annotation.InboundCIDRs.FullName(), "10.0.0.0/8")
	in.Members[1].Ingress.Spec.DefaultBackend = &in.Members[1].Ingress.Spec.Rules[0].HTTP.Paths[0].Backend
	got, faults := Build(in)
	voters := []string{"ssl-policy 443", "inbound-cidrs 80", "inbound-cidrs 443", "security-groups"}
	for i, want := range []string{"shop/b", "shop/c", "shop/c", ""} {
		if got.Voters[voters[i]] != want || len(faults) > 0 {
			t.Errorf("%s is said by %q, want %q; faults %v", voters[i], got.Voters[voters[i]], want, faults)
		}
	}
	if owner := got.LoadBalancers[0].Listeners[1].DefaultOwner; owner != "shop/b" {
		t.Errorf("the default backend is that of %q", owner)
	}
	in.Seen = made(got)
	if again, _ := Build(in); again.Voters["inbound-cidrs 80"] != "" {
		t.Errorf("%q says what is there already", again.Voters["inbound-cidrs 80"])
	}
}

// What is made wants nothing else: built again from what is seen, the stack is the same.
func TestBuiltAgain(t *testing.T) {
	in := three(t)
	before, _ := Build(in)
	in.Seen = made(before)
	in.AWS.Subnets = nil // not looked up again
	after, faults := Build(in)
	if diff := cmp.Diff(before, after, withoutVoters); diff != "" || len(faults) > 0 {
		t.Errorf("faults %v, stack (-first +second):\n%s", faults, diff)
	}
}
