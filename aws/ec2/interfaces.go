// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"context"
	"maps"
	"net/netip"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/targetgate/targetgate/aws/budget"
)

const (
	// MaxAddressesPerCall is how many addresses one call names at most: with the VPC these are the 200 values of filters that EC2
	// takes.
	MaxAddressesPerCall = 199

	// pageSize is how many interfaces EC2 describes in a page at most.
	pageSize = 1000
)

// Interfaces describes the network interfaces of the IDs, each once, in no particular order; those that do not exist, or cannot, are
// left out. Without IDs it makes no call. The calls name MaxIDsPerCall each, and are tried again as often as MaxRetries of
// accounts.Settings says, for budget.ClassAdmission less often. An ID that does not exist costs one call more, or where EC2 does not
// name it 2*log2(MaxIDsPerCall).
func (c *Client) Interfaces(ctx context.Context, class budget.Class, ids []string) ([]Interface, error) {
	return find(ctx, c, class, ids, lookup[Interface]{
		doing:   "describing network interfaces",
		unknown: []string{"InvalidNetworkInterfaceID.NotFound", "InvalidNetworkInterfaceID.Malformed", "InvalidNetworkInterfaceId.Malformed"},
		pages: func(ctx context.Context, ids []string) ([]Interface, error) {
			return c.interfaces(ctx, class, &awsec2.DescribeNetworkInterfacesInput{NetworkInterfaceIds: ids})
		},
	})
}

// InterfacesByAddress describes the network interfaces of the VPC that have one of the addresses, each once, in no particular order;
// addresses that no interface has are left out, as are those in prefixes that are delegated to an interface. Without addresses it makes
// no call. The calls name MaxAddressesPerCall of one family each, and are tried again as those of Interfaces.
func (c *Client) InterfacesByAddress(ctx context.Context, class budget.Class, vpc string, addresses []netip.Addr) ([]Interface, error) {
	const doing = "describing network interfaces by address"
	v4, v6 := families(addresses)
	if len(v4)+len(v6) == 0 {
		return nil, nil
	}
	ctx, err := c.session.Prepare(ctx, class, c.tenant)
	if err != nil {
		return nil, callError(doing, err)
	}
	found := map[string]Interface{}
	search := func(filter string, addresses []string) error {
		for some := range slices.Chunk(addresses, MaxAddressesPerCall) {
			page, err := c.interfaces(ctx, class, &awsec2.DescribeNetworkInterfacesInput{
				MaxResults: aws.Int32(pageSize),
				Filters: []types.Filter{
					{Name: aws.String("vpc-id"), Values: []string{vpc}}, {Name: aws.String(filter), Values: some},
				},
			})
			if err != nil {
				return callError(doing, err)
			}
			for _, i := range page {
				found[i.ID] = i
			}
		}
		return nil
	}
	if err := search("addresses.private-ip-address", v4); err != nil {
		return nil, err
	}
	if err := search("ipv6-addresses.ipv6-address", v6); err != nil {
		return nil, err
	}
	return slices.Collect(maps.Values(found)), nil
}

// families are the texts of the addresses, each once.
func families(addresses []netip.Addr) (v4, v6 []string) {
	seen := map[netip.Addr]bool{}
	for _, address := range addresses {
		address = address.Unmap().WithZone("")
		switch {
		case seen[address] || !address.IsValid():
		case address.Is4():
			v4 = append(v4, address.String())
		default:
			v6 = append(v6, address.String())
		}
		seen[address] = true
	}
	return v4, v6
}

// interfaces follows the pages of a call.
func (c *Client) interfaces(
	ctx context.Context, class budget.Class, in *awsec2.DescribeNetworkInterfacesInput,
) (out []Interface, err error) {
	pages := awsec2.NewDescribeNetworkInterfacesPaginator(c.api, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx, attempts(class)...)
		if err != nil {
			return nil, err
		}
		if out, err = appendRead(out, page.NetworkInterfaces, networkInterface); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Instances describes the instances of the IDs with their network interfaces, in no particular order. It is else as Interfaces.
func (c *Client) Instances(ctx context.Context, class budget.Class, ids []string) ([]Instance, error) {
	return find(ctx, c, class, ids, lookup[Instance]{
		doing:   "describing instances",
		unknown: []string{"InvalidInstanceID.NotFound", "InvalidInstanceID.Malformed"},
		pages: func(ctx context.Context, ids []string) ([]Instance, error) {
			return c.instances(ctx, class, ids)
		},
	})
}

func (c *Client) instances(ctx context.Context, class budget.Class, ids []string) (out []Instance, err error) {
	pages := awsec2.NewDescribeInstancesPaginator(c.api, &awsec2.DescribeInstancesInput{InstanceIds: ids})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx, attempts(class)...)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Reservations {
			if out, err = appendRead(out, r.Instances, instance); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}
