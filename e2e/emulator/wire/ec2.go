// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/xml"
	"net/netip"
	"slices"
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/state"
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

func vpcAnswer(v state.VPC, owner string) vpcXML {
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

func describeVpcs(s *Server, q *request) (any, error) {
	vpcs, err := s.machine.VPCs(q.caller.account, q.texts("VpcId")...)
	if err != nil {
		return nil, err
	}
	for _, filter := range q.list("Filter") {
		if filter.text("Name") != "vpc-id" {
			return nil, state.Refuse("InvalidParameterValue", "The filter '%s' is invalid", filter.text("Name"))
		}
		wanted := filter.texts("Value")
		vpcs = slices.DeleteFunc(vpcs, func(v state.VPC) bool { return !slices.Contains(wanted, v.ID) })
	}
	var answer vpcSetXML
	for _, v := range vpcs {
		answer.Items = append(answer.Items, vpcAnswer(v, q.caller.account))
	}
	return answer, nil
}
