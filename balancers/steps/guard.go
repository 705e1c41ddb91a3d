// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import "github.com/targetgate/targetgate/balancers/stack"

// SetWebACL associates a web ACL, or none when it is "". AWS may take one of AWS WAF Classic off at that, and the other way round.
type SetWebACL struct {
	LoadBalancer stack.Ref
	WebACL       string
}

func (c SetWebACL) Text() string {
	if c.WebACL == "" {
		return "remove the web ACL of " + balancerText(c.LoadBalancer)
	}
	return "set web ACL " + c.WebACL + " of " + balancerText(c.LoadBalancer)
}
func (SetWebACL) Effect() Effect               { return Sets }
func (c SetWebACL) guarded() (stack.Ref, bool) { return c.LoadBalancer, c.WebACL != "" }

func (c SetWebACL) On(seen *stack.Stack, _ Made) {
	onBalancer(seen, c.LoadBalancer, func(b *stack.LoadBalancer) {
		if b.WebACL = &c.WebACL; c.WebACL != "" {
			b.ClassicACL = nil
		}
	})
}

// SetClassicACL associates a web ACL of AWS WAF Classic, or none when its ID is "".
type SetClassicACL struct {
	LoadBalancer stack.Ref
	ID           string
}

func (c SetClassicACL) Text() string {
	if c.ID == "" {
		return "remove the web ACL of AWS WAF Classic of " + balancerText(c.LoadBalancer)
	}
	return "set web ACL " + c.ID + " of AWS WAF Classic of " + balancerText(c.LoadBalancer)
}
func (SetClassicACL) Effect() Effect               { return Sets }
func (c SetClassicACL) guarded() (stack.Ref, bool) { return c.LoadBalancer, c.ID != "" }

func (c SetClassicACL) On(seen *stack.Stack, _ Made) {
	onBalancer(seen, c.LoadBalancer, func(b *stack.LoadBalancer) {
		if b.ClassicACL = &c.ID; c.ID != "" {
			b.WebACL = nil
		}
	})
}

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
