// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/base64"
	"fmt"
	"strconv"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

type groupXML struct {
	TargetGroupArn             string
	TargetGroupName            string
	Protocol                   string `xml:",omitempty"`
	ProtocolVersion            string `xml:",omitempty"`
	Port                       int    `xml:",omitempty"`
	VpcID                      string `xml:"VpcId,omitempty"`
	HealthCheckProtocol        string `xml:",omitempty"`
	HealthCheckPort            string `xml:",omitempty"`
	HealthCheckEnabled         bool
	HealthCheckIntervalSeconds int
	HealthCheckTimeoutSeconds  int
	HealthyThresholdCount      int
	UnhealthyThresholdCount    int
	HealthCheckPath            string      `xml:",omitempty"`
	Matcher                    *matcherXML `xml:",omitempty"`
	LoadBalancerArns           members[string]
	TargetType                 string
	IPAddressType              string `xml:"IpAddressType,omitempty"`
	TargetControlPort          int    `xml:",omitempty"`
}

type matcherXML struct {
	HTTPCode string `xml:"HttpCode,omitempty"`
	GRPCCode string `xml:"GrpcCode,omitempty"`
}

type groupsXML struct {
	TargetGroups members[groupXML]
	NextMarker   string `xml:",omitempty"`
}

func groupAnswer(g state.Group) groupXML {
	c := g.HealthCheck
	answer := groupXML{
		TargetGroupArn:             g.ARN,
		TargetGroupName:            g.Name,
		Protocol:                   g.Protocol,
		ProtocolVersion:            g.ProtocolVersion,
		Port:                       g.Port,
		VpcID:                      g.VPC,
		HealthCheckProtocol:        c.Protocol,
		HealthCheckPort:            c.Port,
		HealthCheckEnabled:         !c.Disabled,
		HealthCheckIntervalSeconds: c.Interval,
		HealthCheckTimeoutSeconds:  c.Timeout,
		HealthyThresholdCount:      c.HealthyThreshold,
		UnhealthyThresholdCount:    c.UnhealthyThreshold,
		HealthCheckPath:            c.Path,
		LoadBalancerArns:           members[string]{g.LoadBalancers},
		TargetType:                 g.TargetType,
		IPAddressType:              g.AddressType,
		TargetControlPort:          g.ControlPort,
	}
	switch {
	case g.ProtocolVersion == state.VersionGRPC:
		answer.Matcher = &matcherXML{GRPCCode: c.Matcher}
	case c.Matcher != "":
		answer.Matcher = &matcherXML{HTTPCode: c.Matcher}
	}
	return answer
}

func oneGroup(g state.Group, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return groupsXML{TargetGroups: members[groupXML]{[]groupXML{groupAnswer(g)}}}, nil
}

// checkParams reads the health check settings of CreateTargetGroup and ModifyTargetGroup for a group of a protocol version.
func (q *request) checkParams(version string) (state.HealthCheck, error) {
	matcher, other := "Matcher.HttpCode", "Matcher.GrpcCode"
	if version == state.VersionGRPC {
		matcher, other = other, matcher
	}
	if q.text(other) != "" {
		return state.HealthCheck{}, state.Invalid("%s cannot be specified for protocol version '%s'", other, version)
	}
	check := state.HealthCheck{
		Protocol: q.text("HealthCheckProtocol"),
		Port:     q.text("HealthCheckPort"),
		Path:     q.text("HealthCheckPath"),
		Matcher:  q.text(matcher),
	}
	for name, field := range map[string]*int{
		"HealthCheckIntervalSeconds": &check.Interval,
		"HealthCheckTimeoutSeconds":  &check.Timeout,
		"HealthyThresholdCount":      &check.HealthyThreshold,
		"UnhealthyThresholdCount":    &check.UnhealthyThreshold,
	} {
		n, err := q.number(name)
		if err != nil {
			return check, err
		}
		*field = n
	}
	return check, nil
}

// checkEnabled refuses the one health check setting that cannot be changed here.
func (q *request) checkEnabled(targetType string) error {
	enabled := q.text("HealthCheckEnabled")
	switch {
	case targetType == state.TypeLambda && enabled == "true":
		return state.Refuse("InvalidConfigurationRequest", "Health checks of Lambda functions are not emulated")
	case targetType != state.TypeLambda && enabled == "false":
		return state.Refuse("InvalidConfigurationRequest",
			"Health check enabled must be true for target groups with target type '%s'", targetType)
	}
	return nil
}

