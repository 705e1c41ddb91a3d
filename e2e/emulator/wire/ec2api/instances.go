// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2api

import (
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

type instanceStateXML struct {
	Code int    `xml:"code"`
	Name string `xml:"name"`
}

var (
	running = instanceStateXML{16, "running"}
	stopped = instanceStateXML{80, "stopped"}
)

type placementXML struct {
	Zone string `xml:"availabilityZone"`
}

type instanceXML struct {
	ID         string              `xml:"instanceId"`
	State      instanceStateXML    `xml:"instanceState"`
	Address    string              `xml:"privateIpAddress"`
	VpcID      string              `xml:"vpcId,omitempty"`
	Placement  placementXML        `xml:"placement"`
	Groups     items[groupIDXML]   `xml:"groupSet"`
	Interfaces items[interfaceXML] `xml:"networkInterfaceSet"`
}

type reservationXML struct {
	OwnerID   string             `xml:"ownerId"`
	Instances items[instanceXML] `xml:"instancesSet"`
}

var instanceListing = listing[ec2.DescribedInstance, reservationXML]{
	set:    "reservationSet",
	id:     func(i ec2.DescribedInstance) string { return i.ID },
	has:    instanceFields,
	answer: reservationAnswer,
}

func describeInstances(q *call.Request) (any, error) {
	if err := eitherIDs(q, "InstanceId"); err != nil {
		return nil, err
	}
	instances, err := q.Cloud.EC2.DescribeInstances(q.Caller.Account, q.Texts("InstanceId")...)
	if err != nil {
		return nil, err
	}
	return instanceListing.page(q, instances)
}

func instanceFields(i ec2.DescribedInstance, filter string) (values []string, known bool) {
	switch filter {
	case "instance-id":
		return []string{i.ID}, true
	case "vpc-id":
		for _, of := range i.Interfaces {
			values = append(values, of.VPC)
		}
		return values, true
	}
	return nil, false
}

// reservationAnswer has each instance in a reservation of its own.
func reservationAnswer(i ec2.DescribedInstance) reservationXML {
	return reservationXML{i.Account, items[instanceXML]{[]instanceXML{instanceAnswer(i)}}}
}

func instanceAnswer(i ec2.DescribedInstance) instanceXML {
	answer := instanceXML{ID: i.ID, State: stopped, Address: i.Address, Placement: placementXML{i.Zone}}
	if i.Running {
		answer.State = running
	}
	for _, of := range i.Interfaces {
		shown := interfaceAnswer(of)
		shown.Attachment.InstanceID = ""
		answer.Interfaces.Items = append(answer.Interfaces.Items, shown)
		if of.DeviceIndex == 0 {
			answer.VpcID, answer.Groups = of.VPC, shown.Groups
		}
	}
	return answer
}
