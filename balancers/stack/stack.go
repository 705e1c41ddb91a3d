// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import "slices"

// ID says whose a stack is. Its tags are on all parts of the stack.
type ID struct {
	Cluster string
	Kind    Kind
	Name    string // of the group: "name", or "namespace/name"
}

// Stack is a load balancer with its parts, as it is wanted or as it is seen.
//
// What is wanted has one load balancer or none, and names its parts by Ref.Part. What is seen may have several, while one replaces another,
// and every ID is known.
type Stack struct {
	ID ID
	// Members are those that ask for the stack, in the order of their rules. Seen stacks have none.
	Members []Member
	// Voters are the names of the members whose word counts for what members share, by the name of the setting; of what is wanted.
	Voters         map[string]string
	LoadBalancers  []LoadBalancer
	SecurityGroups []SecurityGroup
	TargetGroups   []TargetGroup
	Bindings       []Binding
	// Certificates are those that ACM is to issue, of what is wanted. They are no business of plans: a listener gets one when it is issued.
	Certificates []Certificate
	// Front is the stack of the Network Load Balancer in front of the load balancer; nil for none. Its target groups have the load balancer
	// as their target. It has neither security groups of its own nor bindings.
	Front *Stack
}

// Member is one that asks for a stack, such as an Ingress.
type Member struct {
	Name string // "namespace/name"; the resource tags of its target groups begin with it and a hyphen
	// Held has what the member was given last stay as it is seen, as what it asks for now cannot be built. A held member adds nothing to
	// what is wanted.
	Held bool
	// Ports of the listeners that a held member has asked for, as far as they can be read.
	Ports []int32
	// Hosts are those that the rules of a held member are for, "" for any; none where they are not known.
	Hosts []string
}

// Ref names a part of a stack: by the ID that AWS has given it, or by its resource tag while it is not made.
type Ref struct {
	ID   string // ARN, or ID of a security group
	Part string // value of the resource tag
}

// All is the stack and, if there is one, that in front of it.
func (s *Stack) All() []*Stack {
	if s.Front == nil {
		return []*Stack{s}
	}
	return []*Stack{s, s.Front}
}

// LoadBalancer is a load balancer with its listeners.
type LoadBalancer struct {
	Network      bool   // a Network Load Balancer, else an Application Load Balancer
	ARN, DNSName string // of one that is seen
	Active       bool   // it is seen to serve
	Failed       string // why AWS could not set up one that is seen, "" unless it could not
	InStatus     bool   // the status of a member names it, of one that is seen: clients may come to it

	Name      string
	SpareName string // for one that replaces another that has the name; of one that is wanted

	Scheme      string // internal, internet-facing
	AddressType string // ipv4, dualstack, dualstack-without-public-ipv4
	Subnets     []string
	// Allocations are the IDs of Elastic IP addresses of a Network Load Balancer, each at the place of its subnet, "" for none there; nil if
	// no subnet has one.
	Allocations    []string
	SecurityGroups []Ref
	// Attributes are those to be set; of one that is seen they are all, or nil while they are not read.
	Attributes map[string]string
	// Presets, of one that is wanted, are what others that it has go back to.
	Presets map[string]string
	Tags    map[string]string
	// WebACL is the ARN of the web ACL, "" for none; nil leaves what there is. ClassicACL is the ID of one of AWS WAF Classic, likewise: AWS
	// takes one of the two.
	WebACL, ClassicACL *string
	// Shield says whether AWS Shield Advanced is to protect it, of one that is wanted; nil leaves what there is. Protection is what there is,
	// of one that is seen; nil while it is not read.
	Shield     *bool
	Protection *Protection
	// IPAMPool is the ID of the pool of public IPv4 addresses, "" for Amazon's. CustomerPool is that of a customer's own addresses: it is
	// given at the creation.
	IPAMPool, CustomerPool string
	// Capacity is how many capacity units are reserved, 0 for none; nil leaves what there is, or says that it is not read.
	Capacity  *int32
	Listeners []Listener
}

// Protection is one of AWS Shield Advanced. It has no ID when there is none.
type Protection struct {
	ID  string
	Own bool // we have made it, or the incumbent
}

// SecurityGroup is one that is made for load balancers.
type SecurityGroup struct {
	ID                string // of one that is seen
	Name, Description string
	// Shared is the group that all load balancers of a cluster have: it belongs to no stack, and no plan of one deletes it.
	Shared  bool
	Inbound []Inbound
	Tags    map[string]string
}

// Uses is what uses a security group.
type Uses struct {
	LoadBalancers []string // names
	Rules         []Use
}

// Use is an inbound rule of another security group whose source is the one that is used.
type Use struct {
	Group string // ID of the other
	Rule  Inbound
	// Ours says that it is a rule of bindings, by its description.
	Ours bool
}

// Groups are the IDs of the security groups whose rules use it, in order.
func (u Uses) Groups() (ids []string) {
	for _, use := range u.Rules {
		ids = append(ids, use.Group)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// In are the rules of one of them.
func (u Uses) In(group string) (rules []Inbound) {
	for _, use := range u.Rules {
		if use.Group == group {
			rules = append(rules, use.Rule)
		}
	}
	return rules
}

// Inbound is a rule of a security group: one range of ports of TCP, one source.
type Inbound struct {
	From, To int32
	Protocol string // "tcp"; of one that is seen any, "-1" for all
	Source   string // CIDR in canonical form, ID of a prefix list or of a security group
}

// Binding is a TargetGroupBinding that registers a Service's endpoints.
type Binding struct {
	Namespace, Name string
	Group           Ref
	Spec            BindingSpec
	// Awaited says, of one that is seen, what the inbound rules that it asks for wait for; "" when they are there, or nobody tells of them.
	Awaited string
}
