// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2api

import (
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

type addressXML struct {
	Address string `xml:"privateIpAddress"`
	Primary bool   `xml:"primary"`
}

type address6XML struct {
	Address string `xml:"ipv6Address"`
}

type prefixXML struct {
	Prefix string `xml:"ipv4Prefix"`
}

type prefix6XML struct {
	Prefix string `xml:"ipv6Prefix"`
}

type groupIDXML struct {
	GroupID string `xml:"groupId"`
}

type attachmentXML struct {
	InstanceID  string `xml:"instanceId,omitempty"` // not below an instance
	DeviceIndex int    `xml:"deviceIndex"`
	Status      string `xml:"status"`
}

type interfaceXML struct {
	ID         string             `xml:"networkInterfaceId"`
	VpcID      string             `xml:"vpcId"`
	OwnerID    string             `xml:"ownerId"`
	Status     string             `xml:"status"`
	Address    string             `xml:"privateIpAddress,omitempty"`
	Addresses  items[addressXML]  `xml:"privateIpAddressesSet"`
	Address6s  items[address6XML] `xml:"ipv6AddressesSet"`
	Prefixes   items[prefixXML]   `xml:"ipv4PrefixSet"`
	Prefix6s   items[prefix6XML]  `xml:"ipv6PrefixSet"`
	Groups     items[groupIDXML]  `xml:"groupSet"`
	Attachment *attachmentXML     `xml:"attachment"`
}

var interfaceListing = listing[ec2.Interface, interfaceXML]{
	set:    "networkInterfaceSet",
	id:     func(i ec2.Interface) string { return i.ID },
	has:    interfaceFields,
	answer: interfaceAnswer,
}

func describeNetworkInterfaces(q *call.Request) (any, error) {
	if err := eitherIDs(q, "NetworkInterfaceId"); err != nil {
		return nil, err
	}
	interfaces, err := q.Cloud.EC2.DescribeInterfaces(q.Caller.Account, q.Texts("NetworkInterfaceId")...)
	if err != nil {
		return nil, err
	}
	return interfaceListing.page(q, interfaces)
}

// interfaceFields compares addresses as text, and knows no prefixes, as EC2 does.
func interfaceFields(i ec2.Interface, filter string) (values []string, known bool) {
	switch filter {
	case "vpc-id":
		return []string{i.VPC}, true
	case "group-id":
		return i.Groups, true
	case "network-interface-id":
		return []string{i.ID}, true
	case "attachment.instance-id":
		return []string{i.Instance}, true
	case "addresses.private-ip-address", "ipv6-addresses.ipv6-address":
		for _, addr := range i.Addresses {
			if addr.Is4() == (filter == "addresses.private-ip-address") {
				values = append(values, addr.String())
			}
		}
		return values, true
	}
	return nil, false
}

func interfaceAnswer(i ec2.Interface) interfaceXML {
	answer := interfaceXML{ID: i.ID, VpcID: i.VPC, OwnerID: i.Account, Status: "available"}
	for _, addr := range i.Addresses {
		if !addr.Is4() {
			answer.Address6s.Items = append(answer.Address6s.Items, address6XML{addr.String()})
			continue
		}
		primary := len(answer.Addresses.Items) == 0
		answer.Addresses.Items = append(answer.Addresses.Items, addressXML{addr.String(), primary})
	}
	if len(answer.Addresses.Items) > 0 {
		answer.Address = answer.Addresses.Items[0].Address
	}
	for _, prefix := range i.Prefixes {
		if prefix.Addr().Is4() {
			answer.Prefixes.Items = append(answer.Prefixes.Items, prefixXML{prefix.String()})
		} else {
			answer.Prefix6s.Items = append(answer.Prefix6s.Items, prefix6XML{prefix.String()})
		}
	}
	for _, id := range i.Groups {
		answer.Groups.Items = append(answer.Groups.Items, groupIDXML{id})
	}
	if i.Instance != "" {
		answer.Status = "in-use"
		answer.Attachment = &attachmentXML{i.Instance, i.DeviceIndex, "attached"}
	}
	return answer
}