func createTargetGroup(s *Server, q *request) (any, error) {
	check, err := q.checkParams(q.text("ProtocolVersion"))
	if err != nil {
		return nil, err
	}
	port, err := q.number("Port")
	if err != nil {
		return nil, err
	}
	control, err := q.number("TargetControlPort")
	if err != nil {
		return nil, err
	}
	spec := state.GroupSpec{
		Name:            q.text("Name"),
		Protocol:        q.text("Protocol"),
		ProtocolVersion: q.text("ProtocolVersion"),
		Port:            port,
		VPC:             q.text("VpcId"),
		TargetType:      q.text("TargetType"),
		AddressType:     q.text("IpAddressType"),
		HealthCheck:     check,
		ControlPort:     control,
	}
	if err := q.checkEnabled(spec.TargetType); err != nil {
		return nil, err
	}
	tags, err := q.tagParams()
	if err != nil {
		return nil, err
	}
	return oneGroup(s.machine.CreateTaggedGroup(q.caller.account, spec, tags))
}

func deleteTargetGroup(s *Server, q *request) (any, error) {
	return struct{}{}, s.machine.DeleteGroup(q.text("TargetGroupArn"))
}

func modifyTargetGroup(s *Server, q *request) (any, error) {
	groups, err := s.machine.Groups(state.GroupFilter{Account: q.caller.account, ARNs: []string{q.text("TargetGroupArn")}})
	if err != nil {
		return nil, err
	}
	if err := q.checkEnabled(groups[0].TargetType); err != nil {
		return nil, err
	}
	check, err := q.checkParams(groups[0].ProtocolVersion)
	if err != nil {
		return nil, err
	}
	return oneGroup(s.machine.ModifyGroup(groups[0].ARN, check))
}

func describeTargetGroups(s *Server, q *request) (any, error) {
	filter := state.GroupFilter{
		Account:      q.caller.account,
		ARNs:         q.texts("TargetGroupArns.member"),
		Names:        q.texts("Names.member"),
		LoadBalancer: q.text("LoadBalancerArn"),
	}
	if ambiguous(filter) {
		return nil, state.Invalid("Target group names, target group ARNs and a load balancer ARN cannot be specified at the same time")
	}
	groups, err := s.machine.Groups(filter)
	if err != nil {
		return nil, err
	}
	groups, next, err := page(q, groups)
	if err != nil {
		return nil, err
	}
	answer := groupsXML{NextMarker: next}
	for _, g := range groups {
		answer.TargetGroups.Members = append(answer.TargetGroups.Members, groupAnswer(g))
	}
	return answer, nil
}

// ambiguous says whether a filter asks in more than one way.
func ambiguous(f state.GroupFilter) bool {
	ways := 0
	for _, used := range []bool{len(f.ARNs) > 0, len(f.Names) > 0, f.LoadBalancer != ""} {
		if used {
			ways++
		}
	}
	return ways > 1
}

const largestPage = 400

// page cuts the page out of a list that Marker and PageSize ask for; next is the marker of the one after it.
func page[T any](q *request, all []T) (part []T, next string, err error) {
	size, err := q.number("PageSize")
	if err != nil {
		return nil, "", err
	}
	if size > largestPage {
		return nil, "", state.Unfit("pageSize", size, fmt.Sprintf("have value less than or equal to %d", largestPage))
	}
	if size == 0 {
		size = largestPage
	}
	start, err := position(q.text("Marker"))
	if err != nil {
		return nil, "", err
	}
	start = min(start, len(all))
	end := min(start+size, len(all))
	if end < len(all) {
		next = base64.StdEncoding.EncodeToString([]byte(strconv.Itoa(end)))
	}
	return all[start:end], next, nil
}

func position(marker string) (int, error) {
	if marker == "" {
		return 0, nil
	}
	text, err := base64.StdEncoding.DecodeString(marker)
	if err != nil {
		return 0, state.Invalid("Invalid marker '%s'", marker)
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 0 {
		return 0, state.Invalid("Invalid marker '%s'", marker)
	}
	return n, nil
}
