// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"context"
	"fmt"
	"path"

	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// LaunchInstances tells AWS of the running instance behind each Node object. Start does it once; a test that adds nodes
// does it again.
func (b *Bed) LaunchInstances(ctx context.Context) error {
	var nodes corev1.NodeList
	if err := b.Client.List(ctx, &nodes); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	for i := range nodes.Items {
		node := &nodes.Items[i]
		b.AWS.State().SetInstance(path.Base(node.Spec.ProviderID), state.Instance{
			Address: internalIP(node), Zone: node.Labels[corev1.LabelTopologyZone], Running: true,
		})
	}
	return nil
}

func internalIP(node *corev1.Node) string {
	for _, address := range node.Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			return address.Address
		}
	}
	return ""
}
