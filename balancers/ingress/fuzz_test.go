// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/parts"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/v1beta1"
)

// obeys fails for a stack that AWS would surely refuse, or that is not whole.
func obeys(t *testing.T, s stack.Stack, limits parts.Limits) {
	t.Helper()
	parts := map[string]bool{}
	for _, group := range s.TargetGroups {
		if parts[group.Part] || len(group.Name) > 32 || len(group.SpareName) > 32 || group.Port < 1 || group.Port > 65535 {
			t.Errorf("target group %s: twice, or of a wrong name or port: %+v", group.Part, group)
		}
		parts[group.Part] = true
	}
	for _, balancer := range s.LoadBalancers {
		if len(balancer.Name) > 32 || balancer.Name == "" || len(balancer.Listeners) == 0 || len(balancer.Subnets) == 0 {
			t.Errorf("name %q, %d listeners, subnets %v", balancer.Name, len(balancer.Listeners), balancer.Subnets)
		}
		rules, ports := 0, map[int32]bool{}
		for _, listener := range balancer.Listeners {
			if ports[listener.Port] {
				t.Errorf("two listeners have port %d", listener.Port)
			}
			ports[listener.Port] = true
			rules += len(listener.Rules)
			obeysListener(t, listener, parts, limits)
		}
		if rules > limits.Rules {
			t.Errorf("%d rules", rules)
		}
	}
	if len(s.TargetGroups) > limits.TargetGroups {
		t.Errorf("%d target groups", len(s.TargetGroups))
	}
}

func obeysListener(t *testing.T, listener stack.Listener, parts map[string]bool, limits parts.Limits) {
	t.Helper()
	if listener.Port < 1 || listener.Port > 65535 || (listener.Protocol == "HTTPS") != (len(listener.Certificates) > 0) {
		t.Errorf("listener %d of %s has certificates %v", listener.Port, listener.Protocol, listener.Certificates)
	}
	if len(lookup.Unique(listener.Certificates)) != len(listener.Certificates) {
		t.Errorf("a certificate is there twice: %v", listener.Certificates)
	}
	actions := []stack.Action{listener.Default}
	for _, rule := range listener.Rules {
		values := 0
		for _, condition := range rule.Conditions {
			values += len(condition.Values) + len(condition.Regex) + len(condition.Query)
		}
		if values < 1 || values > limits.ConditionValues {
			t.Errorf("a rule of %s has %d values", rule.Owner, values)
		}
		actions = append(actions, rule.Action)
	}
	for _, action := range actions {
		if action.Forward == nil {
			continue
		}
		for _, weighted := range action.Forward.Groups {
			if weighted.Group.ID == "" && !parts[weighted.Group.Part] {
				t.Errorf("a rule sends to %q, which is not made", weighted.Group.Part)
			}
		}
	}
}

// Whatever an Ingress and its params say: nothing panics, AWS's limits are kept, and the others of the group are built just the same.
func FuzzBuild(f *testing.F) {
	seed := three(f)
	spec, _ := json.Marshal(seed.Members[1].Ingress.Spec)
	for _, way := range breaks {
		annotations, _ := json.Marshal(map[string]string{annotation.Prefix + way.annotation: way.value})
		in := three(f)
		if way.do != nil {
			way.do(&in, in.Members[1].Ingress)
		}
		broken, _ := json.Marshal(in.Members[1].Ingress.Spec)
		f.Add(string(annotations), string(broken), `{}`)
	}
	f.Add(`{}`, string(spec), `{"scheme":"internal","subnets":{"tags":{"a":["b"]}},"listeners":[{"protocol":"HTTP","port":80,"listenerAttributes":[{"key":"a","value":"b"}]}],"tags":[{"key":"a","value":"b"}]}`)
	f.Add(`{}`, string(spec), `{"subnets":{"ids":["subnet-a1"]},"inboundCIDRs":["10.0.0.0/8"],"PrefixListsIDs":["pl-1"],"sslRedirectPort":"443","certificateArn":["a"],"targetType":"instance"}`)
	f.Fuzz(func(t *testing.T, annotations, spec, params string) {
		in := three(t)
		fuzzed := in.Members[1].Ingress
		// What cannot be decoded is left out: the API server would refuse it.
		_ = json.Unmarshal([]byte(annotations), &fuzzed.Annotations)
		decoded := networkingv1.IngressSpec{}
		if json.Unmarshal([]byte(spec), &decoded) == nil {
			fuzzed.Spec = decoded
		}
		p := &v1beta1.IngressClassParams{}
		if json.Unmarshal([]byte(params), &p.Spec) == nil {
			in.Members[1].Params = p
		}
		checkFuzzed(t, in)
	})
}

// A member that is broken in two ways is no worse than one that is broken in one.
func TestTwoFaultsOfOneMember(t *testing.T) {
	names, random := slices.Sorted(maps.Keys(breaks)), rand.New(rand.NewPCG(1, 2))
	for range 150 {
		one, two := names[random.IntN(len(names))], names[random.IntN(len(names))]
		in := three(t)
		for _, way := range []string{one, two} {
			if tc := breaks[way]; tc.annotation != "" {
				annotate(&in, 1, annotation.Prefix+tc.annotation, tc.value)
			}
		}
		for _, way := range []string{one, two} {
			if tc := breaks[way]; tc.do != nil {
				tc.do(&in, in.Members[1].Ingress)
			}
		}
		checkFuzzed(t, in)
		if t.Failed() {
			t.Fatalf("broken by %q and %q", one, two)
		}
	}
}

func checkFuzzed(t *testing.T, in input.Input) {
	t.Helper()
	input.NeedsOf(in)
	got, faults := Build(in)
	obeys(t, got, in.Options.Limits)
	again, sameFaults := Build(in)
	if diff := cmp.Diff(got, again) + cmp.Diff(faults, sameFaults); diff != "" {
		t.Errorf("built twice (-first +second):\n%s", diff)
	}
	held := slices.ContainsFunc(got.Members, func(m stack.Member) bool { return m.Held && m.Name == "shop/b" })
	if !held {
		return
	}
	alone := in
	alone.Members = slices.DeleteFunc(slices.Clone(in.Members), func(m membership.Member) bool { return m.Ingress.Name == "b" })
	want, _ := Build(alone)
	if diff := cmp.Diff(rulesOf(want, ""), rulesOf(got, "shop/b"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("rules of the others (-without it +with it):\n%s\n%s", diff, fmt.Sprint(faults))
	}
}
