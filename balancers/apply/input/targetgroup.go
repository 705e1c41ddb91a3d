// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package input

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// CreateTargetGroup has no attributes: AWS takes them in a call of their own.
func CreateTargetGroup(g stack.TargetGroup, vpc string) *elasticloadbalancingv2.CreateTargetGroupInput {
	return &elasticloadbalancingv2.CreateTargetGroupInput{
		Name:                       aws.String(g.Name),
		TargetType:                 types.TargetTypeEnum(g.TargetType),
		Protocol:                   types.ProtocolEnum(g.Protocol),
		ProtocolVersion:            some(g.ProtocolVersion),
		Port:                       aws.Int32(g.Port),
		IpAddressType:              types.TargetGroupIpAddressTypeEnum(g.AddressType),
		VpcId:                      aws.String(vpc),
		TargetControlPort:          someNumber(g.ControlPort),
		HealthCheckEnabled:         aws.Bool(true),
		HealthCheckPort:            some(g.HealthCheck.Port),
		HealthCheckProtocol:        types.ProtocolEnum(g.HealthCheck.Protocol),
		HealthCheckPath:            some(g.HealthCheck.Path),
		HealthCheckIntervalSeconds: aws.Int32(g.HealthCheck.Interval),
		HealthCheckTimeoutSeconds:  aws.Int32(g.HealthCheck.Timeout),
		HealthyThresholdCount:      aws.Int32(g.HealthCheck.Healthy),
		UnhealthyThresholdCount:    aws.Int32(g.HealthCheck.Unhealthy),
		Matcher:                    matcher(g.HealthCheck.Matcher, g.ProtocolVersion),
		Tags:                       Tags(g.Tags),
	}
}

// someNumber is nil for 0, which AWS would refuse.
func someNumber(n int32) *int32 {
	if n == 0 {
		return nil
	}
	return &n
}

// ModifyTargetGroup changes the health check.
func ModifyTargetGroup(c steps.SetHealthCheck) *elasticloadbalancingv2.ModifyTargetGroupInput {
	return &elasticloadbalancingv2.ModifyTargetGroupInput{
		TargetGroupArn:             aws.String(c.Group.ID),
		HealthCheckEnabled:         aws.Bool(true),
		HealthCheckPort:            some(c.Check.Port),
		HealthCheckProtocol:        types.ProtocolEnum(c.Check.Protocol),
		HealthCheckPath:            some(c.Check.Path),
		HealthCheckIntervalSeconds: aws.Int32(c.Check.Interval),
		HealthCheckTimeoutSeconds:  aws.Int32(c.Check.Timeout),
		HealthyThresholdCount:      aws.Int32(c.Check.Healthy),
		UnhealthyThresholdCount:    aws.Int32(c.Check.Unhealthy),
		Matcher:                    matcher(c.Check.Matcher, c.ProtocolVersion),
	}
}

func matcher(codes, version string) *types.Matcher {
	if version == "GRPC" {
		return &types.Matcher{GrpcCode: some(codes)}
	}
	return &types.Matcher{HttpCode: some(codes)}
}

// ModifyTargetGroupAttributes has the attributes in the order of their keys, as those of the others below are.
func ModifyTargetGroupAttributes(c steps.SetTargetGroupAttributes) *elasticloadbalancingv2.ModifyTargetGroupAttributesInput {
	in := &elasticloadbalancingv2.ModifyTargetGroupAttributesInput{TargetGroupArn: aws.String(c.Group.ID)}
	for key, value := range sorted(c.Attributes) {
		in.Attributes = append(in.Attributes, types.TargetGroupAttribute{Key: aws.String(key), Value: aws.String(value)})
	}
	return in
}

// ModifyLoadBalancerAttributes is as ModifyTargetGroupAttributes.
func ModifyLoadBalancerAttributes(c steps.SetLoadBalancerAttributes) *elasticloadbalancingv2.ModifyLoadBalancerAttributesInput {
	in := &elasticloadbalancingv2.ModifyLoadBalancerAttributesInput{LoadBalancerArn: aws.String(c.LoadBalancer.ID)}
	for key, value := range sorted(c.Attributes) {
		in.Attributes = append(in.Attributes, types.LoadBalancerAttribute{Key: aws.String(key), Value: aws.String(value)})
	}
	return in
}

// ModifyListenerAttributes is as ModifyTargetGroupAttributes.
func ModifyListenerAttributes(c steps.SetListenerAttributes) *elasticloadbalancingv2.ModifyListenerAttributesInput {
	in := &elasticloadbalancingv2.ModifyListenerAttributesInput{ListenerArn: aws.String(c.Listener.ID)}
	for key, value := range sorted(c.Attributes) {
		in.Attributes = append(in.Attributes, types.ListenerAttribute{Key: aws.String(key), Value: aws.String(value)})
	}
	return in
}
