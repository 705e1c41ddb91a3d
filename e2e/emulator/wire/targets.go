// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import "github.com/targetgate/targetgate/e2e/emulator/state"

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
	TargetHealthDescriptions members[targetHealthXML]
}

// targets reads the request's list of targets and notes it in the log.
func (q *request) targets() ([]state.Target, error) {
	var targets []state.Target
	for _, entry := range q.list("Targets.member") {
		port, err := entry.number("Port")
		if err != nil {
			return nil, err
		}
		key := state.Key{ID: entry.text("Id"), Port: port}
		q.log.Targets = append(q.log.Targets, key)
		targets = append(targets, state.Target{Key: key, Zone: entry.text("AvailabilityZone")})
	}
	return targets, nil
}

// someTargets is targets for calls that need at least one.
func (q *request) someTargets() ([]state.Target, error) {
	targets, err := q.targets()
	if err == nil && len(targets) == 0 {
		err = state.Invalid("At least one target must be specified")
	}
	return targets, err
}

func registerTargets(s *Server, q *request) (any, error) {
	targets, err := q.someTargets()
	if err != nil {
		return nil, err
	}
	return struct{}{}, s.machine.Register(q.text("TargetGroupArn"), targets)
}

func deregisterTargets(s *Server, q *request) (any, error) {
	targets, err := q.someTargets()
	if err != nil {
		return nil, err
	}
	return struct{}{}, s.machine.Deregister(q.text("TargetGroupArn"), targets)
}

func describeTargetHealth(s *Server, q *request) (any, error) {
	targets, err := q.targets()
	if err != nil {
		return nil, err
	}
	lines, err := s.machine.Describe(q.text("TargetGroupArn"), targets)
	if err != nil {
		return nil, err
	}
	var answer targetHealthsXML
	for _, line := range lines[:max(0, len(lines)-q.fault.Omit)] {
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
