// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/balancers/stack"
)

func tagsOf(tags []types.Tag) map[string]string {
	out := make(map[string]string, len(tags))
	for _, tag := range tags {
		out[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return out
}

func isActive(b types.LoadBalancer) bool {
	return b.State != nil && (b.State.Code == types.LoadBalancerStateEnumActive || b.State.Code == types.LoadBalancerStateEnumActiveImpaired)
}

// failure is why AWS could not set up a load balancer, "" unless it could not.
func failure(b types.LoadBalancer) string {
	if b.State == nil || b.State.Code != types.LoadBalancerStateEnumFailed {
		return ""
	}
	return cmp.Or(aws.ToString(b.State.Reason), "AWS does not say why")
}

func loadBalancer(b types.LoadBalancer, tags map[string]string) stack.LoadBalancer {
	out := stack.LoadBalancer{
		Network: b.Type == types.LoadBalancerTypeEnumNetwork,
		ARN:     aws.ToString(b.LoadBalancerArn), DNSName: aws.ToString(b.DNSName), Active: isActive(b), Failed: failure(b),
		Name: aws.ToString(b.LoadBalancerName), Scheme: string(b.Scheme), AddressType: string(b.IpAddressType), Tags: tags,
		CustomerPool: aws.ToString(b.CustomerOwnedIpv4Pool),
	}
	if pools := b.IpamPools; pools != nil {
		out.IPAMPool = aws.ToString(pools.Ipv4IpamPoolId)
	}
	var subnets, allocations []string
	for _, zone := range b.AvailabilityZones {
		subnets, allocations = append(subnets, aws.ToString(zone.SubnetId)), append(allocations, allocation(zone))
	}
	out.SetSubnets(subnets, allocations)
	for _, id := range b.SecurityGroups {
		out.SecurityGroups = append(out.SecurityGroups, stack.Ref{ID: id})
	}
	return out
}

// allocation is the ID of the Elastic IP address in a zone, "" for none.
func allocation(zone types.AvailabilityZone) string {
	for _, address := range zone.LoadBalancerAddresses {
		if address.AllocationId != nil {
			return *address.AllocationId
		}
	}
	return ""
}

func targetGroup(g types.TargetGroup, part string, tags map[string]string) stack.TargetGroup {
	out := stack.TargetGroup{
		ARN: aws.ToString(g.TargetGroupArn), LoadBalancers: slices.Clone(g.LoadBalancerArns), Part: part, Name: aws.ToString(g.TargetGroupName),
		TargetType: string(g.TargetType), Protocol: string(g.Protocol), ProtocolVersion: aws.ToString(g.ProtocolVersion),
		Port: aws.ToInt32(g.Port), ControlPort: aws.ToInt32(g.TargetControlPort), AddressType: string(g.IpAddressType), Tags: tags,
		HealthCheck: stack.HealthCheck{
			Port: aws.ToString(g.HealthCheckPort), Protocol: string(g.HealthCheckProtocol), Path: aws.ToString(g.HealthCheckPath),
			Interval: aws.ToInt32(g.HealthCheckIntervalSeconds), Timeout: aws.ToInt32(g.HealthCheckTimeoutSeconds),
			Healthy: aws.ToInt32(g.HealthyThresholdCount), Unhealthy: aws.ToInt32(g.UnhealthyThresholdCount),
		},
	}
	if m := g.Matcher; m != nil {
		out.HealthCheck.Matcher = aws.ToString(m.HttpCode) + aws.ToString(m.GrpcCode) // one of them is set
	}
	return out
}

func securityGroup(g ec2types.SecurityGroup) (stack.SecurityGroup, error) {
	read, err := ec2.SecurityGroupOf(g)
	if err != nil {
		return stack.SecurityGroup{}, err
	}
	out := stack.SecurityGroup{
		ID: read.ID, Name: aws.ToString(g.GroupName), Description: aws.ToString(g.Description), Tags: read.Tags,
	}
	for _, p := range read.Ingress {
		out.Inbound = append(out.Inbound, inbound(p))
	}
	return out, nil
}

func inbound(p ec2.Permission) stack.Inbound {
	return stack.Inbound{From: p.From, To: p.To, Protocol: p.Protocol, Source: p.Source.String()}
}
