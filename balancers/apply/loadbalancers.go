// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/balancers/apply/input"
	"github.com/targetgate/targetgate/balancers/steps"
)

// loadBalancers does the changes of load balancers that are calls of Elastic Load Balancing.
type loadBalancers struct {
	LoadBalancers
	owner owner
}

func (b loadBalancers) create(ctx context.Context, c steps.CreateLoadBalancer) (steps.Made, error) {
	return b.owner.named(c, c.LoadBalancer.Name, func(name string) (steps.Made, error) {
		c.LoadBalancer.Name = name
		return b.createNamed(ctx, c)
	})
}

func (b loadBalancers) createNamed(ctx context.Context, c steps.CreateLoadBalancer) (steps.Made, error) {
	out, err := b.CreateLoadBalancer(ctx, input.CreateLoadBalancer(c.LoadBalancer))
	if awserr.HasCode(err, "DuplicateLoadBalancerName") {
		return b.adopt(ctx, c, err)
	}
	if err != nil {
		return steps.Made{}, err
	}
	made, err := madeLoadBalancer(out.LoadBalancers)
	if err != nil {
		return steps.Made{}, err
	}
	state := out.LoadBalancers[0].State
	isOld := state != nil && state.Code == types.LoadBalancerStateEnumActive // a new one is provisioned for a minute or more
	return b.owner.checkMade(ctx, made, isOld, c.LoadBalancer.Tags, "load balancer", c.LoadBalancer.Name)
}

// adopt takes the one that has the name, if it is ours: an earlier pass has made it and not heard of it. Ours with another scheme was not
// seen.
func (b loadBalancers) adopt(ctx context.Context, c steps.CreateLoadBalancer, taken error) (steps.Made, error) {
	name := c.LoadBalancer.Name
	out, err := b.DescribeLoadBalancers(ctx, &elbv2.DescribeLoadBalancersInput{Names: []string{name}})
	if err != nil {
		return steps.Made{}, b.owner.orUnshown(err, isGone(err), name)
	}
	made, err := madeLoadBalancer(out.LoadBalancers)
	if err != nil {
		return steps.Made{}, err
	}
	made.Adopted = true
	err = b.owner.check(ctx, c.LoadBalancer.Tags, &foreignError{what: "load balancer", name: name, holder: made.ID})
	if err == nil && string(out.LoadBalancers[0].Scheme) != c.LoadBalancer.Scheme {
		err = taken
	}
	return made, err
}

func madeLoadBalancer(answered []types.LoadBalancer) (steps.Made, error) {
	balancer, err := only(answered, "load balancers")
	return steps.Made{ID: aws.ToString(balancer.LoadBalancerArn), DNSName: aws.ToString(balancer.DNSName)}, err
}

func (b loadBalancers) setSubnets(ctx context.Context, c steps.SetSubnets) error {
	_, err := b.SetSubnets(ctx, &elbv2.SetSubnetsInput{
		LoadBalancerArn: aws.String(c.LoadBalancer.ID), SubnetMappings: input.Subnets(c.Subnets, c.Allocations),
	})
	return err
}

func (b loadBalancers) setSecurityGroups(ctx context.Context, c steps.SetSecurityGroups) error {
	_, err := b.SetSecurityGroups(ctx, &elbv2.SetSecurityGroupsInput{
		LoadBalancerArn: aws.String(c.LoadBalancer.ID), SecurityGroups: input.IDs(c.Groups),
	})
	return err
}

func (b loadBalancers) setAttributes(ctx context.Context, c steps.SetLoadBalancerAttributes) error {
	return setKinds(c.Attributes, func(some map[string]string) error {
		c.Attributes = some
		_, err := b.ModifyLoadBalancerAttributes(ctx, input.ModifyLoadBalancerAttributes(c))
		return err
	})
}

func (b loadBalancers) delete(ctx context.Context, c steps.DeleteLoadBalancer) error {
	_, err := b.DeleteLoadBalancer(ctx, &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: aws.String(c.LoadBalancer.ID)})
	return err
}

// protections does the changes of protections.
type protections struct{ Protections }

func (p protections) protect(ctx context.Context, c steps.Protect) error {
	return p.Protect(ctx, c.LoadBalancer.ID)
}

func (p protections) unprotect(ctx context.Context, c steps.Unprotect) error {
	return p.Unprotect(ctx, c.ID)
}
