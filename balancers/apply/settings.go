// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/targetgate/targetgate/balancers/apply/input"
	"github.com/targetgate/targetgate/balancers/steps"
)

// settings sets those of load balancers that take a call each.
type settings struct {
	ELB             LoadBalancers
	WAF, WAFClassic WebACLs
}

func (s settings) set(ctx context.Context, c steps.Set) (err error) {
	arn := aws.String(c.LoadBalancer.ID)
	switch c.Setting {
	case steps.AddressType:
		_, err = s.ELB.SetIpAddressType(ctx, &elbv2.SetIpAddressTypeInput{LoadBalancerArn: arn, IpAddressType: types.IpAddressType(c.Value)})
	case steps.IPAMPool:
		in := &elbv2.ModifyIpPoolsInput{LoadBalancerArn: arn, IpamPools: input.IPAMPools(c.Value)}
		if in.IpamPools == nil {
			in.RemoveIpamPools = []types.RemoveIpamPoolEnum{types.RemoveIpamPoolEnumIpv4}
		}
		_, err = s.ELB.ModifyIpPools(ctx, in)
	case steps.Capacity:
		return s.setCapacity(ctx, arn, c.Value)
	case steps.WebACL:
		return associate(ctx, s.WAF, c)
	case steps.ClassicACL:
		return associate(ctx, s.WAFClassic, c)
	default:
		err = refuse(fmt.Errorf("the setting %s is not known", c.Setting))
	}
	return err
}

func (s settings) setCapacity(ctx context.Context, arn *string, value string) error {
	units, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		return refuse(err)
	}
	in := &elbv2.ModifyCapacityReservationInput{LoadBalancerArn: arn}
	if units == 0 {
		in.ResetCapacityReservation = aws.Bool(true)
	} else {
		in.MinimumLoadBalancerCapacity = &types.MinimumLoadBalancerCapacity{CapacityUnits: aws.Int32(int32(units))}
	}
	_, err = s.ELB.ModifyCapacityReservation(ctx, in)
	return err
}

func associate(ctx context.Context, acls WebACLs, c steps.Set) error {
	if c.Value == "" {
		return acls.Disassociate(ctx, c.LoadBalancer.ID)
	}
	return acls.Associate(ctx, c.LoadBalancer.ID, c.Value)
}
