// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/stack"
)

// The finalizers of members. They are the incumbent's, so that either controller can finish what the other began.
const (
	implicitFinalizer = "ingress.k8s.aws/resources"
	explicitFinalizer = "group.ingress.k8s.aws/"
)

// FinalizerOf is what each member of the group has while something in AWS is made for it.
func FinalizerOf(g stack.Group) string {
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
func GroupsHeld(ingress types.NamespacedName, finalizers []string) []stack.Group {
	var groups []stack.Group
	left := mostGroupsHeld
	for _, finalizer := range finalizers {
		name, explicit := strings.CutPrefix(finalizer, explicitFinalizer)
		if explicit {
			left--
		}
		switch {
		case explicit && left >= 0 && annotation.CheckGroupName(name) == nil:
			groups = append(groups, stack.Group{Name: name})
		case finalizer == implicitFinalizer:
			groups = append(groups, stack.Group(ingress))
		}
	}
	return groups
}

// GroupOfLabels is the group whose labels these are, as of one of its bindings.
func GroupOfLabels(labels map[string]string) (group stack.Group, ok bool) {
	if name := labels[stackLabel]; name != "" {
		return stack.Group{Name: name}, true
	}
	group = stack.Group{Namespace: labels[stackNamespaceLabel], Name: labels[stackNameLabel]}
	return group, group.Namespace != "" && group.Name != ""
}

// The labels of a group's bindings.
const (
	stackLabel          = "ingress.k8s.aws/stack"
	stackNamespaceLabel = "ingress.k8s.aws/stack-namespace"
	stackNameLabel      = "ingress.k8s.aws/stack-name"
)

// LabelsOf are those of the group's bindings.
func LabelsOf(g stack.Group) map[string]string {
	if g.IsExplicit() {
		return map[string]string{stackLabel: g.Name}
	}
	return map[string]string{stackNamespaceLabel: g.Namespace, stackNameLabel: g.Name}
}
