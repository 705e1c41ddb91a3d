// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import "github.com/targetgate/targetgate/balancers/stack"

// Protect has AWS Shield Advanced protect a load balancer. The ID of the protection is read when it is needed.
type Protect struct{ LoadBalancer stack.Ref }

func (c Protect) Text() string {
	return "protect " + balancerText(c.LoadBalancer) + " by AWS Shield Advanced"
}
func (Protect) Effect() Effect { return Sets }

func (c Protect) On(seen *stack.Stack, _ Made) {
	onBalancer(seen, c.LoadBalancer, func(b *stack.LoadBalancer) { b.Protection = nil })
}

// Unprotect ends the protection of that ID.
type Unprotect struct {
	LoadBalancer stack.Ref
	ID           string
}

func (c Unprotect) Text() string {
	return "delete protection " + c.ID + " of " + balancerText(c.LoadBalancer)
}
func (Unprotect) Effect() Effect { return Sets }

func (c Unprotect) On(seen *stack.Stack, _ Made) {
	onBalancer(seen, c.LoadBalancer, func(b *stack.LoadBalancer) { b.Protection = &stack.Protection{} })
}
