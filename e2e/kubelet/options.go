// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/e2e/kubelet/address"
)

// Options says which nodes there are and how time passes on them. The zero value of a field is its default.
type Options struct {
	// Config reaches the API server; client-side rate limits in it are lifted. Client is used instead when it is set.
	Config *rest.Config
	Client kubernetes.Interface

	// Nodes must not be empty; see NumberedNodes.
	Nodes []Node

	// Scale multiplies all times given in seconds by pod specs and by the kubelet: 0.1 is ten times faster. Default 1.
	Scale float64

	// Clock tells the time for everything but sockets. Default: the real one.
	Clock clock.Clock

	// HeartbeatInterval is the time between two lease renewals, default 10 s. It is not scaled.
	HeartbeatInterval time.Duration

	// ReuseAddresses hands out the lowest free address, so that a new pod soon gets the address of one that has gone.
	// By default addresses go round each node's range and none comes back before the range is used up.
	ReuseAddresses bool

	// Log gets what goes wrong; default: nothing is logged.
	Log logr.Logger
}

// Node describes one node. Only Name is required; Start and AddNode fill the rest from the node's place in the list.
type Node struct {
	Name string
	// Zone is the label topology.kubernetes.io/zone, default eu-west-1a.
	Zone string
	// InstanceID is the last part of the provider id, i- and 17 hexadecimal digits.
	InstanceID string
	// PodCIDR is where pods get their addresses: inside 10.0.0.0/8, default 10.<n>.0.0/16 for the n-th node, counted
	// from 1. Its first address is the node's own.
	PodCIDR netip.Prefix
	// MaxPods is the capacity for pods, default 500.
	MaxPods int
	// Taints are those that the Node object is created with: later ones are the business of whoever makes them.
	Taints []corev1.Taint
}

// NumberedNodes returns n nodes named node-1 to node-n, spread evenly over the zones.
func NumberedNodes(n int, zones ...string) []Node {
	nodes := make([]Node, n)
	for i := range nodes {
		nodes[i].Name = fmt.Sprintf("node-%d", i+1)
		if len(zones) > 0 {
			nodes[i].Zone = zones[i%len(zones)]
		}
	}
	return nodes
}

// withDefaults returns the options filled in, or every fault in them. The caller's slice of nodes is not touched.
func (o Options) withDefaults() (Options, error) {
	if o.Scale == 0 {
		o.Scale = 1
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.HeartbeatInterval == 0 {
		o.HeartbeatInterval = 10 * time.Second
	}
	if o.Log.GetSink() == nil {
		o.Log = logr.Discard()
	}
	nodes := make([]Node, len(o.Nodes))
	for i, node := range o.Nodes {
		nodes[i] = node.withDefaults(i + 1)
	}
	o.Nodes = nodes
	return o, o.validate()
}

func (o Options) validate() error {
	var errs []error
	if o.Config == nil && o.Client == nil {
		errs = append(errs, errors.New("one of config and client is required"))
	}
	if len(o.Nodes) == 0 {
		errs = append(errs, errors.New("at least one node is required"))
	}
	if o.Scale < 0 {
		errs = append(errs, fmt.Errorf("scale must be above 0, not %v", o.Scale))
	}
	for i, node := range o.Nodes {
		errs = append(errs, node.validate())
		for _, other := range o.Nodes[:i] {
			errs = append(errs, node.validateBeside(other))
		}
	}
	return errors.Join(errs...)
}

func (n Node) withDefaults(number int) Node {
	if n.Zone == "" {
		n.Zone = "eu-west-1a"
	}
	if n.InstanceID == "" {
		n.InstanceID = fmt.Sprintf("i-0123456789abc%04x", number)
	}
	if !n.PodCIDR.IsValid() {
		n.PodCIDR = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(number)}), 16)
	}
	if n.MaxPods == 0 {
		n.MaxPods = 500
	}
	return n
}

func (n Node) validate() error {
	if n.Name == "" {
		return errors.New("a node needs a name")
	}
	if !n.PodCIDR.Addr().Is4() || !address.Pods.Contains(n.PodCIDR.Addr()) || n.PodCIDR.Bits() > 24 || n.PodCIDR.Bits() < 8 {
		return fmt.Errorf("node %q: pod CIDR must be inside 10.0.0.0/8 and at least a /24, not %v", n.Name, n.PodCIDR)
	}
	return nil
}

// validateBeside finds what two nodes cannot share.
func (n Node) validateBeside(other Node) error {
	if n.Name == other.Name || n.PodCIDR.Overlaps(other.PodCIDR) {
		return fmt.Errorf("nodes %q and %q share a name or addresses", other.Name, n.Name)
	}
	return nil
}

// hostIP is the node's own address.
func (n Node) hostIP() netip.Addr { return n.PodCIDR.Masked().Addr().Next() }
