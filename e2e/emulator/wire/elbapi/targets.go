// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbapi

import (
	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

type targetXML struct {
	ID               string `xml:"Id"`
	Port             int    `xml:",omitempty"`
	AvailabilityZone string `xml:",omitempty"`
}

type healthXML struct {
	State       string
	Reason      string `xml:",omitempty"`
	Description string `xml:",omitempty"`
}

type targetHealthXML struct {
	Target          targetXML
	HealthCheckPort string `xml:",omitempty"`
	TargetHealth    healthXML
}

type targetHealthsXML struct {
	TargetHealthDescriptions call.Members[targetHealthXML]
}

// targets reads the request's list of targets and notes it in the log.
func targets(q *call.Request) ([]state.Target, error) {
	var targets []state.Target
	for _, entry := range q.List("Targets.member") {
		port, err := entry.Number("Port")
		if err != nil {
			return nil, err
		}
		key := state.Key{ID: entry.Text("Id"), Port: port}
		q.Targets = append(q.Targets, key)
		targets = append(targets, state.Target{Key: key, Zone: entry.Text("AvailabilityZone")})
	}
	return targets, nil
}

// someTargets is targets for calls that need at least one.
func someTargets(q *call.Request) ([]state.Target, error) {
	targets, err := targets(q)
	if err == nil && len(targets) == 0 {
		err = refusal.Invalid("At least one target must be specified")
	}
	return targets, err
}

func registerTargets(q *call.Request) (any, error) {
	targets, err := someTargets(q)
	if err != nil {
		return nil, err
	}
	return struct{}{}, q.Cloud.ELB.Register(q.Text("TargetGroupArn"), targets)
}

func deregisterTargets(q *call.Request) (any, error) {
	targets, err := someTargets(q)
	if err != nil {
		return nil, err
	}
	return struct{}{}, q.Cloud.ELB.Deregister(q.Text("TargetGroupArn"), targets)
}

func describeTargetHealth(q *call.Request) (any, error) {
	targets, err := targets(q)
	if err != nil {
		return nil, err
	}
	lines, err := q.Cloud.ELB.Describe(q.Text("TargetGroupArn"), targets)
	if err != nil {
		return nil, err
	}
	var answer targetHealthsXML
	for _, line := range lines[:max(0, len(lines)-q.Omit)] {
		answer.TargetHealthDescriptions.Members = append(answer.TargetHealthDescriptions.Members, healthAnswer(line))
	}
	return answer, nil
}

func healthAnswer(line state.TargetHealth) targetHealthXML {
	return targetHealthXML{
		Target:          targetXML{line.ID, line.Port, line.Zone},
		HealthCheckPort: line.CheckPort,
		TargetHealth:    healthXML{string(line.State), string(line.Reason), line.Description},
	}
}
