// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"context"
	"fmt"

	"github.com/targetgate/targetgate/e2e/kubelet"
)

// StartOtherCluster puts a second cluster together in the same AWS account, with the options of the first and another --cluster-name:
// a control plane, nodes and a targetgate of its own, which has its own access key. The nodes of both clusters have one security group,
// where there is one. It must be closed before the first.
func (b *Bed) StartOtherCluster(ctx context.Context, clusterName string) (*Bed, error) {
	return start(ctx, &Bed{options: b.options, first: b, clusterName: clusterName})
}

// ClusterName is targetgate's --cluster-name.
func (b *Bed) ClusterName() string { return b.clusterName }

// joinAWS uses the AWS of the first cluster.
func (b *Bed) joinAWS() error {
	policies, err := b.policies()
	if err != nil {
		return err
	}
	b.AWS, b.NodeSecurityGroup = b.first.AWS, b.first.NodeSecurityGroup
	b.AWS.SetPolicies(b.AccessKey(), policies...)
	return nil
}

// nameInstances gives nodes instances that no other cluster's have: by the ranges of their pods, of which each is of one node.
func nameInstances(nodes []kubelet.Node) {
	for i := range nodes {
		nodes[i].InstanceID = fmt.Sprintf("i-0123456789abd%04x", nodes[i].PodCIDR.Addr().As4()[1])
	}
}
