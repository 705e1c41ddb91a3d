// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"net/netip"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/targetgate/targetgate/aws/ec2"
)

// DescribeInstances describes the instances of the IDs, or all. It knows no filters.
func (a *API) DescribeInstances(ctx context.Context, in *awsec2.DescribeInstancesInput, _ ...func(*awsec2.Options)) (
	*awsec2.DescribeInstancesOutput, error,
) {
	if err := a.begin(ctx, describeCall("DescribeInstances", in.InstanceIds, in.Filters)); err != nil {
		return nil, err
	}
	if len(in.InstanceIds) > 0 && in.MaxResults != nil {
		return nil, refusal("InvalidParameterCombination", "The parameter instancesSet cannot be used with the parameter maxResults")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	found, err := choose(a.instances, in.InstanceIds, kinds["i"])
	if err != nil {
		return nil, err
	}
	found, next, err := page(found, a.PageSize, in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	out := &awsec2.DescribeInstancesOutput{NextToken: next}
	for _, i := range found { // each was started by a call of its own
		out.Reservations = append(out.Reservations, types.Reservation{Instances: []types.Instance{instance(i)}})
	}
	return out, nil
}

// DescribeNetworkInterfaces describes the network interfaces of the IDs, or all, as far as filters by VPC and address let
// them through.
func (a *API) DescribeNetworkInterfaces(
	ctx context.Context, in *awsec2.DescribeNetworkInterfacesInput, _ ...func(*awsec2.Options),
) (*awsec2.DescribeNetworkInterfacesOutput, error) {
	call := describeCall("DescribeNetworkInterfaces", in.NetworkInterfaceIds, in.Filters)
	if err := a.begin(ctx, call); err != nil {
		return nil, err
	}
	if len(in.NetworkInterfaceIds) > 0 && in.MaxResults != nil {
		return nil, refusal("InvalidParameterCombination", "The parameter networkInterfaceSet cannot be used with the parameter maxResults")
	}
	if err := refusedFilters(call.Filters); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	found, err := choose(a.interfaces, in.NetworkInterfaceIds, kinds["eni"])
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(i networkInterface) bool { return !i.passes(call.Filters) })
	found, next, err := page(found, a.PageSize, in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	out := &awsec2.DescribeNetworkInterfacesOutput{NextToken: next}
	for _, i := range found {
		out.NetworkInterfaces = append(out.NetworkInterfaces, describe(i))
	}
	return out, nil
}

// passes reports whether each filter has a value of the interface's.
func (i networkInterface) passes(filters map[string][]string) bool {
	values := map[string][]string{"vpc-id": {i.vpc}}
	for _, address := range i.Addresses {
		name := addressFilter(address)
		values[name] = append(values[name], address.String())
	}
	for name, wanted := range filters {
		if !slices.ContainsFunc(values[name], func(value string) bool { return slices.Contains(wanted, value) }) {
			return false
		}
	}
	return true
}

func addressFilter(address netip.Addr) string {
	if address.Is4() {
		return "addresses.private-ip-address"
	}
	return "ipv6-addresses.ipv6-address"
}

func describe(i networkInterface) types.NetworkInterface {
	out := types.NetworkInterface{NetworkInterfaceId: aws.String(i.ID), VpcId: aws.String(i.vpc), Groups: groupsOf(i.Groups)}
	if i.DeviceIndex != 0 {
		out.Attachment = &types.NetworkInterfaceAttachment{DeviceIndex: aws.Int32(i.DeviceIndex)}
	}
	for _, address := range i.Addresses {
		if text := aws.String(address.String()); address.Is4() {
			out.PrivateIpAddresses = append(out.PrivateIpAddresses, types.NetworkInterfacePrivateIpAddress{PrivateIpAddress: text})
		} else {
			out.Ipv6Addresses = append(out.Ipv6Addresses, types.NetworkInterfaceIpv6Address{Ipv6Address: text})
		}
	}
	for _, prefix := range i.Prefixes {
		if text := aws.String(prefix.String()); prefix.Addr().Is4() {
			out.Ipv4Prefixes = append(out.Ipv4Prefixes, types.Ipv4PrefixSpecification{Ipv4Prefix: text})
		} else {
			out.Ipv6Prefixes = append(out.Ipv6Prefixes, types.Ipv6PrefixSpecification{Ipv6Prefix: text})
		}
	}
	return out
}

func instance(i ec2.Instance) types.Instance {
	out := types.Instance{InstanceId: aws.String(i.ID)}
	for _, each := range i.Interfaces {
		out.NetworkInterfaces = append(out.NetworkInterfaces, attached(each))
	}
	return out
}

func attached(i ec2.Interface) types.InstanceNetworkInterface {
	out := types.InstanceNetworkInterface{
		NetworkInterfaceId: aws.String(i.ID), Groups: groupsOf(i.Groups),
		Attachment: &types.InstanceNetworkInterfaceAttachment{DeviceIndex: aws.Int32(i.DeviceIndex)},
	}
	for _, address := range i.Addresses {
		if text := aws.String(address.String()); address.Is4() {
			out.PrivateIpAddresses = append(out.PrivateIpAddresses, types.InstancePrivateIpAddress{PrivateIpAddress: text})
		} else {
			out.Ipv6Addresses = append(out.Ipv6Addresses, types.InstanceIpv6Address{Ipv6Address: text})
		}
	}
	for _, prefix := range i.Prefixes {
		if text := aws.String(prefix.String()); prefix.Addr().Is4() {
			out.Ipv4Prefixes = append(out.Ipv4Prefixes, types.InstanceIpv4Prefix{Ipv4Prefix: text})
		} else {
			out.Ipv6Prefixes = append(out.Ipv6Prefixes, types.InstanceIpv6Prefix{Ipv6Prefix: text})
		}
	}
	return out
}

func groupsOf(ids []string) (out []types.GroupIdentifier) {
	for _, id := range ids {
		out = append(out, types.GroupIdentifier{GroupId: aws.String(id)})
	}
	return out
}
