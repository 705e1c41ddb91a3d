// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/orphans"
	"github.com/targetgate/targetgate/balancers/parts"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// estate has in AWS the stacks of so many groups, shop/0 and so on. Of the first of them there are no Ingresses.
func estate(t *testing.T, all, without int) *bed {
	t.Helper()
	objects := []client.Object{webService()}
	var ids []stack.ID
	seen := map[string]stack.Stack{}
	for i := range all {
		group := stack.Group{Namespace: "shop", Name: fmt.Sprint(i)}
		b := balancer(group.Name, true, 80)
		b.Name = input.LoadBalancerName("prod", group, annotation.Internal)
		seen[group.String()] = stack.Stack{
			LoadBalancers: []stack.LoadBalancer{b}, TargetGroups: []stack.TargetGroup{{ARN: "tg" + group.Name, Name: "k8s-shop-web-0123456789"}},
			SecurityGroups: []stack.SecurityGroup{{ID: "sg" + group.Name, Name: parts.SecurityGroupName("prod", group)}},
		}
		ids = append(ids, stack.ID{Cluster: "prod", Kind: stack.Ingresses, Name: group.String()})
		if i >= without {
			ingress := ingressOf(group.Name, group)
			delete(ingress.Annotations, annotation.GroupName.FullName())
			objects = append(objects, served(ingress, oldHost, group))
		}
	}
	out := newBed(t, objects...)
	out.seen, out.Stacks, out.OrphanGrace = seen, listed{ids: ids}, orphans.DefaultGrace
	return out
}

// collected lets so many hours pass, with a look in each, and returns which groups were planned to be deleted, each with the hour.
func (b *bed) collected(hours int) (out []string) {
	b.t.Helper()
	for hour := range hours {
		requests, err := b.leftovers(b.t.Context())
		if err != nil {
			b.t.Fatal(err)
		}
		for _, request := range requests {
			if b.exists(request.Name) { // passes over it do not matter here, and take time
				continue
			}
			before := b.planned
			b.mustPass(stack.Group(request.NamespacedName))
			if b.planned > before && len(b.wanted.Members) == 0 {
				out = append(out, fmt.Sprintf("%s after %dh", request.NamespacedName, hour))
				delete(b.seen, request.String())
				left := b.Stacks.(listed)
				left.ids = slices.DeleteFunc(slices.Clone(left.ids), func(id stack.ID) bool { return id.Name == request.String() })
				b.Stacks = left
			}
		}
		b.clock.Step(time.Hour)
	}
	return out
}

