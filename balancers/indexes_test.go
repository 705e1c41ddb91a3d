// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"context"
	"fmt"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// counting counts the Ingresses that are listed.
type counting struct {
	client.Client
	listed int
}

func (c *counting) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := c.Client.List(ctx, list, opts...)
	if ingresses, is := list.(*networkingv1.IngressList); is {
		c.listed += len(ingresses.Items)
	}
	return err
}

// A pass and an event look at the Ingresses that they concern, however many others there are, also in the same namespace.
func TestOthersAreNotListed(t *testing.T) {
	web := ingressOf("web", edge)
	objects := []client.Object{web, webService()}
	for n := range 50 {
		stranger := ingressOf(fmt.Sprint("other-", n), other)
		stranger.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = fmt.Sprint("other-", n)
		objects = append(objects, stranger)
	}
	for name, do := range map[string]func(*bed) int{
		"a pass":           func(b *bed) int { b.mustPass(edge); return 1 },
		"of an Ingress":    func(b *bed) int { return len(b.ofIngress(t.Context(), web)) },
		"of a Service":     func(b *bed) int { return len(b.ofService(t.Context(), webService())) },
		"of its namespace": func(b *bed) int { return len(b.ofNamespace(t.Context(), namespaceOf("elsewhere"))) + 1 },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, objects...)
			c := &counting{Client: b.Client}
			b.Client = c
			if got := do(b); got != 1 || c.listed > 1 {
				t.Errorf("%d groups of %d Ingresses that were listed, want 1 of 1 at most", got, c.listed)
			}
		})
	}
}

func namespaceOf(name string) client.Object {
	out := &metav1.PartialObjectMetadata{}
	out.SetName(name)
	return out
}

// Whoever may be a member is found: by the group's name, by its finalizer, and by the Ingress's own name.
func TestWhoMayBeAMemberIsFound(t *testing.T) {
	ingress := ingressOf("web", edge)
	ingress.Finalizers = []string{other.Finalizer()}
	for _, group := range []string{edge.Name, other.Name, ingress.Namespace + "/web"} {
		found := false
		for _, value := range Indexes[groupField](ingress) {
			found = found || value == group
		}
		if !found {
			t.Errorf("%s is not among %v", group, Indexes[groupField](ingress))
		}
	}
}
