// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"errors"
	"net/netip"
	"regexp"
	"strings"

	"github.com/aws/smithy-go"

	"github.com/targetgate/targetgate/aws/awserr"
)

// ZoneAll is the Availability Zone to name for an address that is in no subnet of the target group's VPC.
const ZoneAll = "all"

// ZoneOfNode stands for the Availability Zone that the target is in, for an address outside the VPC where cross-zone load
// balancing is off: AWS cannot find it out, and refuses ZoneAll. It is never sent.
const ZoneOfNode = "node"

// quotedAddress finds the address that AWS's texts about zones speak of.
var quotedAddress = regexp.MustCompile(`IP (?:address|target) '([^']+)'`)

// realZoneText is how AWS asks for one real zone.
const realZoneText = "must specify an Availability Zone for IP target"

// outsideTexts are AWS's ways to say that an address needs the zone all.
var outsideTexts = []string{"outside the VPC", "not in the VPC", "not within the VPC"}

// ZoneRefusal reads from a refused registration which address AWS wants to see registered with which zone: ZoneAll,
// ZoneOfNode, or "" for one that AWS detects itself. Address is as Health and Target name it. Of any other error ok is
// false.
//
// Only AWS knows its subnets (a VPC's address ranges are more than they cover), and this is the only place it tells.
func ZoneRefusal(err error) (address, zone string, ok bool) {
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != awserr.CodeValidation {
		return "", "", false
	}
	text := api.ErrorMessage()
	match := quotedAddress.FindStringSubmatch(text)
	if match == nil || !strings.Contains(text, "Availability Zone") {
		return "", "", false
	}
	addr, err := netip.ParseAddr(match[1])
	if err != nil {
		return "", "", false
	}
	zone, ok = wantedZone(text)
	if !ok {
		return "", "", false
	}
	return addr.String(), zone, true
}

func wantedZone(text string) (zone string, ok bool) {
	if strings.Contains(text, "is within the VPC") {
		return "", true
	}
	if strings.Contains(text, realZoneText) {
		return ZoneOfNode, true
	}
	for _, outside := range outsideTexts {
		if strings.Contains(text, outside) {
			return ZoneAll, true
		}
	}
	return "", false
}

// canonical is an ID as Target names it: AWS may spell an IPv6 address out or in upper case.
func canonical(id string) string {
	if addr, err := netip.ParseAddr(id); err == nil {
		return addr.String()
	}
	return id
}
