// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
)

const (
	// firstCluster is the --cluster-name of the first targetgate; see StartOtherCluster.
	firstCluster = "e2e"
	// otherVPC is the VPC that targetgate is told where security groups do not matter. It does not exist.
	otherVPC = "vpc-0123456789abcdef0"
)

// vpc is the VPC that targetgate is told.
func (b *Bed) vpc() string {
	if b.options.SecurityGroups {
		return ec2.DefaultVPCID
	}
	return otherVPC
}

// createNodeSecurityGroup makes the security group of all nodes as EKS does: with the cluster's tag, and open to itself.
func (b *Bed) createNodeSecurityGroup() error {
	group, err := b.AWS.EC2.CreateSecurityGroup("", ec2.SecurityGroupSpec{
		Name: "eks-cluster-sg-" + b.clusterName, Description: "EKS created security group applied to ENIs of nodes",
		Tags: map[string]string{"kubernetes.io/cluster/" + b.clusterName: "owned"},
	})
	if err != nil {
		return fmt.Errorf("creating the nodes' security group: %w", err)
	}
	b.NodeSecurityGroup = group.ID
	itself := ec2.Permission{Rule: ec2.Rule{Protocol: "-1", Source: ec2.Source{Group: group.ID}}}
	if err := b.AWS.EC2.AuthorizeIngress("", group.ID, []ec2.Permission{itself}); err != nil {
		return fmt.Errorf("opening the nodes' security group to itself: %w", err)
	}
	return nil
}

// InterfaceOf is the id of the primary interface of a node's instance.
func InterfaceOf(instanceID string) string { return "eni-" + strings.TrimPrefix(instanceID, "i-") }

// putInterface gives an instance its primary interface: with the node's address, and the range of its pods as a delegated prefix.
func (b *Bed) putInterface(instanceID, nodeIP, podCIDR string) error {
	addr, err := netip.ParseAddr(nodeIP)
	if err != nil {
		return fmt.Errorf("reading the address of %s: %w", instanceID, err)
	}
	pods, err := netip.ParsePrefix(podCIDR)
	if err != nil {
		return fmt.Errorf("reading the pods' range of %s: %w", instanceID, err)
	}
	err = b.AWS.EC2.PutInterface(ec2.Interface{
		ID: InterfaceOf(instanceID), Instance: instanceID, Addresses: []netip.Addr{addr}, Prefixes: []netip.Prefix{pods},
		Groups: []string{b.NodeSecurityGroup},
	})
	if err != nil {
		return fmt.Errorf("attaching an interface to %s: %w", instanceID, err)
	}
	return nil
}
