// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"fmt"
	"net/netip"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// networkInterface reads an interface. EC2 describes those of an instance in other types than those that are asked for themselves.
func networkInterface(i types.NetworkInterface) (Interface, error) {
	out := Interface{ID: aws.ToString(i.NetworkInterfaceId), Groups: groupIDs(i.Groups)}
	if i.Attachment != nil {
		out.DeviceIndex = aws.ToInt32(i.Attachment.DeviceIndex)
	}
	var texts, prefixes []*string
	for _, a := range i.PrivateIpAddresses {
		texts = append(texts, a.PrivateIpAddress)
	}
	for _, a := range i.Ipv6Addresses {
		texts = append(texts, a.Ipv6Address)
	}
	for _, p := range i.Ipv4Prefixes {
		prefixes = append(prefixes, p.Ipv4Prefix)
	}
	for _, p := range i.Ipv6Prefixes {
		prefixes = append(prefixes, p.Ipv6Prefix)
	}
	return out, out.readAddresses(texts, prefixes)
}

func instance(i types.Instance) (Instance, error) {
	out := Instance{ID: aws.ToString(i.InstanceId)}
	for _, each := range i.NetworkInterfaces {
		read, err := interfaceOfInstance(each)
		if err != nil {
			return Instance{}, callError("instance "+out.ID, err)
		}
		out.Interfaces = append(out.Interfaces, read)
	}
	return out, nil
}

func interfaceOfInstance(i types.InstanceNetworkInterface) (Interface, error) {
	out := Interface{ID: aws.ToString(i.NetworkInterfaceId), Groups: groupIDs(i.Groups)}
	if i.Attachment != nil {
		out.DeviceIndex = aws.ToInt32(i.Attachment.DeviceIndex)
	}
	var texts, prefixes []*string
	for _, a := range i.PrivateIpAddresses {
		texts = append(texts, a.PrivateIpAddress)
	}
	for _, a := range i.Ipv6Addresses {
		texts = append(texts, a.Ipv6Address)
	}
	for _, p := range i.Ipv4Prefixes {
		prefixes = append(prefixes, p.Ipv4Prefix)
	}
	for _, p := range i.Ipv6Prefixes {
		prefixes = append(prefixes, p.Ipv6Prefix)
	}
	return out, out.readAddresses(texts, prefixes)
}

func (i *Interface) readAddresses(addresses, prefixes []*string) error {
	for _, text := range addresses {
		address, err := netip.ParseAddr(aws.ToString(text))
		if err != nil {
			return fmt.Errorf("network interface %s: reading an address: %w", i.ID, err)
		}
		i.Addresses = append(i.Addresses, address)
	}
	for _, text := range prefixes {
		prefix, err := netip.ParsePrefix(aws.ToString(text))
		if err != nil {
			return fmt.Errorf("network interface %s: reading a prefix: %w", i.ID, err)
		}
		i.Prefixes = append(i.Prefixes, prefix.Masked())
	}
	return nil
}

func groupIDs(groups []types.GroupIdentifier) (ids []string) {
	for _, g := range groups {
		ids = append(ids, aws.ToString(g.GroupId))
	}
	return ids
}
