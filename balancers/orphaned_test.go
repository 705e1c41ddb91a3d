// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
	ingressapi "github.com/targetgate/targetgate/balancers/v1beta1"
)

// Rule 36: each load balancer without Ingress is listed with what the controller does about it, which is what the controller does.
func TestOrphansAreListedWithWhatBecomesOfThem(t *testing.T) {
	const since = "2023-11-14T10:00:00Z"
	for name, tc := range map[string]struct {
		all, without  int
		do            func(b *bed)
		kept, refused string
		due           string
	}{
		"not known since when": {all: 20, without: 1},
		"known since when":     {all: 20, without: 1, do: func(b *bed) { b.mark(since) }, due: "2023-11-15T10:00:00Z"},
		"never":                {all: 20, without: 1, do: func(b *bed) { b.mark(since); b.OrphanGrace = 0 }, kept: "--orphan-grace is 0"},
		"too many":             {all: 9, without: 1, kept: "1 of 9 load balancers have no Ingress"},
		"a name of users'": {all: 20, without: 1, do: func(b *bed) { b.seen["shop/0"].LoadBalancers[0].Name = "shop" },
			refused: "shop is not a name that targetgate gives"},
		"another's Ingress": {all: 20, without: 1, do: func(b *bed) { b.createForeign("0", "shop") }, refused: "Ingress shop/0 names its group"},
	} {
		t.Run(name, func(t *testing.T) {
			b := estate(t, tc.all, tc.without)
			b.steps = steps.Plan{{Change: steps.DeleteLoadBalancer{}}}
			if tc.do != nil {
				tc.do(b)
			}
			list, err := b.Orphans(t.Context())
			if err != nil || len(list) != tc.without {
				t.Fatalf("%d listed, error %v", len(list), err)
			}
			o := list[0]
			if !strings.HasPrefix(o.Refused, tc.refused) || (tc.refused == "") != (o.Refused == "") {
				t.Errorf("refused: %q, want %q", o.Refused, tc.refused)
			}
			if want := tc.kept + tc.refused; !strings.HasPrefix(o.Kept, want) || (want == "") != (o.Kept == "") {
				t.Errorf("kept: %q, want %q", o.Kept, want)
			}
			if got := text(o.Due); got != tc.due {
				t.Errorf("due %q, want %q", got, tc.due)
			}
			if len(o.Plan) == 0 != (tc.refused != "") {
				t.Errorf("%d steps go with it", len(o.Plan))
			}
			// The controller does the same.
			if b.collected(48); (b.seen["shop/0"].LoadBalancers == nil) != (o.Kept == "") {
				t.Errorf("it is said to be kept because of %q, but deleted: %v", o.Kept, b.seen["shop/0"].LoadBalancers == nil)
			}
		})
	}
}

func text(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

// A group that IngressClassParams name is kept, but may be deleted on request, as no Ingress asks for it.
func TestAGroupOfParamsIsDeletedOnRequest(t *testing.T) {
	b := newBed(t, &ingressapi.IngressClassParams{
		ObjectMeta: metav1.ObjectMeta{Name: "edge"}, Spec: ingressapi.IngressClassParamsSpec{Group: &ingressapi.Group{Name: "edge"}},
	})
	b.Stacks = listed{ids: []stack.ID{b.idOf(edge)}}
	b.seen["edge"] = ownStack("edge")
	list, err := b.Orphans(t.Context())
	if err != nil || len(list) != 1 || list[0].Kept != "IngressClassParams edge name its group" || list[0].Refused != "" {
		t.Errorf("%+v, error %v", list, err)
	}
}

func ownStack(name string) stack.Stack {
	lb := balancer(name, true, 80)
	lb.Name = input.LoadBalancerName("prod", stack.GroupNamed(name), annotation.Internal)
	return stack.Stack{LoadBalancers: []stack.LoadBalancer{lb}}
}

// What is asked for is deleted also before its time, and where too many have no Ingress; never what an Ingress names, or what users named.
func TestARequestDeletesWhatNoIngressNames(t *testing.T) {
	for name, tc := range map[string]struct {
		do   func(b *bed)
		want string // error
	}{
		"too many":           {},
		"never by itself":    {do: func(b *bed) { b.OrphanGrace = 0 }},
		"an Ingress":         {do: func(b *bed) { b.createForeign("0", "shop") }, want: "an Ingress belongs to group shop/0 or names it"},
		"an Ingress of ours": {do: func(b *bed) { b.recreate("0") }, want: "an Ingress belongs to group shop/0 or names it"},
		"a name of users'":   {do: func(b *bed) { b.seen["shop/0"].LoadBalancers[0].Name = "shop" }, want: "shop is not a name that targetgate gives: delete it in AWS"},
	} {
		t.Run(name, func(t *testing.T) {
			b := estate(t, 12, 12)
			b.steps = steps.Plan{{Change: steps.DeleteLoadBalancer{}}}
			ran := 0
			b.apply = func(pass apply.Pass) apply.Result {
				ran++
				b.steps = nil
				return apply.Result{Done: pass.Plan}
			}
			if tc.do != nil {
				tc.do(b)
			}
			var done []string
			for {
				removal, err := b.Remove(t.Context(), stack.Group{Namespace: "shop", Name: "0"})
				done = append(done, removal.Done...)
				if got := errorText(err); got != tc.want {
					t.Errorf("error %q, want %q", got, tc.want)
				}
				if removal.Again == 0 {
					break
				}
			}
			if deleted := tc.want == ""; (ran == 1) != deleted || (len(done) == 1) != deleted {
				t.Errorf("%d passes did %q", ran, done)
			}
			if len(b.writes)+len(b.events) > 0 {
				t.Errorf("it writes %q and tells %q", b.writes, b.events)
			}
		})
	}
}

// recreate creates an Ingress of ours that is alone in its group.
func (b *bed) recreate(name string) {
	b.t.Helper()
	ingress := ingressOf(name, stack.Group{Namespace: "shop", Name: name})
	delete(ingress.Annotations, annotation.GroupName.FullName())
	if err := b.Client.Create(b.t.Context(), ingress); err != nil {
		b.t.Fatal(err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
