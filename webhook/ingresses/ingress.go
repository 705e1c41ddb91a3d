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
	live    *liveClasses
	owners  *owners
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
	is := classify(objects, now)
	if refusal := v.refusal(change{now, before, is, classify(objects, before)}, objects); refusal != "" {
		return verdict{refusal: refusal}, nil
	}
	if tooLarge {
		return v.unchecked(is), nil
	}
	warnings, err := v.warnings(ctx, is)
	return verdict{warnings: warnings}, err
}

func isSame(now, before *networkingv1.Ingress) bool {
	return equality.Semantic.DeepEqual(now.Spec, before.Spec) && equality.Semantic.DeepEqual(now.Annotations, before.Annotations)
}

// objects are those that say whose the Ingress is.
func (v *validator) objects(ctx context.Context, now *networkingv1.Ingress) (membership.Objects, error) {
	var params ingressapi.IngressClassParamsList
	name := ptr.Deref(now.Spec.IngressClassName, "")
	if v.hasClassAnnotation(now) { // which decides alone
		name = ""
	}
	classes, err := v.classes(ctx, name)
	if err := errors.Join(err, v.reader.List(ctx, &params, client.UnsafeDisableDeepCopy)); err != nil {
		return membership.Objects{}, fmt.Errorf("listing IngressClasses and IngressClassParams: %w", err)
	}
	out := membership.Objects{
		Class: v.options.Class, Classes: classes, Namespaces: map[string]map[string]string{},
		Switches: membership.Switches{IgnoreClassAnnotation: v.options.IgnoreClassAnnotation}, // the others are about changes
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
func (v *validator) classes(ctx context.Context, name string) ([]*networkingv1.IngressClass, error) {
	var list networkingv1.IngressClassList
	if err := v.reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	if all := pointers(&list); !isMissing(name, all) {
		return all, nil
	}
	live, err := v.live.list(ctx)
	if err != nil {
		return nil, err
	}
	return pointers(live), nil
}

func pointers(list *networkingv1.IngressClassList) (all []*networkingv1.IngressClass) {
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	return all
}

// classify says whose the Ingress is; that of one without a name, which is not there, is nobody's.
func classify(objects membership.Objects, ingress *networkingv1.Ingress) membership.Classified {
	if ingress.Name == "" {
		return membership.Classified{}
	}
	objects.Ingresses = []*networkingv1.Ingress{ingress}
	return membership.Classify(objects)[0]
}

// change is an Ingress and what is made of it, now and before. Annotations of one that was not ours before count for nothing: else two
// changes could do what one may not.
type change struct {
	now, before *networkingv1.Ingress // before has no name if it is new
	is, was     membership.Classified
}

// refusal is why the Ingress is refused, "" if it is not: for what aws-load-balancer-controller refuses, and for a group that is kept for
// other Ingresses, as far as this change makes it.
func (v *validator) refusal(c change, objects membership.Objects) string {
	if refusal := v.classRefusal(c, objects); refusal != "" {
		return refusal
	}
	if refusal := v.groupRefusal(c); refusal != "" || !c.is.Ours {
		return refusal
	}
	if err := ingress.CheckConditions(c.now); err != nil {
		return err.Error()
	}
	return ""
}

func (v *validator) classRefusal(c change, objects membership.Objects) string {
	class, isNew := ptr.Deref(c.now.Spec.IngressClassName, ""), c.before.Name == ""
	isNamed := class != ptr.Deref(c.before.Spec.IngressClassName, "") && !v.hasClassAnnotation(c.now)
	switch {
	case isNamed && isMissing(class, objects.Classes):
		return fmt.Sprintf("spec.ingressClassName %q: there is no IngressClass of this name: create it, or name one that there is", class)
	case isNew && c.is.Fault != nil && c.is.Fault.Field == "spec.ingressClassName":
		return c.is.Fault.Error()
	case v.options.ForbidClassAnnotation && objects.ByAnnotation(c.now) && !objects.ByAnnotation(c.before):
		return membership.ForbiddenClass().Error()
	}
	return ""
}

func (v *validator) groupRefusal(c change) string {
	isOther := c.is.Group != c.was.Group
	switch {
	case c.is.Excluded && (!c.was.Excluded || isOther):
		return c.is.Fault.Error()
	case v.options.ForbidGroupName && c.is.Ours && c.is.IsByName() && (!c.was.Ours || isOther):
		return membership.ForbiddenGroup().Error()
	}
	return ""
}

func isMissing(class string, all []*networkingv1.IngressClass) bool {
	return class != "" && !slices.ContainsFunc(all, func(c *networkingv1.IngressClass) bool { return c.Name == class })
}

const (
	classAnnotation = "kubernetes.io/ingress.class"
	groupAnnotation = annotation.Prefix + "group.name"
)

// hasClassAnnotation reports whether the class annotation decides, whoever's it names.
func (v *validator) hasClassAnnotation(i *networkingv1.Ingress) bool {
	_, set := i.Annotations[classAnnotation]
	return set && !v.options.IgnoreClassAnnotation
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
	if len(needed) > v.options.Build.Sizes().MostPaths() {
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
	tags := v.owners.of(ctx, member, v.options.Build)
	for _, fault := range ingress.CheckWithTags(c.Group, member, services, tags, v.options.Build) {
		out = append(out, fault.Error())
	}
	return out, nil
}
