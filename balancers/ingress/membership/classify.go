// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/v1beta1"
)

const (
	// Controller is the spec.controller of our IngressClasses.
	Controller = "ingress.k8s.aws/alb"

	classAnnotation   = "kubernetes.io/ingress.class"
	defaultAnnotation = "ingressclass.kubernetes.io/is-default-class"
	// ExclusiveAnnotation of IngressClassParams, when it is "true", keeps the group that they name for the Ingresses of their classes.
	ExclusiveAnnotation = "targetgate.dev/exclusive-group"

	// FrontAloneAnnotation of an Ingress or of IngressClassParams, when it is "true", has the status name the Network Load Balancer in front
	// alone: whoever makes DNS records of the status then sends clients there.
	FrontAloneAnnotation = "targetgate.dev/frontend-nlb-alone"

	// emptyClass is what an empty --ingress-class wants of classAnnotation.
	emptyClass = "alb"
)

// Objects are those that say which Ingresses are ours.
type Objects struct {
	Ingresses []*networkingv1.Ingress
	Classes   []*networkingv1.IngressClass
	Params    []*v1beta1.IngressClassParams
	// Namespaces are their labels, by name.
	Namespaces map[string]map[string]string
	// Class is --ingress-class.
	Class    string
	Switches Switches
}

// IsOfParams reports whether Ingresses may belong to the group by the params of their class, without a word of it themselves.
func (o Objects) IsOfParams(group stack.Group) bool {
	return group.IsExplicit() && slices.ContainsFunc(o.Params, func(params *v1beta1.IngressClassParams) bool {
		return params.Spec.Group != nil && params.Spec.Group.Name == group.Name
	})
}

// Of leaves out Ingresses that neither belong to the group nor have its finalizer, as far as their metadata tell: classifying all of them
// for each group takes long.
func (o Objects) Of(group stack.Group) Objects {
	if o.IsOfParams(group) {
		return o
	}
	var of []*networkingv1.Ingress
	name, finalizer := annotation.GroupName.FullName(), FinalizerOf(group)
	for _, ingress := range o.Ingresses {
		has := ingress.Namespace == group.Namespace && ingress.Name == group.Name
		if group.IsExplicit() {
			has = ingress.Annotations[name] == group.Name || slices.Contains(ingress.Finalizers, finalizer)
		}
		if has {
			of = append(of, ingress)
		}
	}
	o.Ingresses = of
	return o
}

// Classified is an Ingress, and what its class and its own annotations make of it.
type Classified struct {
	Ingress *networkingv1.Ingress
	// Ours says that the Ingress belongs to Group.
	Ours   bool
	Group  stack.Group
	Order  int64
	Params *v1beta1.IngressClassParams // of its class, nil for none
	// Excluded says that the Fault is to name a group that others' IngressClassParams keep for their classes, or what a switch forbids.
	Excluded bool
	// Uninvited is what a switch says of an Ingress that has the group's finalizer: it belongs to the group if it is served there.
	Uninvited *fault.Fault
	// Fault is why it is not known what the Ingress asks for, although it seems to be ours: its class, its group's name or its order.
	Fault *fault.Fault
}

// Classify says of each Ingress whether it is ours, and to which group it belongs. One that is being deleted belongs to none.
func Classify(objects Objects) []Classified {
	classified := make([]Classified, 0, len(objects.Ingresses))
	for _, ingress := range objects.Ingresses {
		classified = append(classified, objects.classify(ingress))
	}
	return classified
}

func (o Objects) classify(ingress *networkingv1.Ingress) Classified {
	c := Classified{Ingress: ingress}
	if ingress.DeletionTimestamp == nil {
		c.Fault = o.ask(&c)
	}
	if c.Fault == nil {
		c.Fault = tooMany(ingress)
	}
	if c.Fault != nil {
		c.Fault.Member = NameOf(ingress)
	}
	return c
}

