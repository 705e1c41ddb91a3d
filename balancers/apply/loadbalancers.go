// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/balancers/apply/input"
	"github.com/targetgate/targetgate/balancers/steps"
)

func (d *doing) createLoadBalancer(ctx context.Context, c steps.CreateLoadBalancer) (Made, error) {
	out, err := d.ELB.CreateLoadBalancer(ctx, input.CreateLoadBalancer(c.LoadBalancer))
	if awserr.HasCode(err, "DuplicateLoadBalancerName") {
		return d.adoptLoadBalancer(ctx, c, err)
	}
	if err != nil {
		return Made{}, err
	}
	return madeLoadBalancer(out.LoadBalancers)
}

// adoptLoadBalancer takes the one that has the name, if it is ours: an earlier pass has made it and not heard of it.
func (d *doing) adoptLoadBalancer(ctx context.Context, c steps.CreateLoadBalancer, taken error) (Made, error) {
	name := c.LoadBalancer.Name
	out, err := d.ELB.DescribeLoadBalancers(ctx, &elbv2.DescribeLoadBalancersInput{Names: []string{name}})
	if err != nil {
		return Made{}, err
	}
	made, err := madeLoadBalancer(out.LoadBalancers)
	if err != nil {
		return Made{}, err
	}
	if string(out.LoadBalancers[0].Scheme) != c.LoadBalancer.Scheme {
		return Made{}, taken
	}
	d.uncertain = true
	return made, d.checkOwn(ctx, "load balancer", name, made.ID, c.LoadBalancer.Tags)
}

func madeLoadBalancer(answered []types.LoadBalancer) (Made, error) {
	if len(answered) != 1 {
		return Made{}, fmt.Errorf("AWS has answered with %d load balancers instead of one", len(answered))
	}
	return Made{ID: aws.ToString(answered[0].LoadBalancerArn), DNSName: aws.ToString(answered[0].DNSName)}, nil
}

// checkOwn is an error unless what has the name has the tags of the part that is wanted.
func (d *doing) checkOwn(ctx context.Context, what, name, arn string, wanted map[string]string) error {
	out, err := d.ELB.DescribeTags(ctx, &elbv2.DescribeTagsInput{ResourceArns: []string{arn}})
	if err != nil {
		return err
	}
	tags := map[string]string{}
	for _, description := range out.TagDescriptions {
		for _, tag := range description.Tags {
			tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
		}
	}
	if !d.isOwn(tags, wanted) {
		return &foreignError{what, name, arn}
	}
	return nil
}

func (d *doing) setSubnets(ctx context.Context, c steps.SetSubnets) error {
	_, err := d.ELB.SetSubnets(ctx, &elbv2.SetSubnetsInput{
		LoadBalancerArn: aws.String(c.LoadBalancer.ID), SubnetMappings: input.Subnets(c.Subnets, c.Allocations),
	})
	return err
}

func (d *doing) setSecurityGroups(ctx context.Context, c steps.SetSecurityGroups) error {
	_, err := d.ELB.SetSecurityGroups(ctx, &elbv2.SetSecurityGroupsInput{
		LoadBalancerArn: aws.String(c.LoadBalancer.ID), SecurityGroups: input.IDs(c.Groups),
	})
	return err
}

func (d *doing) setAddressType(ctx context.Context, c steps.SetAddressType) error {
	_, err := d.ELB.SetIpAddressType(ctx, &elbv2.SetIpAddressTypeInput{
		LoadBalancerArn: aws.String(c.LoadBalancer.ID), IpAddressType: types.IpAddressType(c.AddressType),
	})
	return err
}

func (d *doing) setLoadBalancerAttributes(ctx context.Context, c steps.SetLoadBalancerAttributes) error {
	_, err := d.ELB.ModifyLoadBalancerAttributes(ctx, input.ModifyLoadBalancerAttributes(c))
	return err
}

func (d *doing) setIPAMPool(ctx context.Context, c steps.SetIPAMPool) error {
	in := &elbv2.ModifyIpPoolsInput{LoadBalancerArn: aws.String(c.LoadBalancer.ID), IpamPools: input.IPAMPools(c.Pool)}
	if in.IpamPools == nil {
		in.RemoveIpamPools = []types.RemoveIpamPoolEnum{types.RemoveIpamPoolEnumIpv4}
	}
	_, err := d.ELB.ModifyIpPools(ctx, in)
	return err
}

func (d *doing) setCapacity(ctx context.Context, c steps.SetCapacity) error {
	in := &elbv2.ModifyCapacityReservationInput{LoadBalancerArn: aws.String(c.LoadBalancer.ID)}
	if c.Units == 0 {
		in.ResetCapacityReservation = aws.Bool(true)
	} else {
		in.MinimumLoadBalancerCapacity = &types.MinimumLoadBalancerCapacity{CapacityUnits: aws.Int32(c.Units)}
	}
	_, err := d.ELB.ModifyCapacityReservation(ctx, in)
	return err
}

func (d *doing) setWebACL(ctx context.Context, c steps.SetWebACL) error {
	if c.WebACL == "" {
		return d.WAF.Disassociate(ctx, c.LoadBalancer.ID)
	}
	return d.WAF.Associate(ctx, c.LoadBalancer.ID, c.WebACL)
}

func (d *doing) setClassicACL(ctx context.Context, c steps.SetClassicACL) error {
	if c.ID == "" {
		return d.WAFClassic.Disassociate(ctx, c.LoadBalancer.ID)
	}
	return d.WAFClassic.Associate(ctx, c.LoadBalancer.ID, c.ID)
}

func (d *doing) protect(ctx context.Context, c steps.Protect) error {
	return d.Shield.Protect(ctx, c.LoadBalancer.ID)
}

func (d *doing) unprotect(ctx context.Context, c steps.Unprotect) error {
	return d.Shield.Unprotect(ctx, c.ID)
}

func (d *doing) deleteLoadBalancer(ctx context.Context, c steps.DeleteLoadBalancer) error {
	_, err := d.ELB.DeleteLoadBalancer(ctx, &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: aws.String(c.LoadBalancer.ID)})
	return err
}
