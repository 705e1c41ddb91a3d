// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"context"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/elbv2"
)

// InCluster are those of the targets, by ID, whose addresses are this cluster's: a pod of any namespace that is watched has it, or a node,
// or it is in a range from which a node gives its pods addresses. Where the VPC gives them, nodes have no ranges. It takes a look at each
// pod and node, so only targets that nothing else explains are asked for.
func (r *Resolver) InCluster(ctx context.Context, targets []elbv2.Target) (map[string]bool, error) {
	out := map[string]bool{}
	if len(targets) == 0 {
		return out, nil
	}
	asked := map[string]bool{}
	for _, target := range targets {
		asked[target.ID] = true
	}
	r.PodByAddress.eachValue(func(address string) {
		if asked[address] {
			out[address] = true
		}
	})
	var nodes corev1.NodeList
	err := r.reader.List(ctx, &nodes, client.UnsafeDisableDeepCopy)
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	ranges := addressesOf(nodes.Items)
	for id := range asked {
		if address, err := netip.ParseAddr(id); err == nil && ranges.has(address.Unmap()) {
			out[id] = true
		}
	}
	return out, nil
}

// nodeAddresses are the addresses that nodes have, and those that they give to pods.
type nodeAddresses struct {
	own  map[netip.Addr]bool
	pods []netip.Prefix
}

func addressesOf(nodes []corev1.Node) nodeAddresses {
	out := nodeAddresses{own: map[netip.Addr]bool{}}
	for i := range nodes {
		for _, text := range nodes[i].Spec.PodCIDRs {
			if prefix, err := netip.ParsePrefix(text); err == nil {
				out.pods = append(out.pods, prefix)
			}
		}
		for _, at := range nodes[i].Status.Addresses {
			if address, err := netip.ParseAddr(at.Address); err == nil && at.Type == corev1.NodeInternalIP {
				out.own[address.Unmap()] = true
			}
		}
	}
	return out
}

func (n nodeAddresses) has(address netip.Addr) bool {
	if n.own[address] {
		return true
	}
	for _, prefix := range n.pods {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}
