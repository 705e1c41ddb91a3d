// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"context"
	"fmt"
	"path"

	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/kubelet"
)

// AddNode adds a node whose pods get addresses that no other test bed on this machine uses, and tells AWS of its instance. It goes by
// Kubelet.RemoveNode.
func (b *Bed) AddNode(ctx context.Context, node kubelet.Node) error {
	nodes := []kubelet.Node{node}
	if err := b.reserve(nodes); err != nil {
		return err
	}
	if err := b.Kubelet.AddNode(ctx, nodes[0]); err != nil {
		return err
	}
	return b.LaunchInstances(ctx)
}

func (b *Bed) reserve(nodes []kubelet.Node) error {
	b.reserving.Lock()
	defer b.reserving.Unlock()
	held, err := reserveAddresses(nodes)
	b.addresses = append(b.addresses, held...)
	return err
}

// LaunchInstances tells AWS of the running instance behind each Node object, and with Options.SecurityGroups of its interface,
// which has the nodes' security group. Start does it once; a test that adds nodes does it again.
func (b *Bed) LaunchInstances(ctx context.Context) error {
	var nodes corev1.NodeList
	if err := b.Client.List(ctx, &nodes); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	for i := range nodes.Items {
		if err := b.launch(&nodes.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bed) launch(node *corev1.Node) error {
	id, address := path.Base(node.Spec.ProviderID), internalIP(node)
	b.AWS.EC2.SetInstance(id, ec2.Instance{Address: address, Zone: node.Labels[corev1.LabelTopologyZone], Running: true})
	if !b.options.SecurityGroups {
		return nil
	}
	return b.putInterface(id, address, node.Spec.PodCIDR)
}

func internalIP(node *corev1.Node) string {
	for _, address := range node.Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			return address.Address
		}
	}
	return ""
}
