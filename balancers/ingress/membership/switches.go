// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"cmp"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
)

// Switches are the flags that keep Ingresses from choosing what their classes are to choose. They hold in every pass, so that what
// admission let in while it was down, or in several steps, is not served. What was served before a switch was set goes on.
type Switches struct {
	// ForbidClassAnnotation is --disable-ingress-class-annotation: the annotation makes no further Ingress ours.
	ForbidClassAnnotation bool
	// ForbidGroupName is --disable-ingress-group-name-annotation: the annotation puts no further Ingress into a group.
	ForbidGroupName bool
	// IgnoreClassAnnotation is --ignore-ingress-class-annotation: spec.ingressClassName, or the default class, decides alone.
	IgnoreClassAnnotation bool
}

// ByAnnotation reports whether the class annotation alone makes the Ingress ours.
func (o Objects) ByAnnotation(ingress *networkingv1.Ingress) bool {
	class, has := ingress.Annotations[classAnnotation]
	return has && !o.Switches.IgnoreClassAnnotation && class == cmp.Or(o.Class, emptyClass)
}

// IsByName reports whether the Ingress's own annotation, and not its class, names the group.
func (c *Classified) IsByName() bool {
	return c.Group.IsExplicit() && (c.Params == nil || c.Params.Spec.Group == nil)
}

// forbid is why a switch keeps an Ingress from the group that it asks for. Anybody who may write an Ingress may give it our finalizers, but
// not a status. So one is ours by the class annotation since before if it has both; whether it is served in its group only AWS tells.
func (o Objects) forbid(c *Classified) *fault.Fault {
	if o.Switches.ForbidClassAnnotation && o.ByAnnotation(c.Ingress) &&
		(!holdsFinalizer(c.Ingress) || len(c.Ingress.Status.LoadBalancer.Ingress) == 0) {
		c.Excluded = true
		return ForbiddenClass()
	}
	if !o.Switches.ForbidGroupName || !c.IsByName() {
		return nil
	}
	fault := ForbiddenGroup()
	if slices.Contains(groupsHeld(c.Ingress), c.Group) {
		c.Uninvited = fault
		return nil
	}
	c.Excluded = true
	return fault
}

// ForbiddenClass says that a switch forbids new uses of the class annotation.
func ForbiddenClass() *fault.Fault {
	return &fault.Fault{Reason: "new usage of the annotation " + classAnnotation +
		" is forbidden by --disable-ingress-class-annotation: set spec.ingressClassName"}
}

// ForbiddenGroup says that a switch forbids new uses of the group's annotation.
func ForbiddenGroup() *fault.Fault {
	return &fault.Fault{Reason: "new usage of the annotation " + annotation.GroupName.FullName() +
		" is forbidden by --disable-ingress-group-name-annotation: use a class whose IngressClassParams set spec.group.name"}
}

// ignored is the fault of an Ingress that was ours by its class annotation, which is ignored now. Without it all would be deleted that was
// made for the Ingress.
func (o Objects) ignored(ingress *networkingv1.Ingress) *fault.Fault {
	class, has := ingress.Annotations[classAnnotation]
	if !has || !o.Switches.IgnoreClassAnnotation || class != cmp.Or(o.Class, emptyClass) || !holdsFinalizer(ingress) {
		return nil
	}
	return &fault.Fault{
		Field: "spec.ingressClassName", Value: ptr.Deref(ingress.Spec.IngressClassName, ""),
		Reason: "names no IngressClass of controller " + Controller + ", and --ignore-ingress-class-annotation has " + classAnnotation +
			" ignored: what was made stays as it is until you name one, or remove the annotation",
	}
}
