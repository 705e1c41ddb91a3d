// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/e2e/kubelet/proxy"
)

// node finds a node by name.
func (k *Kubelet) node(name string) (*node, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n, found := k.nodes[name]
	return n, found
}

// allNodes returns the nodes there are, by name.
func (k *Kubelet) allNodes() []*node {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.SortedFunc(maps.Values(k.nodes), func(a, b *node) int { return strings.Compare(a.Name, b.Name) })
}

// nodePorts are those of all nodes.
func (k *Kubelet) nodePorts() []*proxy.Node {
	nodes := k.allNodes()
	ports := make([]*proxy.Node, len(nodes))
	for i, n := range nodes {
		ports[i] = n.ports
	}
	return ports
}

// AddNode registers one more node, ready from the start. What is empty in it is filled as by Start: the n-th node of this
// Kubelet's life gets the n-th range of addresses. A name or range that another node has now is an error.
func (k *Kubelet) AddNode(ctx context.Context, description Node) error {
	n, err := k.admit(description)
	if err != nil {
		return fmt.Errorf("adding node: %w", err)
	}
	if err := n.register(ctx, k.clock.Now()); err != nil {
		k.dismiss(n)
		return fmt.Errorf("adding node: %w", err)
	}
	k.catchUp(n)
	return nil
}

// admit makes a node known, before the API server knows of it: a pod may be bound to it as soon as that does.
func (k *Kubelet) admit(description Node) (*node, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	description = description.withDefaults(k.added + 1)
	if err := description.validate(); err != nil {
		return nil, err
	}
	for _, other := range k.nodes {
		if err := description.validateBeside(other.Node); err != nil {
			return nil, err
		}
	}
	k.added++
	n := newNode(k.ctx, description, k.client, k.reuse)
	k.nodes[n.Name] = n
	return n, nil
}

// dismiss makes a node unknown. Of two calls for the same node one gets true.
func (k *Kubelet) dismiss(n *node) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.nodes[n.Name] != n {
		return false
	}
	delete(k.nodes, n.Name)
	return true
}

// RemoveNode is the end of an instance: the processes of its pods are cut with all their connections, its node ports close,
// and then the Node object is deleted. Its pods stay in the API until the cluster's own controllers remove them. When
// deleting fails, the instance has ended all the same and the Node object is left to the caller. A node that is not there is
// an error.
func (k *Kubelet) RemoveNode(ctx context.Context, name string) error {
	n, found := k.node(name)
	if !found || !k.dismiss(n) {
		return fmt.Errorf("removing node: there is no node %q", name)
	}
	n.silent.Store(true) // no last words
	n.cut()
	for _, p := range k.on(n) {
		<-p.ended
	}
	k.proxy.Poke()
	if err := n.remove(ctx); err != nil {
		return fmt.Errorf("removing node %s: %w", name, err)
	}
	return nil
}

// SetNodeReady makes the node's Ready condition what is asked for, in the words of a kubelet (True, False) or of the node
// lifecycle controller (Unknown), and keeps it so: it is written again at each heartbeat. The node goes on working and
// renewing its lease; one that is cut off is written once. What follows from the condition is the business of the cluster's
// controllers. They mark the pods of a node unready only when they find out by themselves that it is silent: see
// StopHeartbeat.
func (k *Kubelet) SetNodeReady(ctx context.Context, name string, status corev1.ConditionStatus) error {
	n, found := k.node(name)
	if !found {
		return fmt.Errorf("setting node ready: there is no node %q", name)
	}
	if !slices.Contains([]corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown}, status) {
		return fmt.Errorf("setting node ready: %q is no status of a condition", status)
	}
	return n.setReady(ctx, status, k.clock.Now())
}

// StopHeartbeat cuts the node off from the API server: no lease, no status, no reaction to changes. Its pods go on serving,
// and its node ports forward to where they did. After its grace period the node controller makes it Unknown. It returns
// false when there is no such node.
func (k *Kubelet) StopHeartbeat(name string) bool {
	n, found := k.node(name)
	if found {
		n.silent.Store(true)
	}
	return found
}

// ResumeHeartbeat ends StopHeartbeat: the node catches up with all that it missed. It returns false when there is no such node.
func (k *Kubelet) ResumeHeartbeat(ctx context.Context, name string) (bool, error) {
	n, found := k.node(name)
	if !found {
		return false, nil
	}
	n.silent.Store(false)
	k.catchUp(n)
	return true, n.register(ctx, k.clock.Now())
}

func (k *Kubelet) heartbeat(interval time.Duration) {
	for {
		select {
		case <-k.ctx.Done():
			return
		case <-k.clock.After(interval):
		}
		for _, n := range k.allNodes() {
			if err := n.beat(k.ctx, k.clock.Now()); err != nil && k.ctx.Err() == nil {
				k.log.Error(err, "Heartbeat failed", "node", n.Name)
			}
		}
	}
}
