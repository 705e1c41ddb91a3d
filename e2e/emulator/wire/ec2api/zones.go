// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2api

import (
	"slices"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

type availabilityZoneXML struct {
	Name   string `xml:"zoneName"`
	ID     string `xml:"zoneId"`
	State  string `xml:"zoneState"`
	Type   string `xml:"zoneType"`
	Region string `xml:"regionName"`
	OptIn  string `xml:"optInStatus"`
}

// describeZones answers all zones at once: the operation has no pages.
func describeZones(q *call.Request) (any, error) {
	zones, names := q.Cloud.EC2.Zones(), q.Texts("ZoneName")
	for _, name := range names {
		if !slices.ContainsFunc(zones, func(z ec2.Zone) bool { return z.Name == name }) {
			return nil, invalidParameter("Invalid availability zone: [%s]", name)
		}
	}
	zones = slices.DeleteFunc(zones, func(z ec2.Zone) bool { return len(names) > 0 && !slices.Contains(names, z.Name) })
	return listing[ec2.Zone, availabilityZoneXML]{
		set: "availabilityZoneInfo",
		id:  func(z ec2.Zone) string { return z.Name },
		has: zoneFields,
		answer: func(z ec2.Zone) availabilityZoneXML {
			return availabilityZoneXML{z.Name, z.ID, "available", z.Type, q.Cloud.Region.Name(), "opt-in-not-required"}
		},
	}.page(q, zones)
}

func zoneFields(z ec2.Zone, filter string) (values []string, known bool) {
	switch filter {
	case "zone-name":
		return []string{z.Name}, true
	case "zone-id":
		return []string{z.ID}, true
	case "zone-type":
		return []string{z.Type}, true
	}
	return nil, false
}
