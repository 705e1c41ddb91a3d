// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers/plan"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// cached answers lists at the cost of a cache.
type cached struct {
	client.Client
	ingresses map[string][]networkingv1.Ingress // by group
}

func (c *cached) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if ingresses, is := list.(*networkingv1.IngressList); is {
		group, _ := (&client.ListOptions{}).ApplyOptions(opts).FieldSelector.RequiresExactMatch(groupField)
		ingresses.Items = append([]networkingv1.Ingress(nil), c.ingresses[group]...)
		return nil
	}
	return meta.SetList(list, nil)
}

func (c *cached) Get(_ context.Context, key client.ObjectKey, to client.Object, _ ...client.GetOption) error {
	webService().DeepCopyInto(to.(*corev1.Service))
	to.SetName(key.Name)
	return nil
}

func benchmark(b *testing.B, groups, each int) {
	bed := newBed(&testing.T{})
	c := &cached{ingresses: map[string][]networkingv1.Ingress{}}
	for g := range groups {
		group := stack.Group{Name: fmt.Sprint("group-", g)}
		for i := range each {
			c.ingresses[group.Name] = append(c.ingresses[group.Name], *served(ingressOf(fmt.Sprint("web-", g, "-", i), group), oldHost, group))
		}
		bed.see(group, balancer("old", true, 80))
	}
	bed.Client, bed.front.Client = c, c
	b.ResetTimer()
	for i := range b.N {
		p := bed.newPass(stack.Group{Name: fmt.Sprint("group-", i%groups)})
		if err := p.load(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoad1GroupOf1(b *testing.B)     { benchmark(b, 1, 1) }
func BenchmarkLoad1000GroupsOf1(b *testing.B) { benchmark(b, 1000, 1) }
func BenchmarkLoad1GroupOf1000(b *testing.B)  { benchmark(b, 1, 1000) }

func benchPropose(b *testing.B, each int) {
	bed := newBed(&testing.T{})
	c := &cached{ingresses: map[string][]networkingv1.Ingress{}}
	for i := range each {
		c.ingresses[edge.Name] = append(c.ingresses[edge.Name], *served(ingressOf(fmt.Sprint("web-", i), edge), oldHost, edge))
	}
	bed.see(edge, balancer("old", true, 80))
	bed.Client, bed.front.Client = c, c
	bed.front.Options.Limits.Rules, bed.front.Options.Limits.TargetGroups = 5000, 5000
	bed.MakePlan = func(wanted, seen stack.Stack) (steps.Plan, []plan.Overflow) {
		return plan.Make(wanted, seen, plan.Options{Rules: 5000, TargetGroups: 5000})
	}
	b.ResetTimer()
	for range b.N {
		p, err := bed.Propose(b.Context(), edge)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(p.Plan)), "steps")
	}
}
func BenchmarkPropose10(b *testing.B)   { benchPropose(b, 10) }
func BenchmarkPropose100(b *testing.B)  { benchPropose(b, 100) }
func BenchmarkPropose1000(b *testing.B) { benchPropose(b, 1000) }
