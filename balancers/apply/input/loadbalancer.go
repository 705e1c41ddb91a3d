// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package input

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/targetgate/targetgate/balancers/stack"
)

// CreateLoadBalancer has no attributes: AWS takes them in a call of their own.
func CreateLoadBalancer(b stack.LoadBalancer) *elasticloadbalancingv2.CreateLoadBalancerInput {
	kind := types.LoadBalancerTypeEnumApplication
	if b.Network {
		kind = types.LoadBalancerTypeEnumNetwork
	}
	return &elasticloadbalancingv2.CreateLoadBalancerInput{
		Name:           aws.String(b.Name),
		Type:           kind,
		Scheme:         types.LoadBalancerSchemeEnum(b.Scheme),
		IpAddressType:  types.IpAddressType(b.AddressType),
		SubnetMappings: Subnets(b.Subnets, b.Allocations),
		SecurityGroups: IDs(b.SecurityGroups),
		Tags:           Tags(b.Tags),

		IpamPools: IPAMPools(b.IPAMPool), CustomerOwnedIpv4Pool: some(b.CustomerPool),
	}
}

// IPAMPools are those of the pool, nil for none.
func IPAMPools(pool string) *types.IpamPools {
	if pool == "" {
		return nil
	}
	return &types.IpamPools{Ipv4IpamPoolId: aws.String(pool)}
}

// Subnets are those of the IDs, each with the Elastic IP address at its place, if there is one.
func Subnets(ids, allocations []string) (out []types.SubnetMapping) {
	for i, id := range ids {
		subnet := types.SubnetMapping{SubnetId: aws.String(id)}
		if i < len(allocations) {
			subnet.AllocationId = some(allocations[i])
		}
		out = append(out, subnet)
	}
	return out
}

// IDs are those of the parts.
func IDs(refs []stack.Ref) (out []string) {
	for _, ref := range refs {
		out = append(out, ref.ID)
	}
	return out
}
