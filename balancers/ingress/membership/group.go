// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
)

// Group is the Ingresses of one load balancer. An explicit group has a name that its members say, in any namespace; it has no Namespace
// here. An implicit group has one member, whose namespace and name it has.
type Group types.NamespacedName

// String is the group's ID, as in tags and in the hashes of names.
func (g Group) String() string {
	if g.IsExplicit() {
		return g.Name
	}
	return g.Namespace + "/" + g.Name
}

// GroupNamed is the group of that String.
func GroupNamed(id string) Group {
	if namespace, name, implicit := strings.Cut(id, "/"); implicit {
		return Group{Namespace: namespace, Name: name}
	}
	return Group{Name: id}
}

// IsExplicit reports whether members say the group's name.
func (g Group) IsExplicit() bool { return g.Namespace == "" }

// The finalizers of members. They are the incumbent's, so that either controller can finish what the other began.
const (
	implicitFinalizer = "ingress.k8s.aws/resources"
	explicitFinalizer = "group.ingress.k8s.aws/"
)

// Finalizer is what each member of the group has while something in AWS is made for it.
func (g Group) Finalizer() string {
	if g.IsExplicit() {
		return explicitFinalizer + g.Name
	}
	return implicitFinalizer
}

// IsFinalizer reports whether it is the finalizer of a group.
func IsFinalizer(finalizer string) bool {
	return finalizer == implicitFinalizer || strings.HasPrefix(finalizer, explicitFinalizer)
}

// mostGroupsHeld is how many finalizers of explicit groups of an Ingress count, the first ones. One that moves has two, unless it moves
// again before it is served; whoever may write it can add thousands, each of which would have a group worked on.
const mostGroupsHeld = 16

// HoldsTooMany reports whether there are more finalizers of explicit groups than count.
func HoldsTooMany(finalizers []string) bool { return countExplicit(finalizers) > mostGroupsHeld }

func countExplicit(finalizers []string) (n int) {
	for _, finalizer := range finalizers {
		if strings.HasPrefix(finalizer, explicitFinalizer) {
			n++
		}
	}
	return n
}

// GroupsHeld are the groups whose finalizers the Ingress of that name has, as far as they count: several while it moves from one to
// another.
func GroupsHeld(ingress types.NamespacedName, finalizers []string) []Group {
	var groups []Group
	left := mostGroupsHeld
	for _, finalizer := range finalizers {
		name, explicit := strings.CutPrefix(finalizer, explicitFinalizer)
		if explicit {
			left--
		}
		switch {
		case explicit && left >= 0 && annotation.CheckGroupName(name) == nil:
			groups = append(groups, Group{Name: name})
		case finalizer == implicitFinalizer:
			groups = append(groups, Group(ingress))
		}
	}
	return groups
}

// GroupOfLabels is the group whose labels these are, as of one of its bindings.
func GroupOfLabels(labels map[string]string) (group Group, ok bool) {
	if name := labels[stackLabel]; name != "" {
		return Group{Name: name}, true
	}
	group = Group{Namespace: labels[stackNamespaceLabel], Name: labels[stackNameLabel]}
	return group, group.Namespace != "" && group.Name != ""
}

// The labels of a group's bindings.
const (
	stackLabel          = "ingress.k8s.aws/stack"
	stackNamespaceLabel = "ingress.k8s.aws/stack-namespace"
	stackNameLabel      = "ingress.k8s.aws/stack-name"
)

// Labels are those of the group's bindings.
func (g Group) Labels() map[string]string {
	if g.IsExplicit() {
		return map[string]string{stackLabel: g.Name}
	}
	return map[string]string{stackNamespaceLabel: g.Namespace, stackNameLabel: g.Name}
}
