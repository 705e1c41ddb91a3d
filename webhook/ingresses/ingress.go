// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingresses

import (
	"context"
	"errors"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers/ingress"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	ingressapi "github.com/targetgate/targetgate/balancers/v1beta1"
)

// validator decides about Ingresses.
type validator struct {
	reader  client.Reader
	live    client.Reader
	options Options
}

func (v *validator) review(ctx context.Context, req *request) (verdict, error) {
	if req.Operation != admissionv1.Create && req.Operation != admissionv1.Update {
		return verdict{}, nil
	}
	now, before, tooLarge, err := v.decode(req)
	if err != nil {
		return verdict{}, err
	}
	if req.Operation == admissionv1.Update && (!tooLarge && isSame(now, before) || now.DeletionTimestamp != nil) {
		return verdict{}, nil
	}
	objects, err := v.objects(ctx, now)
	if err != nil {
		return verdict{}, err
	}
	classified := membership.Classify(objects)[0]
	if refusal := v.refusal(now, before, objects, classified); refusal != "" {
		return verdict{refusal: refusal}, nil
	}
	if tooLarge {
		return v.unchecked(classified), nil
	}
	warnings, err := v.warnings(ctx, classified)
	return verdict{warnings: warnings}, err
}

func isSame(now, before *networkingv1.Ingress) bool {
	return equality.Semantic.DeepEqual(now.Spec, before.Spec) && equality.Semantic.DeepEqual(now.Annotations, before.Annotations)
}

// objects are those that say whose the Ingress is.
func (v *validator) objects(ctx context.Context, now *networkingv1.Ingress) (membership.Objects, error) {
	var params ingressapi.IngressClassParamsList
	name := ptr.Deref(now.Spec.IngressClassName, "")
	if hasClassAnnotation(now) { // which decides alone
		name = ""
	}
	classes, err := v.classes(ctx, name)
	if err := errors.Join(err, v.reader.List(ctx, &params, client.UnsafeDisableDeepCopy)); err != nil {
		return membership.Objects{}, fmt.Errorf("listing IngressClasses and IngressClassParams: %w", err)
	}
	out := membership.Objects{
		Class: v.options.Class, Classes: classes, Ingresses: []*networkingv1.Ingress{now}, Namespaces: map[string]map[string]string{},
	}
	for i := range params.Items {
		out.Params = append(out.Params, &params.Items[i])
	}
	namespace := &corev1.Namespace{}
	if err := v.reader.Get(ctx, types.NamespacedName{Name: now.Namespace}, namespace); client.IgnoreNotFound(err) != nil {
		return membership.Objects{}, fmt.Errorf("getting namespace %s: %w", now.Namespace, err)
	}
	out.Namespaces[now.Namespace] = namespace.Labels
	return out, nil
}

// classes are those of the cache, and those of the API server if the cache has not got that name: a class is often made just before.
func (v *validator) classes(ctx context.Context, name string) (all []*networkingv1.IngressClass, err error) {
	for _, reader := range []client.Reader{v.reader, v.live} {
		var list networkingv1.IngressClassList
		if err := reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
		all = nil
		for i := range list.Items {
			all = append(all, &list.Items[i])
		}
		if !isMissing(name, all) {
			break
		}
	}
	return all, nil
}

// refusal is why the Ingress is refused, "" if it is not: for what aws-load-balancer-controller refuses, and for a group that is kept for
// other Ingresses, as far as this change makes it.
func (v *validator) refusal(now, before *networkingv1.Ingress, objects membership.Objects, c membership.Classified) string {
	switch class := ptr.Deref(now.Spec.IngressClassName, ""); {
	case class != ptr.Deref(before.Spec.IngressClassName, "") && !hasClassAnnotation(now) && isMissing(class, objects.Classes):
		return fmt.Sprintf("spec.ingressClassName %q: there is no IngressClass of this name: create it, or name one that there is", class)
	case c.Fault != nil && c.Fault.Field == "spec.ingressClassName" && before.Name == "":
		return c.Fault.Error()
	case !c.Ours:
		return excluded(now, before, c)
	}
	if refusal := v.forbidden(now, before); refusal != "" {
		return refusal
	}
	if err := ingress.CheckConditions(now); err != nil {
		return err.Error()
	}
	return ""
}

// excluded refuses to join a group that is kept for others.
func excluded(now, before *networkingv1.Ingress, c membership.Classified) string {
	if !c.Excluded || now.Annotations[groupAnnotation] == before.Annotations[groupAnnotation] {
		return ""
	}
	return c.Fault.Error()
}

func isMissing(class string, all []*networkingv1.IngressClass) bool {
	return class != "" && !slices.ContainsFunc(all, func(c *networkingv1.IngressClass) bool { return c.Name == class })
}

// forbidden says which new use of an annotation a flag forbids.
func (v *validator) forbidden(now, before *networkingv1.Ingress) string {
	if v.options.ForbidClassAnnotation && hasClassAnnotation(now) && now.Annotations[classAnnotation] != before.Annotations[classAnnotation] {
		return fmt.Sprintf("new usage of the annotation %s is forbidden by --disable-ingress-class-annotation: set spec.ingressClassName",
			classAnnotation)
	}
	if name, set := now.Annotations[groupAnnotation]; v.options.ForbidGroupName && set && name != before.Annotations[groupAnnotation] {
		return fmt.Sprintf("new usage of the annotation %s is forbidden by --disable-ingress-group-name-annotation: "+
			"use a class whose IngressClassParams set spec.group.name", groupAnnotation)
	}
	return ""
}

const (
	classAnnotation = "kubernetes.io/ingress.class"
	groupAnnotation = annotation.Prefix + "group.name"
)

func hasClassAnnotation(i *networkingv1.Ingress) bool {
	_, set := i.Annotations[classAnnotation]
	return set
}

// warnings are what else is wrong with an Ingress of ours.
func (v *validator) warnings(ctx context.Context, c membership.Classified) (out []string, err error) {
	if !c.Ours {
		if c.Fault != nil {
			out = append(out, c.Fault.Error())
		}
		return out, nil
	}
	member := membership.Member{Ingress: c.Ingress, Params: c.Params, Fault: c.Fault}
	services := map[types.NamespacedName]*corev1.Service{}
	needed := input.ServicesOf(c.Ingress)
	if len(needed) > v.options.Build.Limits.MostPaths() {
		needed = nil // more than a load balancer can have: they count as not there yet
	}
	for _, key := range needed {
		service := &corev1.Service{}
		err := v.reader.Get(ctx, key, service)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("getting Service %s: %w", key, err)
		}
		if err == nil {
			services[key] = service
		}
	}
	for _, fault := range ingress.CheckAlone(c.Group, member, services, v.options.Build) {
		out = append(out, fault.Error())
	}
	return out, nil
}
