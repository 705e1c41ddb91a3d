// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import "github.com/targetgate/targetgate/balancers/stack"

// Plan is the steps in order. Each may be done twice without harm, and the rest is planned again from what is seen then.
type Plan []Step

// Step is one change, and what must hold before it. A step whose Wait does not hold is not done, nor is what comes after it until a step
// that begins anew. A step that is AfterAll, and what follows it, is not done either.
type Step struct {
	Wait   *Wait // nil for nothing
	Change Change
	Why    string // for users: what differs
	// Anew marks a step that, as those after it, depends on no wait before it.
	Anew bool
	// AfterAll marks a step that, as those after it, depends on each wait before it, also on those before one that begins anew.
	AfterAll bool
	// Late marks a change that no request depends on, such as a tag. It is done when the budget has room, after all others.
	Late bool
}

// Wait is what must hold before a step. Exactly one field is set.
type Wait struct {
	// Active is the load balancer that must be active.
	Active stack.Ref
	// Healthy is the target group that must take over from Instead, which may be empty: it has a healthy target and none whose first health
	// check is awaited, or Instead has no healthy one either.
	Healthy, Instead stack.Ref
	// Gone is the load balancer that an earlier step of the same plan must have deleted.
	Gone stack.Ref
	// Open is the target group whose targets must let in the load balancer: the inbound rules that its binding asks for are there.
	Open stack.Ref
	// Settled is the load balancer that no longer has its name in any status for long enough that clients have forgotten its addresses.
	Settled stack.Ref
}

// Change is one of the types below: one call of AWS or of the API server. A stack.Ref without ID is made by an earlier step.
type Change interface{ change() }

// The changes of security groups.
type (
	// CreateSecurityGroup makes one without rules.
	CreateSecurityGroup struct{ Group stack.SecurityGroup }
	// Authorize adds rules.
	Authorize struct {
		Group stack.Ref
		Rules []stack.Inbound
	}
	// Revoke removes rules.
	Revoke struct {
		Group stack.Ref
		Rules []stack.Inbound
	}
	// DeleteSecurityGroup may be refused while network interfaces linger; then it is tried again later.
	DeleteSecurityGroup struct{ Group stack.Ref }
)

// The changes of target groups.
type (
	// CreateTargetGroup makes one with its tags; Attributes follow by SetTargetGroupAttributes.
	CreateTargetGroup struct{ Group stack.TargetGroup }
	// SetHealthCheck changes the health check.
	SetHealthCheck struct {
		Group stack.Ref
		Check stack.HealthCheck
		// ProtocolVersion of the group, which says what Matcher matches.
		ProtocolVersion string
	}
	// SetTargetGroupAttributes sets these and leaves others.
	SetTargetGroupAttributes struct {
		Group      stack.Ref
		Attributes map[string]string
	}
	// RegisterLoadBalancer makes a load balancer the target of a group of type alb, at the port of its listener.
	RegisterLoadBalancer struct {
		Group, Target, Listener stack.Ref
		Port                    int32
	}
	// DeleteTargetGroup deletes one that nothing sends to.
	DeleteTargetGroup struct{ Group stack.Ref }
)

// The changes of load balancers.
type (
	// CreateLoadBalancer makes one with its tags, without listeners; Attributes follow by SetLoadBalancerAttributes.
	CreateLoadBalancer struct{ LoadBalancer stack.LoadBalancer }
	// SetSubnets replaces the subnets.
	SetSubnets struct {
		LoadBalancer stack.Ref
		Subnets      []string
		// Allocations of Elastic IP addresses, as of a load balancer.
		Allocations []string
	}
	// SetSecurityGroups replaces the security groups.
	SetSecurityGroups struct {
		LoadBalancer stack.Ref
		Groups       []stack.Ref
	}
	// SetAddressType changes the address families.
	SetAddressType struct {
		LoadBalancer stack.Ref
		AddressType  string
	}
	// SetLoadBalancerAttributes sets these and leaves others.
	SetLoadBalancerAttributes struct {
		LoadBalancer stack.Ref
		Attributes   map[string]string
	}
	// SetIPAMPool takes public IPv4 addresses from a pool, or from Amazon's when it is "".
	SetIPAMPool struct {
		LoadBalancer stack.Ref
		Pool         string
	}
	// SetCapacity reserves capacity units, or none when it is 0.
	SetCapacity struct {
		LoadBalancer stack.Ref
		Units        int32
	}
	// SetWebACL associates a web ACL, or none when it is "".
	SetWebACL struct {
		LoadBalancer stack.Ref
		WebACL       string
	}
	// SetClassicACL associates a web ACL of AWS WAF Classic, or none when its ID is "".
	SetClassicACL struct {
		LoadBalancer stack.Ref
		ID           string
	}
	// Protect has AWS Shield Advanced protect a load balancer.
	Protect struct{ LoadBalancer stack.Ref }
	// Unprotect ends the protection of that ID.
	Unprotect struct {
		LoadBalancer stack.Ref
		ID           string
	}
	// DeleteLoadBalancer deletes one with its listeners and rules. It is refused for a protected one, whose protection is left alone.
	DeleteLoadBalancer struct{ LoadBalancer stack.Ref }
)