// ask finds what an Ingress asks for, or why that is not known.
func (o Objects) ask(c *Classified) *fault.Fault {
	class, ours, wrong := o.classOf(c.Ingress)
	if wrong == nil && class != nil && ours {
		c.Params, wrong = o.paramsOf(c.Ingress, class)
	}
	if wrong == nil && ours {
		if wrong = o.join(c); wrong == nil {
			wrong = o.forbid(c)
		}
		c.Ours = wrong == nil
	}
	if c.Ours {
		order, _, err := annotation.GroupOrder.In(c.Ingress.Annotations)
		if c.Order = order; err != nil {
			wrong = new(fault.As(err))
		}
	}
	return wrong
}

// tooMany is the fault of an Ingress with more finalizers than count. It stays as it is, and cannot be deleted, until the rest is gone.
func tooMany(ingress *networkingv1.Ingress) *fault.Fault {
	if !HoldsTooMany(ingress.Finalizers) {
		return nil
	}
	return &fault.Fault{
		Field: "metadata.finalizers",
		Reason: fmt.Sprintf("%d of them begin with %s, and an Ingress may have %d: remove all but those of groups that it has belonged to",
			countExplicit(ingress.Finalizers), explicitFinalizer, mostGroupsHeld),
	}
}

// classOf is the Ingress's class and whether it is ours. There is none where the annotation decides, or nothing at all.
func (o Objects) classOf(ingress *networkingv1.Ingress) (class *networkingv1.IngressClass, ours bool, wrong *fault.Fault) {
	if name, ok := ingress.Annotations[classAnnotation]; ok && !o.Switches.IgnoreClassAnnotation {
		return nil, name == cmp.Or(o.Class, emptyClass), nil
	}
	class, ours, wrong = o.classByName(ingress)
	if wrong == nil && !ours {
		wrong = o.ignored(ingress)
	}
	return class, ours, wrong
}

// classByName is classOf as spec.ingressClassName, or the default class, says it.
func (o Objects) classByName(ingress *networkingv1.Ingress) (class *networkingv1.IngressClass, ours bool, wrong *fault.Fault) {
	if name := ingress.Spec.IngressClassName; name != nil {
		i := slices.IndexFunc(o.Classes, func(class *networkingv1.IngressClass) bool { return class.Name == *name })
		if i < 0 {
			return nil, false, o.missing(ingress, *name)
		}
		return o.Classes[i], o.Classes[i].Spec.Controller == Controller, nil
	}
	defaults := o.defaults()
	switch len(defaults) {
	case 0:
		return nil, o.Class == "", nil
	case 1:
		return defaults[0], defaults[0].Spec.Controller == Controller, nil
	}
	isOurs := func(class *networkingv1.IngressClass) bool { return class.Spec.Controller == Controller }
	if !holdsFinalizer(ingress) && !slices.ContainsFunc(defaults, isOurs) {
		return nil, false, nil
	}
	return nil, false, &fault.Fault{
		Field: "spec.ingressClassName",
		Reason: fmt.Sprintf("is not set, and %s and %s are both default classes: set it, or leave one default",
			defaults[0].Name, defaults[1].Name),
	}
}

// missing is the fault of an Ingress whose class does not exist. It is ours if we have worked on it before.
func (o Objects) missing(ingress *networkingv1.Ingress, class string) *fault.Fault {
	if !holdsFinalizer(ingress) {
		return nil
	}
	return &fault.Fault{Field: "spec.ingressClassName", Value: class, Reason: "this IngressClass does not exist: name one that does"}
}

func (o Objects) defaults() []*networkingv1.IngressClass {
	var defaults []*networkingv1.IngressClass
	for _, class := range o.Classes {
		if class.Annotations[defaultAnnotation] == "true" {
			defaults = append(defaults, class)
		}
	}
	slices.SortFunc(defaults, func(a, b *networkingv1.IngressClass) int { return strings.Compare(a.Name, b.Name) })
	return defaults
}

