// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// TargetGroup is one whose targets a binding registers, or one of type alb with a load balancer as its target.
type TargetGroup struct {
	ARN string // of one that is seen
	// LoadBalancers are the ARNs of those that send to it; of one that is seen.
	LoadBalancers []string
	Part          string // value of the resource tag
	Owner         string // name of the member that wants it; not known of one that is seen

	Name      string
	SpareName string // for one that replaces another that has the name; of one that is wanted

	// What cannot be changed once it is made. Port and AddressType do not count when one that is seen is compared with one that is wanted:
	// the incumbent keeps a group in which they differ.
	TargetType, Protocol, ProtocolVersion string
	Port                                  int32
	AddressType                           string // ipv4, ipv6
	// ControlPort is where targets say how many requests they take, 0 for nowhere.
	ControlPort int32
	// Target is the load balancer of a group of type alb that is registered, at TargetPort; none of one that is wanted, which is to have that
	// of the stack behind it.
	Target     Ref
	TargetPort int32

	HealthCheck HealthCheck
	Attributes  map[string]string // those to be set; of one that is seen all, or nil while they are not read
	Presets     map[string]string // of one that is wanted: what others that it has go back to
	Tags        map[string]string
}

// OwnBindings are those that are seen without those of others: a binding is in the namespace that the resource tag of its target group
// begins with. Anybody can write a group's labels, and the ARN of a target group of another namespace, into theirs.
func (s *Stack) OwnBindings() (own []Binding) {
	namespaces := make(map[string]string, len(s.TargetGroups))
	for _, g := range s.TargetGroups {
		namespaces[g.ARN], _, _ = strings.Cut(g.Part, "/")
	}
	return slices.DeleteFunc(slices.Clone(s.Bindings), func(b Binding) bool {
		namespace, isSeen := namespaces[b.Group.ID]
		return isSeen && namespace != b.Namespace
	})
}

// HealthCheck says how targets are checked.
type HealthCheck struct {
	Port, Protocol, Path                  string // port is traffic-port or a number
	Interval, Timeout, Healthy, Unhealthy int32  // seconds, seconds, times, times
	Matcher                               string // of HTTP or gRPC codes, by the group's protocol version
}

// BindingSpec is what a TargetGroupBinding says, apart from its target group.
type BindingSpec struct {
	Service     string
	Port        intstr.IntOrString
	TargetType  string
	Protocol    string // of the target group
	AddressType string
	VPC         string
	// Networking are the ports that may be reached from Peer; nil makes no rules. One port 0 stands for all ports.
	Networking   []intstr.IntOrString
	Peer         Ref // a security group
	NodeSelector map[string]string
	MultiCluster bool
	Labels       map[string]string
	// Others says that somebody else has added what no stack says: other peers, or other terms of the selector.
	Others bool
}
