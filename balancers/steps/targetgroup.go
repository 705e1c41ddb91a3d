// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"fmt"
	"slices"

	"github.com/targetgate/targetgate/balancers/stack"
)

// CreateTargetGroup makes one with its tags; Attributes follow by SetTargetGroupAttributes.
type CreateTargetGroup struct{ Group stack.TargetGroup }

func (c CreateTargetGroup) Text() string {
	return "create target group " + c.Group.Part + " named " + c.Group.Name
}
func (CreateTargetGroup) Effect() Effect { return Makes }

func (c CreateTargetGroup) created() (string, map[string]string) {
	return c.Group.Part, c.Group.Tags
}

func (c CreateTargetGroup) On(seen *stack.Stack, made Made) {
	group := stack.Copy(c.Group)
	group.ARN, group.Owner, group.SpareName = made.ID, "", ""
	group.LoadBalancers, group.Attributes, group.Target, group.TargetPort = nil, map[string]string{}, stack.Ref{}, 0
	in := seen.In(stack.IsFrontGroup(group.Part))
	in.TargetGroups = append(in.TargetGroups, group)
}

// SetHealthCheck changes the health check.
type SetHealthCheck struct {
	Group stack.Ref
	Check stack.HealthCheck
	// ProtocolVersion of the group, which says what Matcher matches.
	ProtocolVersion string
}

func (c SetHealthCheck) Text() string {
	return "change the health check of target group " + groupText(c.Group)
}
func (SetHealthCheck) Effect() Effect { return Sets }

func (c SetHealthCheck) On(seen *stack.Stack, _ Made) {
	if g := seen.TargetGroup(c.Group.ID); g != nil {
		g.HealthCheck = c.Check
	}
}

// SetTargetGroupAttributes sets these and leaves others.
type SetTargetGroupAttributes struct {
	Group      stack.Ref
	Attributes map[string]string
}

func (c SetTargetGroupAttributes) Text() string {
	return "set " + mapText(c.Attributes) + " of target group " + groupText(c.Group)
}
func (SetTargetGroupAttributes) Effect() Effect { return Sets }

func (c SetTargetGroupAttributes) On(seen *stack.Stack, _ Made) {
	if g := seen.TargetGroup(c.Group.ID); g != nil {
		merge(g.Attributes, c.Attributes)
	}
}

// RegisterLoadBalancer makes a load balancer the target of a group of type alb, at the port of its listener.
type RegisterLoadBalancer struct {
	Group, Target, Listener stack.Ref
	Port                    int32
}

func (c RegisterLoadBalancer) Text() string {
	return fmt.Sprintf("register %s at port %d in target group %s", balancerText(c.Target), c.Port, groupText(c.Group))
}
func (RegisterLoadBalancer) Effect() Effect { return Makes }

func (c RegisterLoadBalancer) On(seen *stack.Stack, _ Made) {
	if g := seen.TargetGroup(c.Group.ID); g != nil {
		g.Target, g.TargetPort = stack.Ref{ID: c.Target.ID}, c.Port
	}
}

// DeleteTargetGroup deletes one that nothing sends to.
type DeleteTargetGroup struct{ Group stack.Ref }

func (c DeleteTargetGroup) Text() string    { return "delete target group " + refText(c.Group) }
func (DeleteTargetGroup) Effect() Effect    { return Removes }
func (c DeleteTargetGroup) deleted() string { return c.Group.ID }
func (DeleteTargetGroup) fed()              {}

func (c DeleteTargetGroup) On(seen *stack.Stack, _ Made) {
	is := func(g stack.TargetGroup) bool { return g.ARN == c.Group.ID }
	for _, s := range seen.All() {
		s.TargetGroups = slices.DeleteFunc(slices.Clone(s.TargetGroups), is)
	}
}
