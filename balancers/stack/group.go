// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Group is the objects of one load balancer: the key of a pass. An explicit group has a name that its members say, in any namespace; it has
// no Namespace here. An implicit group has one member, or is made for one object, whose namespace and name it has.
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

// NameParts are the readable parts of the names of the group's load balancer and security group.
func (g Group) NameParts() []Part {
	if g.IsExplicit() {
		return []Part{{Text: g.Name, Max: 17}}
	}
	return []Part{{Text: g.Namespace, Max: 8}, {Text: g.Name, Max: 8}}
}
