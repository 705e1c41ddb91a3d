// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"maps"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers/frontend"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
)

// Ingresses are the front end of Ingresses. What it is made of does not change once there are passes.
type Ingresses struct {
	// Client reads from caches.
	Client  client.Reader
	Secrets Secrets // nil has those who need one held

	// Options say how stacks are built, Class is --ingress-class.
	Options  input.Options
	Class    string
	Switches membership.Switches

	// Watches are told of what is found; the zero value while nothing is watched.
	Watches frontend.Watches
}

var _ frontend.Frontend = &Ingresses{}

// Secrets reads Secrets that Ingresses name.
type Secrets interface {
	// Of has those that a group needs now, in place of those that it needed before.
	Of(ctx context.Context, group stack.Group, keys []types.NamespacedName) map[types.NamespacedName]lookup.Secret
}

// Kind is that of Ingresses.
func (f *Ingresses) Kind() stack.Kind { return stack.Ingresses }

// Words are the incumbent's, apart from the reasons.
func (f *Ingresses) Words() frontend.Words {
	return frontend.Words{Object: "Ingress", Warning: "IngressWarning", Orphan: "LoadBalancerWithoutIngress"}
}

// Finalizer is what each Ingress of the group has while something is made for it.
func (f *Ingresses) Finalizer(group stack.Group) string { return membership.FinalizerOf(group) }

// Labels are those of the group's bindings.
func (f *Ingresses) Labels(group stack.Group) map[string]string { return membership.LabelsOf(group) }

// HoldsOurs reports whether an object has a finalizer of a group.
func (f *Ingresses) HoldsOurs(object client.Object) bool {
	return len(membership.GroupsHeld(client.ObjectKeyFromObject(object), object.GetFinalizers())) > 0
}

// HoldsTooMany reports whether an object has more finalizers of groups than count.
func (f *Ingresses) HoldsTooMany(object client.Object) bool {
	return membership.HoldsTooMany(object.GetFinalizers())
}

// Held is an Ingress with a finalizer of any group, "" for none.
func (f *Ingresses) Held(ctx context.Context) (string, error) {
	var all membership.Objects
	if err := f.addIngresses(ctx, &all); err != nil {
		return "", err
	}
	for _, i := range all.Ingresses {
		if slices.ContainsFunc(i.Finalizers, membership.IsFinalizer) {
			return "Ingress " + membership.NameOf(i), nil
		}
	}
	return "", nil
}

// GivenNames are those in annotations, also of members that leave, and in params.
func (f *Ingresses) GivenNames(members frontend.Members) (names []string) {
	for _, m := range members.Active {
		names = append(names, ingressOf(m).Settings().LoadBalancerName, m.Object.GetAnnotations()[annotation.LoadBalancerNameKey.FullName()])
	}
	for _, o := range slices.Concat(members.Inactive, members.Leaving) {
		names = append(names, o.GetAnnotations()[annotation.LoadBalancerNameKey.FullName()])
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// SaysTheSame reports whether spec and annotations are the same.
func (f *Ingresses) SaysTheSame(a, b client.Object) bool {
	return equality.Semantic.DeepEqual(a.(*networkingv1.Ingress).Spec, b.(*networkingv1.Ingress).Spec) &&
		maps.Equal(a.GetAnnotations(), b.GetAnnotations())
}

// Claims are those of Ingresses, each the first found that belongs to a group, names it or has its finalizer, whoever's it is, else of
// IngressClassParams. An orphan is told of on the Ingress that it was made for, or for an explicit group on the class of Ingresses.
func (f *Ingresses) Claims(ctx context.Context) (out frontend.Claims, err error) {
	objects, err := f.objects(ctx)
	if err != nil {
		return out, err
	}
	out.Owned, out.By, out.About = map[stack.Group]bool{}, map[stack.Group]frontend.Claim{}, aboutOf(objects.Classes)
	for _, params := range objects.Params {
		if params.Spec.Group != nil {
			out.By[stack.Group{Name: params.Spec.Group.Name}] = frontend.Claim{By: "IngressClassParams " + params.Name, Reserves: true}
		}
	}
	for _, request := range requestsOf(objects) {
		out.Owned[stack.Group(request.NamespacedName)] = true
		out.By[stack.Group(request.NamespacedName)] = frontend.Claim{}
	}
	for _, i := range objects.Ingresses {
		for _, name := range groupsOf(i) {
			out.By[stack.GroupNamed(name)] = frontend.Claim{By: "Ingress " + membership.NameOf(i)}
		}
	}
	return out, nil
}

func aboutOf(classes []*networkingv1.IngressClass) func(stack.Group) runtime.Object {
	return func(group stack.Group) runtime.Object {
		if !group.IsExplicit() {
			return &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: group.Namespace, Name: group.Name}}
		}
		isOurs := func(class *networkingv1.IngressClass) bool { return class.Spec.Controller == membership.Controller }
		if i := slices.IndexFunc(classes, isOurs); i >= 0 {
			return classes[i]
		}
		return nil
	}
}