// Rule 36: what has no Ingress since before our start is deleted only after a day, one at a time, and not at all when that may be an error
// of ours.
func TestLoadBalancersWithoutIngressesAreCollectedLate(t *testing.T) {
	for name, tc := range map[string]struct {
		all, without int
		do           func(b *bed)
		want         string
	}{
		"one of ten":        {all: 10, without: 1, want: "shop/0 after 24h"},
		"two of twenty":     {all: 20, without: 2, want: "shop/0 after 24h, shop/1 after 25h"},
		"one of nine":       {all: 9, without: 1},
		"two of ten":        {all: 10, without: 2},
		"six of sixty":      {all: 60, without: 6},
		"an empty cluster":  {all: 12, without: 12},
		"the only one":      {all: 1, without: 1},
		"never":             {all: 10, without: 1, do: func(b *bed) { b.OrphanGrace = 0 }},
		"a name of users'":  {all: 10, without: 1, do: func(b *bed) { b.seen["shop/0"].LoadBalancers[0].Name = "shop" }},
		"a wrong cluster":   {all: 12, without: 12, do: func(b *bed) { b.Cluster, b.front.Options.Cluster = "staging", "staging" }},
		"another's Ingress": {all: 10, without: 1, do: func(b *bed) { b.createForeign("0", "shop") }},
		"one that is lost while we run, as others are": {all: 20, do: func(b *bed) {
			b.endings.told = true
			for i := range 20 {
				b.mustPass(stack.Group{Namespace: "shop", Name: fmt.Sprint(i)})
			}
			for i := range 20 {
				last := b.get(fmt.Sprint(i))
				b.vanish(last.Name)
				b.endings.note(last, b.front.HoldsOurs(last), true, b.clock.Now())
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := estate(t, tc.all, tc.without)
			if tc.do != nil {
				tc.do(b)
			}
			if got := strings.Join(b.collected(48), ", "); got != tc.want {
				t.Errorf("collected %q, want %q", got, tc.want)
			}
		})
	}
}

func (b *bed) createForeign(name, namespace string) {
	b.t.Helper()
	foreign := ingressOf(name, stack.Group{})
	foreign.Namespace, foreign.Annotations = namespace, map[string]string{"kubernetes.io/ingress.class": "other"}
	if err := b.Client.Create(b.t.Context(), foreign); err != nil {
		b.t.Fatal(err)
	}
}

// The day begins anew when an Ingress has been there, and when too many had none.
func TestTheGraceOfALoadBalancerBeginsAnew(t *testing.T) {
	b := estate(t, 20, 1)
	b.tags()
	if got := b.collected(20); len(got) > 0 {
		t.Fatal(got)
	}
	b.createForeign("0", "shop")
	b.collected(1)
	if err := b.Client.Delete(t.Context(), b.get("0")); err != nil {
		t.Fatal(err)
	}
	if got := b.collected(23); len(got) > 0 {
		t.Errorf("collected %v less than a day after an Ingress was there", got)
	}
	b.vanish("1") // two of 19 are too many
	b.vanish("2")
	b.collected(1)
	b.recreate("1")
	b.recreate("2")
	if got := b.collected(23); len(got) > 0 {
		t.Errorf("collected %v less than a day after too many had none", got)
	}
}

// restart is a process that knows only what is written down.
func (b *bed) restart() { b.collector, b.memories, b.endings = collector{}, memories{}, endings{} }

// A process that restarts goes on counting from the tag that the load balancer has, and tells of it an hour before.
func TestTheGraceOfALoadBalancerOutlivesARestart(t *testing.T) {
	for name, tc := range map[string]struct {
		do   func(b *bed)
		want string
	}{
		"twice a day":     {want: "shop/0 after 25h"}, // it has counted 24 h, and restarts then
		"AWS refuses it":  {do: func(b *bed) { b.apply = func(apply.Pass) apply.Result { return apply.Result{} } }},
		"no time":         {do: func(b *bed) { b.mark("soon") }, want: "shop/0 after 25h"},
		"a time to come":  {do: func(b *bed) { b.mark("2099-01-01T00:00:00Z") }, want: "shop/0 after 25h"},
		"long ago":        {do: func(b *bed) { b.mark("2020-01-01T00:00:00Z") }, want: "shop/0 after 1h"},
		"never":           {do: func(b *bed) { b.mark("2020-01-01T00:00:00Z"); b.OrphanGrace = 0 }},
		"a name of users": {do: func(b *bed) { b.mark("2020-01-01T00:00:00Z"); b.seen["shop/0"].LoadBalancers[0].Name = "shop" }},
	} {
		t.Run(name, func(t *testing.T) {
			b := estate(t, 20, 1)
			b.tags()
			if tc.do != nil {
				tc.do(b)
			}
			var got []string
			for half := range 4 {
				for _, one := range b.collected(12) {
					var after int
					if _, err := fmt.Sscanf(one, "shop/0 after %dh", &after); err != nil {
						t.Fatal(err)
					}
					got = append(got, fmt.Sprintf("shop/0 after %dh", half*12+after))
				}
				b.restart()
			}
			if strings.Join(got, ", ") != tc.want {
				t.Errorf("collected %q, want %q", got, tc.want)
			}
		})
	}
}

// tags has steps that tag load balancers done.
func (b *bed) tags() {
	b.apply = func(pass apply.Pass) apply.Result {
		for _, step := range pass.Plan {
			if tag, is := step.Change.(steps.Tag); is {
				balancers := b.seen[pass.ID.Name].LoadBalancers
				balancers[0].Tags = maps.Clone(balancers[0].Tags)
				if balancers[0].Tags == nil {
					balancers[0].Tags = map[string]string{}
				}
				maps.Copy(balancers[0].Tags, tag.Tags)
			}
		}
		return apply.Result{}
	}
}

// mark has the load balancer of shop/0 say since when it has had no Ingress.
func (b *bed) mark(since string) {
	b.seen["shop/0"].LoadBalancers[0].Tags = map[string]string{stack.OrphanTag: since}
}

// One look has each tagged once; nobody is tagged where too many have none.
func TestOrphansAreTaggedOnce(t *testing.T) {
	for without, want := range map[int]int{2: 2, 3: 0} {
		b := estate(t, 20, without)
		b.tags()
		tag, calls := b.apply, 0
		b.apply = func(pass apply.Pass) apply.Result { calls++; return tag(pass) }
		if b.collected(20); calls != want {
			t.Errorf("%d calls for %d load balancers without Ingress in 20 hours, want %d", calls, without, want)
		}
	}
}

// What serves nobody does not wait for the load balancers without Ingresses, unless there are many.
func TestWhatServesNobodyIsCollectedBesideAFewOrphans(t *testing.T) {
	for without, want := range map[int]bool{1: true, orphans.Most: true, orphans.Most + 1: false} {
		b := estate(t, 8, without)
		left := b.Stacks.(listed)
		left.ids = append(left.ids, stack.ID{Cluster: "prod", Kind: stack.Ingresses, Name: "edge"})
		b.Stacks = left
		b.seen["edge"] = stack.Stack{SecurityGroups: []stack.SecurityGroup{{ID: "sg", Description: stack.ManagedDescription}}}
		requests, err := b.leftovers(t.Context())
		if got := slices.Contains(requests, requestOf(edge)); got != want || err != nil {
			t.Errorf("with %d load balancers without Ingress it is collected: %t, want %t; error %v", without, got, want, err)
		}
	}
}

// An Ingress that comes at the last moment keeps its load balancer.
func TestAnIngressThatComesAtTheLastMomentKeepsItsLoadBalancer(t *testing.T) {
	b := estate(t, 10, 1)
	b.collected(24)
	requests, err := b.leftovers(t.Context())
	if err != nil || len(requests) != 10 || !b.collector.allows(stack.Group{Namespace: "shop", Name: "0"}) {
		t.Fatalf("%d requests, error %v, want the first group to be collected", len(requests), err)
	}
	b.createForeign("0", "shop")
	before := b.planned
	if b.mustPass(stack.Group{Namespace: "shop", Name: "0"}); b.planned != before {
		t.Error("it is deleted")
	}
}

// An event names it a day before, once, and says what to do.
func TestALoadBalancerIsNamedADayBefore(t *testing.T) {
	b := estate(t, 10, 1)
	b.OrphanGrace = 30 * time.Hour
	b.collected(6)
	if told := take(&b.events); len(told) > 0 {
		t.Errorf("told %v more than a day before", told)
	}
	b.collected(10)
	want := "0 Warning LoadBalancerWithoutIngress: No Ingress asks for load balancer " + b.seen["shop/0"].LoadBalancers[0].Name +
		" of group shop/0: it is deleted at 2023-11-16T04:13:20Z, with all that was made for it. To keep it, create an Ingress of the group; " +
		"to delete it now, run targetgate orphans --delete=shop/0"
	if told := take(&b.events); len(told) != 1 || told[0] != want {
		t.Errorf("told %q, want %q", told, want)
	}
}

// Rule 17: of what has our tags and serves nobody only that goes whose name is ours, too.
func TestWhatHasNoNameOfOursIsNotCollected(t *testing.T) {
	group := stack.Group{Name: "edge"}
	own := parts.SecurityGroupName("prod", group)
	b := newBed(t)
	b.seen["edge"] = stack.Stack{
		TargetGroups:   []stack.TargetGroup{{ARN: "own", Name: "k8s-shop-web-0123456789"}, {ARN: "hand-made", Name: "web"}, {ARN: "likely", Name: "k8s-shop-web"}},
		SecurityGroups: []stack.SecurityGroup{{ID: "own", Name: own, Description: "another"}, {ID: "staging", Name: parts.SecurityGroupName("staging", group)}, {ID: "hand-made", Name: "web"}},
	}
	b.mustPass(group)
	if n, m := len(b.compared.TargetGroups), len(b.compared.SecurityGroups); n != 1 || m != 1 || b.compared.TargetGroups[0].ARN+b.compared.SecurityGroups[0].ID != "ownown" {
		t.Errorf("to be deleted: %+v %+v, want those of our own names", b.compared.TargetGroups, b.compared.SecurityGroups)
	}
}
