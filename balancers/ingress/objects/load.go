// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers/frontend"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/stack"
	ingressapi "github.com/targetgate/targetgate/balancers/v1beta1"
)

// objects reads classes, params, labels of namespaces, and the Ingresses that opts select: the cache's own, read only.
func (f *Ingresses) objects(ctx context.Context, opts ...client.ListOption) (membership.Objects, error) {
	out, err := f.settings(ctx)
	if err != nil {
		return out, err
	}
	return out, f.addIngresses(ctx, &out, opts...)
}

// settings is objects without the Ingresses.
func (f *Ingresses) settings(ctx context.Context) (membership.Objects, error) {
	var (
		classes    networkingv1.IngressClassList
		params     ingressapi.IngressClassParamsList
		namespaces corev1.NamespaceList
	)
	for _, list := range []client.ObjectList{&classes, &params} {
		if err := f.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return membership.Objects{}, fmt.Errorf("listing %T: %w", list, err)
		}
	}
	out := membership.Objects{Class: f.Class, Switches: f.Switches, Namespaces: map[string]map[string]string{}}
	for i := range classes.Items {
		out.Classes = append(out.Classes, &classes.Items[i])
	}
	selects := false
	for i := range params.Items {
		out.Params = append(out.Params, &params.Items[i])
		selects = selects || params.Items[i].Spec.NamespaceSelector != nil
	}
	if !selects { // nobody asks for labels: there may be thousands of namespaces
		return out, nil
	}
	if err := f.Client.List(ctx, &namespaces, client.UnsafeDisableDeepCopy); err != nil {
		return out, fmt.Errorf("listing namespaces: %w", err)
	}
	for _, namespace := range namespaces.Items {
		out.Namespaces[namespace.Name] = namespace.Labels
	}
	return out, nil
}

func (f *Ingresses) addIngresses(ctx context.Context, to *membership.Objects, opts ...client.ListOption) error {
	var ingresses networkingv1.IngressList
	if err := f.Client.List(ctx, &ingresses, append(opts, client.UnsafeDisableDeepCopy)...); err != nil {
		return fmt.Errorf("listing Ingresses: %w", err)
	}
	for i := range ingresses.Items {
		to.Ingresses = append(to.Ingresses, &ingresses.Items[i])
	}
	return nil
}

// Members are the Ingresses of a group.
func (f *Ingresses) Members(ctx context.Context, group stack.Group) (out frontend.Members, err error) {
	objects, err := f.settings(ctx)
	if err != nil {
		return out, err
	}
	var named []client.ListOption
	if !objects.IsOfParams(group) {
		named = append(named, client.MatchingFields{groupField: group.String()})
	}
	if err := f.addIngresses(ctx, &objects, named...); err != nil {
		return out, err
	}
	out.Mentioned = isMentioned(group, objects.Ingresses)
	classified := membership.Classify(objects.Of(group))
	members := membership.Groups(classified)[group]
	if stray, is := membership.Strays(classified)[group]; is {
		out.Stray = memberOf(stray)
	}
	elsewhere := map[types.UID]bool{}
	for _, c := range classified {
		elsewhere[c.Ingress.UID] = c.Ours && c.Group != group
	}
	for _, member := range members.Active {
		out.Active = append(out.Active, memberOf(member))
	}
	for _, member := range members.Inactive {
		if elsewhere[member.UID] {
			out.Leaving = append(out.Leaving, member)
		} else {
			out.Inactive = append(out.Inactive, member)
		}
	}
	return out, nil
}

// memberOf is the member as passes know it.
func memberOf(m membership.Member) frontend.Member {
	return frontend.Member{Name: membership.NameOf(m.Ingress), Object: m.Ingress, Fault: m.Fault, Uninvited: m.Uninvited, Details: m.Params}
}

// ingressOf is the member as it is built, held by what passes have against it.
func ingressOf(m frontend.Member) membership.Member {
	params, _ := m.Details.(*ingressapi.IngressClassParams) // one that leaves has none
	return membership.Member{Ingress: m.Object.(*networkingv1.Ingress), Params: params, Fault: m.Fault, Uninvited: m.Uninvited}
}

// Whereabouts is where an Ingress is now.
func (f *Ingresses) Whereabouts(ctx context.Context, group stack.Group, last client.Object) (client.Object, frontend.Place, error) {
	now := &networkingv1.Ingress{}
	err := f.Client.Get(ctx, client.ObjectKeyFromObject(last), now)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return nil, frontend.Here, fmt.Errorf("getting Ingress %s: %w", frontend.NameOf(last), err)
	case err != nil || now.UID != last.GetUID():
		return nil, frontend.Gone, nil
	}
	objects, err := f.settings(ctx)
	if err != nil {
		return nil, frontend.Here, err
	}
	objects.Ingresses = []*networkingv1.Ingress{now}
	for _, c := range membership.Classify(objects) {
		switch {
		case c.Fault != nil || c.Ours && c.Group == group:
			return now, frontend.Here, nil
		case c.Ours:
			return now, frontend.Elsewhere, nil
		case isMentioned(group, objects.Ingresses):
			return now, frontend.Foreign, nil
		}
	}
	return now, frontend.Nowhere, nil
}

// isMentioned reports whether an Ingress names the group, or has its name, whoever's it is: then another controller may be at work. For one
// that is being deleted nobody makes anything any more; while it has the group's finalizer it is a member.
func isMentioned(group stack.Group, all []*networkingv1.Ingress) bool {
	return slices.ContainsFunc(all, func(i *networkingv1.Ingress) bool {
		switch {
		case i.DeletionTimestamp != nil:
			return false
		case !group.IsExplicit():
			return i.Namespace == group.Namespace && i.Name == group.Name
		}
		return i.Annotations[annotation.GroupName.FullName()] == group.Name
	})
}
