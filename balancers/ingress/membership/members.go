// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"cmp"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/v1beta1"
)

// Member is an Ingress in its group.
type Member struct {
	Ingress *networkingv1.Ingress
	Params  *v1beta1.IngressClassParams // of its class, nil for none
	// Fault holds the member before anything of it is read.
	Fault *fault.Fault
	// Over holds it unread, as it asks for more than has room in the budget of its group (input.Budget).
	Over *fault.Fault
	// Uninvited is what the member is told if nothing of it is served in the group, in which it has no part then. It has the finalizer of
	// an explicit group, which whoever may write an Ingress can give it.
	Uninvited *fault.Fault
}

// Members are the Ingresses of a group.
type Members struct {
	// Active ones belong to the group, in the order of their rules.
	Active []Member
	// Inactive ones have the group's finalizer and do not belong to it any more.
	Inactive []*networkingv1.Ingress
}

// Groups are all groups that an Ingress belongs to or has the finalizer of. An Ingress with a fault in its class or group name is held in
// the groups whose finalizers it has: what was made for it stays until somebody says what is wanted. So is one with too many finalizers:
// each that it lost would have another one count.
func Groups(classified []Classified) map[stack.Group]Members {
	classified = slices.Clone(classified)
	slices.SortStableFunc(classified, func(a, b Classified) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), strings.Compare(NameOf(a.Ingress), NameOf(b.Ingress)))
	})
	groups := map[stack.Group]Members{}
	for _, c := range classified {
		member := Member{Ingress: c.Ingress, Params: c.Params, Fault: c.Fault}
		if c.Ours {
			invited := member
			invited.Uninvited = c.Uninvited
			groups[c.Group] = groups[c.Group].with(invited)
		}
		for _, group := range groupsHeld(c.Ingress) {
			switch {
			case c.Ours && group == c.Group:
			case c.Fault != nil && (!c.Ours || HoldsTooMany(c.Ingress.Finalizers)):
				held := member
				if group.IsExplicit() {
					held.Uninvited = c.Fault
				}
				groups[group] = groups[group].with(held)
			default:
				members := groups[group]
				members.Inactive = append(members.Inactive, c.Ingress)
				groups[group] = members
			}
		}
	}
	return groups
}

// Strays are the Ingresses that seem to be ours and belong to no group because of a fault, by the group that each would have alone. One
// with too many finalizers is one of them whatever groups it is held in: where it is served, only AWS tells.
func Strays(classified []Classified) map[stack.Group]Member {
	strays := map[stack.Group]Member{}
	for _, c := range classified {
		if c.Fault != nil && !c.Ours && (!holdsFinalizer(c.Ingress) || HoldsTooMany(c.Ingress.Finalizers)) {
			strays[stack.Group{Namespace: c.Ingress.Namespace, Name: c.Ingress.Name}] = Member{Ingress: c.Ingress, Fault: c.Fault}
		}
	}
	return strays
}

func (m Members) with(member Member) Members {
	m.Active = append(m.Active, member)
	return m
}

func groupsHeld(ingress *networkingv1.Ingress) []stack.Group {
	name := types.NamespacedName{Namespace: ingress.Namespace, Name: ingress.Name}
	groups := GroupsHeld(name, ingress.Finalizers)
	slices.SortFunc(groups, func(a, b stack.Group) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(groups)
}

func holdsFinalizer(ingress *networkingv1.Ingress) bool { return len(groupsHeld(ingress)) > 0 }

// AsHeld is the Ingress as one that says by itself, whatever its class, that it is ours and in a group whose finalizer it has: for those
// who may not read classes or their params. Class is --ingress-class. It is false when the Ingress has no such finalizer.
func AsHeld(ingress *networkingv1.Ingress, class string) (*networkingv1.Ingress, bool) {
	held := groupsHeld(ingress)
	if len(held) == 0 {
		return ingress, false
	}
	out := ingress.DeepCopy()
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	out.Annotations[classAnnotation] = cmp.Or(class, emptyClass)
	if asked, fault := groupOf(ingress, nil); fault == nil && slices.Contains(held, asked) {
		return out, true
	}
	delete(out.Annotations, annotation.GroupName.FullName())
	if held[0].IsExplicit() {
		out.Annotations[annotation.GroupName.FullName()] = held[0].Name
	}
	return out, true
}

// ShowsFrontAlone reports whether the member's status is to name what stands in front of the load balancer alone.
func (m Member) ShowsFrontAlone() bool {
	return m.Ingress.Annotations[FrontAloneAnnotation] == "true" || m.Params != nil && m.Params.Annotations[FrontAloneAnnotation] == "true"
}

// Settings are those of the params of the member's class; the zero value where there are none.
func (m Member) Settings() v1beta1.IngressClassParamsSpec {
	if m.Params == nil {
		return v1beta1.IngressClassParamsSpec{}
	}
	return m.Params.Spec
}
