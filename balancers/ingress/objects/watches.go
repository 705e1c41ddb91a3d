// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/stack"
)

// requests are those of all groups that Ingresses of the options, of which these holds, belong to or have the finalizer of. Each group is
// there once.
func (f *Ingresses) requests(ctx context.Context, these func(*networkingv1.Ingress) bool, opts ...client.ListOption) []reconcile.Request {
	objects, err := f.objects(ctx, opts...)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to find the groups of Ingresses")
		return nil
	}
	objects.Ingresses = slices.DeleteFunc(objects.Ingresses, func(i *networkingv1.Ingress) bool { return !these(i) })
	return requestsOf(objects)
}

// requestsOf are those of all groups, and of Ingresses that belong to none and are to be told why.
func requestsOf(objects membership.Objects) (out []reconcile.Request) {
	classified := membership.Classify(objects)
	for group := range membership.Groups(classified) {
		out = append(out, requestOf(group))
	}
	for group := range membership.Strays(classified) {
		out = append(out, requestOf(group))
	}
	return out
}

func requestOf(group stack.Group) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName(group)}
}

// ofIngress are the groups of an Ingress as the event has it, which may be one that has left a group.
func (f *Ingresses) ofIngress(ctx context.Context, object client.Object) []reconcile.Request {
	objects, err := f.settings(ctx)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to find the groups of an Ingress")
		return nil
	}
	objects.Ingresses = []*networkingv1.Ingress{object.(*networkingv1.Ingress)}
	requests := requestsOf(objects)
	for _, request := range requests {
		f.found(stack.Group(request.NamespacedName), object.GetNamespace())
	}
	return requests
}

func (f *Ingresses) ofService(ctx context.Context, service client.Object) []reconcile.Request {
	return f.requests(ctx, each, client.InNamespace(service.GetNamespace()), client.MatchingFields{serviceField: service.GetName()})
}

func each(*networkingv1.Ingress) bool { return true }

// ofClass are the groups of Ingresses of that class. Those that name none may be of it, too.
func (f *Ingresses) ofClass(ctx context.Context, class client.Object) []reconcile.Request {
	return f.requests(ctx, func(i *networkingv1.Ingress) bool {
		return i.Spec.IngressClassName == nil || *i.Spec.IngressClassName == class.GetName()
	})
}

func (f *Ingresses) ofParams(ctx context.Context, params client.Object) []reconcile.Request {
	var classes networkingv1.IngressClassList
	if err := f.Client.List(ctx, &classes, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to find the classes of IngressClassParams")
		return nil
	}
	names := map[string]bool{}
	for _, class := range classes.Items {
		if ref := class.Spec.Parameters; ref != nil && ref.Name == params.GetName() {
			names[class.Name] = true
		}
	}
	return f.requests(ctx, func(i *networkingv1.Ingress) bool {
		return len(names) > 0 && (i.Spec.IngressClassName == nil || names[*i.Spec.IngressClassName])
	})
}

func (f *Ingresses) ofNamespace(ctx context.Context, namespace client.Object) []reconcile.Request {
	return f.requests(ctx, each, client.InNamespace(namespace.GetName()))
}

// ofBinding is the group whose labels the binding has, if it may have bindings there: whoever may write some can give them any label.
func (f *Ingresses) ofBinding(ctx context.Context, binding client.Object) []reconcile.Request {
	group, ok := membership.GroupOfLabels(binding.GetLabels())
	if !ok || !f.mayBind(ctx, group, binding.GetNamespace()) {
		return nil
	}
	return []reconcile.Request{requestOf(group)}
}

// mayBind reports whether the group may have bindings in the namespace: an Ingress there belongs to it or has its finalizer, or none does
// anywhere any longer, and the group's end is worked on.
func (f *Ingresses) mayBind(ctx context.Context, group stack.Group, namespace string) bool {
	if !group.IsExplicit() {
		return namespace == group.Namespace
	}
	named := client.MatchingFields{groupField: group.String()}
	if slices.Contains(f.requests(ctx, each, client.InNamespace(namespace), named), requestOf(group)) {
		return true
	}
	var others membership.Objects
	err := f.addIngresses(ctx, &others, named, client.Limit(1))
	return err == nil && len(others.Ingresses) == 0 && f.knows(group)
}

// saysOtherwise passes changes of what users say in objects: of their spec, annotations or deletion. Some kinds have no generation.
func saysOtherwise(spec func(client.Object) any) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !equality.Semantic.DeepEqual(e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations()) ||
			(e.ObjectOld.GetDeletionTimestamp() == nil) != (e.ObjectNew.GetDeletionTimestamp() == nil) ||
			!equality.Semantic.DeepEqual(spec(e.ObjectOld), spec(e.ObjectNew))
	}}
}

// ingressSpec has the status, too: a group that the Ingress has left waits until that of its new one is there. It has whether finalizers
// count, as a group may have waited for that.
func ingressSpec(o client.Object) any {
	i := o.(*networkingv1.Ingress)
	return []any{i.Spec, i.Status.LoadBalancer, membership.HoldsTooMany(i.Finalizers)}
}

// IngressSaysOtherwise passes what users say in Ingresses.
func IngressSaysOtherwise() predicate.Predicate { return saysOtherwise(ingressSpec) }

// IngressChanged passes what users say, and what others take of what we write: the finalizer of a group, and the status.
func IngressChanged() predicate.Predicate {
	return predicate.Or(IngressSaysOtherwise(), predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false }, // the other one passes it
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			held := membership.GroupsHeld(client.ObjectKeyFromObject(e.ObjectNew), e.ObjectNew.GetFinalizers())
			return slices.ContainsFunc(membership.GroupsHeld(client.ObjectKeyFromObject(e.ObjectOld), e.ObjectOld.GetFinalizers()),
				func(group stack.Group) bool { return !slices.Contains(held, group) })
		},
	})
}

func serviceSpec(o client.Object) any { return o.(*corev1.Service).Spec }
func labelsOf(o client.Object) any    { return o.GetLabels() }

// labelsChanged passes a namespace that may be selected otherwise: also a new one, as its Ingresses may have been seen before it.
func labelsChanged() predicate.Predicate {
	return predicate.Funcs{
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return !equality.Semantic.DeepEqual(labelsOf(e.ObjectOld), labelsOf(e.ObjectNew))
		},
	}
}

// found takes in that a group has a member in a namespace.
func (f *Ingresses) found(group stack.Group, namespace string) {
	if f.Watches.Found != nil {
		f.Watches.Found(group, namespace)
	}
}

// knows reports whether something is remembered of a group.
func (f *Ingresses) knows(group stack.Group) bool {
	return f.Watches.Knows != nil && f.Watches.Knows(group)
}
