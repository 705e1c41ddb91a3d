// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"fmt"
	"slices"

	"github.com/targetgate/targetgate/balancers/stack"
)

// CreateBinding makes a TargetGroupBinding.
type CreateBinding struct{ Binding stack.Binding }

func (c CreateBinding) Text() string {
	return fmt.Sprintf("create binding %s/%s of Service %s:%s to target group %s",
		c.Binding.Namespace, c.Binding.Name, c.Binding.Spec.Service, c.Binding.Spec.Port.String(), groupText(c.Binding.Group))
}
func (CreateBinding) Effect() Effect { return Makes }

func (c CreateBinding) On(seen *stack.Stack, _ Made) {
	if seen.Binding(c.Binding.Namespace, c.Binding.Name) == nil {
		seen.Bindings = append(slices.Clip(seen.Bindings), seenBinding(c.Binding))
	}
}

// UpdateBinding replaces what differs of its spec and labels, and leaves foreign labels and annotations.
type UpdateBinding struct{ Binding stack.Binding }

func (c UpdateBinding) Text() string {
	return "update binding " + c.Binding.Namespace + "/" + c.Binding.Name
}
func (UpdateBinding) Effect() Effect { return Makes }

func (c UpdateBinding) On(seen *stack.Stack, _ Made) {
	if b := seen.Binding(c.Binding.Namespace, c.Binding.Name); b != nil {
		*b = seenBinding(c.Binding)
	}
}

// seenBinding is one as it is seen.
func seenBinding(b stack.Binding) stack.Binding {
	b = stack.Copy(b)
	b.Group.Part, b.Spec.Peer.Part = "", ""
	return b
}

// DeleteBinding deletes it, and is done when it is gone.
type DeleteBinding struct{ Namespace, Name string }

func (c DeleteBinding) Text() string { return "delete binding " + c.Namespace + "/" + c.Name }
func (DeleteBinding) Effect() Effect { return Removes }
func (DeleteBinding) fed()           {}

func (c DeleteBinding) On(seen *stack.Stack, _ Made) {
	is := func(b stack.Binding) bool { return b.Namespace == c.Namespace && b.Name == c.Name }
	seen.Bindings = slices.DeleteFunc(slices.Clone(seen.Bindings), is)
}