// The changes of listeners and rules. The Part of a listener that is not made yet is its port.
type (
	// CreateListener makes one with its default certificate and its tags, without rules.
	CreateListener struct {
		LoadBalancer stack.Ref
		Listener     stack.Listener
	}
	// ModifyListener replaces protocol, default certificate, SSL policy, default action and, if it is not nil, mutual authentication.
	ModifyListener struct {
		Listener stack.Ref
		To       stack.Listener
	}
	// SetListenerAttributes sets these and leaves others.
	SetListenerAttributes struct {
		Listener   stack.Ref
		Attributes map[string]string
	}
	// AddCertificate adds one for SNI.
	AddCertificate struct {
		Listener    stack.Ref
		Certificate string
	}
	// RemoveCertificate removes one for SNI.
	RemoveCertificate struct {
		Listener    stack.Ref
		Certificate string
	}
	// DeleteListener deletes one with its rules.
	DeleteListener struct{ Listener stack.Ref }

	// CreateRule makes one with its tags, at the priority of Rule. Part is how later steps name it.
	CreateRule struct {
		Listener stack.Ref
		Rule     stack.Rule
		Part     string
	}
	// ModifyRule replaces conditions and action.
	ModifyRule struct {
		Rule stack.Ref
		To   stack.Rule
	}
	// SetPriorities moves rules of one listener, all at once.
	SetPriorities struct {
		Listener   stack.Ref
		Priorities []RulePriority
	}
	// DeleteRule deletes one.
	DeleteRule struct{ Rule stack.Ref }
)

// ActionOf is the action that the change gives to a rule, or to a listener by default; an empty one of other changes.
func ActionOf(change Change) stack.Action {
	switch c := change.(type) {
	case CreateListener:
		return c.Listener.Default
	case ModifyListener:
		return c.To.Default
	case CreateRule:
		return c.Rule.Action
	case ModifyRule:
		return c.To.Action
	}
	return stack.Action{}
}

// Guarded is the load balancer that the change gives a web ACL to, if it does.
func Guarded(change Change) (balancer stack.Ref, ok bool) {
	switch c := change.(type) {
	case SetWebACL:
		return c.LoadBalancer, c.WebACL != ""
	case SetClassicACL:
		return c.LoadBalancer, c.ID != ""
	}
	return stack.Ref{}, false
}

// RulePriority is a rule's new priority.
type RulePriority struct {
	Rule     stack.Ref
	Priority int32
}

// The changes of tags, of any part of AWS.
type (
	// Tag adds tags and replaces their values.
	Tag struct {
		Of   stack.Ref
		Tags map[string]string
	}
	// Untag removes tags.
	Untag struct {
		Of   stack.Ref
		Keys []string
	}
)

// The changes of bindings.
type (
	// CreateBinding makes a TargetGroupBinding.
	CreateBinding struct{ Binding stack.Binding }
	// UpdateBinding replaces what differs of its spec and labels, and leaves foreign labels and annotations.
	UpdateBinding struct{ Binding stack.Binding }
	// DeleteBinding deletes it, and is done when it is gone.
	DeleteBinding struct{ Namespace, Name string }
)

// Nothing changes nothing. Its step is there for its Wait.
type Nothing struct{}

func (Nothing) change()                   {}
func (CreateSecurityGroup) change()       {}
func (Authorize) change()                 {}
func (Revoke) change()                    {}
func (DeleteSecurityGroup) change()       {}
func (CreateTargetGroup) change()         {}
func (SetHealthCheck) change()            {}
func (SetTargetGroupAttributes) change()  {}
func (RegisterLoadBalancer) change()      {}
func (DeleteTargetGroup) change()         {}
func (CreateLoadBalancer) change()        {}
func (SetSubnets) change()                {}
func (SetSecurityGroups) change()         {}
func (SetAddressType) change()            {}
func (SetLoadBalancerAttributes) change() {}
func (SetIPAMPool) change()               {}
func (SetCapacity) change()               {}
func (SetWebACL) change()                 {}
func (SetClassicACL) change()             {}
func (Protect) change()                   {}
func (Unprotect) change()                 {}
func (DeleteLoadBalancer) change()        {}
func (CreateListener) change()            {}
func (ModifyListener) change()            {}
func (SetListenerAttributes) change()     {}
func (AddCertificate) change()            {}
func (RemoveCertificate) change()         {}
func (DeleteListener) change()            {}
func (CreateRule) change()                {}
func (ModifyRule) change()                {}
func (SetPriorities) change()             {}
func (DeleteRule) change()                {}
func (Tag) change()                       {}
func (Untag) change()                     {}
func (CreateBinding) change()             {}
func (UpdateBinding) change()             {}
func (DeleteBinding) change()             {}
