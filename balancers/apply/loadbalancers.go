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

func (b loadBalancers) setAddressType(ctx context.Context, c steps.SetAddressType) error {
	_, err := b.SetIpAddressType(ctx, &elbv2.SetIpAddressTypeInput{
		LoadBalancerArn: aws.String(c.LoadBalancer.ID), IpAddressType: types.IpAddressType(c.AddressType),
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

func (b loadBalancers) setIPAMPool(ctx context.Context, c steps.SetIPAMPool) error {
	in := &elbv2.ModifyIpPoolsInput{LoadBalancerArn: aws.String(c.LoadBalancer.ID), IpamPools: input.IPAMPools(c.Pool)}
	if in.IpamPools == nil {
		in.RemoveIpamPools = []types.RemoveIpamPoolEnum{types.RemoveIpamPoolEnumIpv4}
	}
	_, err := b.ModifyIpPools(ctx, in)
	return err
}

func (b loadBalancers) setCapacity(ctx context.Context, c steps.SetCapacity) error {
	in := &elbv2.ModifyCapacityReservationInput{LoadBalancerArn: aws.String(c.LoadBalancer.ID)}
	if c.Units == 0 {
		in.ResetCapacityReservation = aws.Bool(true)
	} else {
		in.MinimumLoadBalancerCapacity = &types.MinimumLoadBalancerCapacity{CapacityUnits: aws.Int32(c.Units)}
	}
	_, err := b.ModifyCapacityReservation(ctx, in)
	return err
}

func (b loadBalancers) delete(ctx context.Context, c steps.DeleteLoadBalancer) error {
	_, err := b.DeleteLoadBalancer(ctx, &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: aws.String(c.LoadBalancer.ID)})
	return err
}

// guards does the changes of what guards load balancers.
type guards struct {
	WAF, WAFClassic WebACLs
	Shield          Protections
}

func (g guards) setWebACL(ctx context.Context, c steps.SetWebACL) error {
	if c.WebACL == "" {
		return g.WAF.Disassociate(ctx, c.LoadBalancer.ID)
	}
	return g.WAF.Associate(ctx, c.LoadBalancer.ID, c.WebACL)
}

func (g guards) setClassicACL(ctx context.Context, c steps.SetClassicACL) error {
	if c.ID == "" {
		return g.WAFClassic.Disassociate(ctx, c.LoadBalancer.ID)
	}
	return g.WAFClassic.Associate(ctx, c.LoadBalancer.ID, c.ID)
}

func (g guards) protect(ctx context.Context, c steps.Protect) error {
	return g.Shield.Protect(ctx, c.LoadBalancer.ID)
}

func (g guards) unprotect(ctx context.Context, c steps.Unprotect) error {
	return g.Shield.Unprotect(ctx, c.ID)
}