// paramsOf are the params of a class, for an Ingress in a namespace that they select.
func (o Objects) paramsOf(ingress *networkingv1.Ingress, class *networkingv1.IngressClass) (
	*v1beta1.IngressClassParams, *fault.Fault,
) {
	ref, object := class.Spec.Parameters, "IngressClass "+class.Name
	if ref == nil {
		return nil, nil
	}
	if ref.APIGroup == nil || *ref.APIGroup != v1beta1.GroupVersion.Group || ref.Kind != "IngressClassParams" {
		return nil, &fault.Fault{
			Object: object, Field: "spec.parameters", Value: ref.Kind, Reason: "must be IngressClassParams of elbv2.k8s.aws",
		}
	}
	i := slices.IndexFunc(o.Params, func(params *v1beta1.IngressClassParams) bool { return params.Name == ref.Name })
	if i < 0 {
		return nil, &fault.Fault{
			Object: object, Field: "spec.parameters.name", Value: ref.Name, Reason: "these IngressClassParams do not exist",
		}
	}
	params := o.Params[i]
	if params.Spec.NamespaceSelector == nil {
		return params, nil
	}
	object = "IngressClassParams " + params.Name
	selector, err := metav1.LabelSelectorAsSelector(params.Spec.NamespaceSelector)
	if err != nil {
		return nil, &fault.Fault{Object: object, Field: "spec.namespaceSelector", Reason: err.Error()}
	}
	if !selector.Matches(labels.Set(o.Namespaces[ingress.Namespace])) {
		return nil, &fault.Fault{
			Object: object, Field: "spec.namespaceSelector", Value: selector.String(),
			Reason: "does not select namespace " + ingress.Namespace + ": label it, or take another class",
		}
	}
	return params, nil
}

// join finds the group of an Ingress that is ours, or why it belongs to none.
func (o Objects) join(c *Classified) (fault *fault.Fault) {
	if c.Group, fault = groupOf(c.Ingress, c.Params); fault != nil {
		return fault
	}
	if keeper := o.keeper(c.Group, c.Params); keeper != nil {
		c.Excluded = true
		return excluded(c.Group, keeper)
	}
	return nil
}

// keeper are the params that keep the group for Ingresses of their classes, to which one with these params does not belong; nil for none.
func (o Objects) keeper(group stack.Group, params *v1beta1.IngressClassParams) *v1beta1.IngressClassParams {
	keeps := func(p *v1beta1.IngressClassParams) bool {
		return p.Annotations[ExclusiveAnnotation] == "true" && p.Spec.Group != nil && p.Spec.Group.Name == group.Name
	}
	i := slices.IndexFunc(o.Params, keeps)
	if i < 0 || !group.IsExplicit() || params != nil && params.Spec.Group != nil {
		return nil
	}
	return o.Params[i]
}

func excluded(group stack.Group, keeper *v1beta1.IngressClassParams) *fault.Fault {
	return &fault.Fault{
		Annotation: annotation.GroupName.FullName(), Value: group.Name,
		Reason: "IngressClassParams " + keeper.Name + " keep this group for Ingresses of their class: take that class, or another group",
	}
}

func groupOf(ingress *networkingv1.Ingress, params *v1beta1.IngressClassParams) (stack.Group, *fault.Fault) {
	if params != nil && params.Spec.Group != nil {
		name := params.Spec.Group.Name
		if err := annotation.CheckGroupName(name); err != nil {
			return stack.Group{}, &fault.Fault{
				Object: "IngressClassParams " + params.Name, Field: "spec.group.name", Value: name, Reason: err.Error(),
			}
		}
		return stack.Group{Name: name}, nil
	}
	name, explicit, err := annotation.GroupName.In(ingress.Annotations)
	switch {
	case err != nil:
		return stack.Group{}, new(fault.As(err))
	case explicit:
		return stack.Group{Name: name}, nil
	}
	return stack.Group{Namespace: ingress.Namespace, Name: ingress.Name}, nil
}

// NameOf names an Ingress, as faults do.
func NameOf(ingress *networkingv1.Ingress) string { return ingress.Namespace + "/" + ingress.Name }
