// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2api

import (
	"encoding/xml"
	"net/netip"
	"slices"
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

type items[T any] struct {
	Items []T `xml:"item"`
}

type cidrStateXML struct {
	State string `xml:"state"`
}

type cidrXML struct {
	AssociationID string       `xml:"associationId"`
	CIDR          string       `xml:"cidrBlock"`
	State         cidrStateXML `xml:"cidrBlockState"`
}

type cidr6XML struct {
	AssociationID string       `xml:"associationId"`
	CIDR          string       `xml:"ipv6CidrBlock"`
	State         cidrStateXML `xml:"ipv6CidrBlockState"`
}

type vpcXML struct {
	VpcID     string          `xml:"vpcId"`
	OwnerID   string          `xml:"ownerId"`
	State     string          `xml:"state"`
	CIDR      string          `xml:"cidrBlock"`
	CIDRs     items[cidrXML]  `xml:"cidrBlockAssociationSet"`
	CIDR6s    items[cidr6XML] `xml:"ipv6CidrBlockAssociationSet"`
	IsDefault bool            `xml:"isDefault"`
}

type vpcSetXML struct {
	XMLName xml.Name `xml:"vpcSet"`
	items[vpcXML]
}

func vpcAnswer(v ec2.VPC, owner string) vpcXML {
	answer := vpcXML{VpcID: v.ID, OwnerID: owner, State: "available"}
	associated := cidrStateXML{"associated"}
	for _, cidr := range v.CIDRs {
		id := "vpc-cidr-assoc-" + strings.TrimPrefix(v.ID, "vpc-") + "-" + cidr.Masked().Addr().String()
		if !cidr.Addr().Is4() {
			answer.CIDR6s.Items = append(answer.CIDR6s.Items, cidr6XML{id, cidr.String(), associated})
			continue
		}
		answer.CIDRs.Items = append(answer.CIDRs.Items, cidrXML{id, cidr.String(), associated})
	}
	answer.CIDR = firstIPv4(v.CIDRs)
	return answer
}

func firstIPv4(cidrs []netip.Prefix) string {
	for _, cidr := range cidrs {
		if cidr.Addr().Is4() {
			return cidr.String()
		}
	}
	return ""
}

func describeVpcs(q *call.Request) (any, error) {
	vpcs, err := q.Cloud.EC2.VPCs(q.Caller.Account, q.Texts("VpcId")...)
	if err != nil {
		return nil, err
	}
	for _, filter := range q.List("Filter") {
		if filter.Text("Name") != "vpc-id" {
			return nil, refusal.New("InvalidParameterValue", "The filter '%s' is invalid", filter.Text("Name"))
		}
		wanted := filter.Texts("Value")
		vpcs = slices.DeleteFunc(vpcs, func(v ec2.VPC) bool { return !slices.Contains(wanted, v.ID) })
	}
	var answer vpcSetXML
	for _, v := range vpcs {
		answer.Items = append(answer.Items, vpcAnswer(v, q.Caller.Account))
	}
	return answer, nil
}
