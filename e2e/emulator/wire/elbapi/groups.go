// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbapi

import (
	"encoding/base64"
	"fmt"
	"strconv"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
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
	LoadBalancerArns           call.Members[string]
	TargetType                 string
	IPAddressType              string `xml:"IpAddressType,omitempty"`
	TargetControlPort          int    `xml:",omitempty"`
}

type matcherXML struct {
	HTTPCode string `xml:"HttpCode,omitempty"`
	GRPCCode string `xml:"GrpcCode,omitempty"`
}

type groupsXML struct {
	TargetGroups call.Members[groupXML]
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
		LoadBalancerArns:           call.Members[string]{Members: g.LoadBalancers},
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
	return groupsXML{TargetGroups: call.Members[groupXML]{Members: []groupXML{groupAnswer(g)}}}, nil
}

// checkParams reads the health check settings of CreateTargetGroup and ModifyTargetGroup for a group of a protocol version.
func checkParams(q *call.Request, version string) (state.HealthCheck, error) {
	matcher, other := "Matcher.HttpCode", "Matcher.GrpcCode"
	if version == state.VersionGRPC {
		matcher, other = other, matcher
	}
	if q.Text(other) != "" {
		return state.HealthCheck{}, refusal.Invalid("%s cannot be specified for protocol version '%s'", other, version)
	}
	check := state.HealthCheck{
		Protocol: q.Text("HealthCheckProtocol"),
		Port:     q.Text("HealthCheckPort"),
		Path:     q.Text("HealthCheckPath"),
		Matcher:  q.Text(matcher),
	}
	for name, field := range map[string]*int{
		"HealthCheckIntervalSeconds": &check.Interval,
		"HealthCheckTimeoutSeconds":  &check.Timeout,
		"HealthyThresholdCount":      &check.HealthyThreshold,
		"UnhealthyThresholdCount":    &check.UnhealthyThreshold,
	} {
		n, err := q.Number(name)
		if err != nil {
			return check, err
		}
		*field = n
	}
	return check, nil
}

// checkEnabled refuses the one health check setting that cannot be changed here.
func checkEnabled(q *call.Request, targetType string) error {
	enabled := q.Text("HealthCheckEnabled")
	switch {
	case targetType == state.TypeLambda && enabled == "true":
		return refusal.New("InvalidConfigurationRequest", "Health checks of Lambda functions are not emulated")
	case targetType != state.TypeLambda && enabled == "false":
		return refusal.New("InvalidConfigurationRequest",
			"Health check enabled must be true for target groups with target type '%s'", targetType)
	}
	return nil
}

func createTargetGroup(q *call.Request) (any, error) {
	check, err := checkParams(q, q.Text("ProtocolVersion"))
	if err != nil {
		return nil, err
	}
	port, err := q.Number("Port")
	if err != nil {
		return nil, err
	}
	control, err := q.Number("TargetControlPort")
	if err != nil {
		return nil, err
	}
	spec := state.GroupSpec{
		Name:            q.Text("Name"),
		Protocol:        q.Text("Protocol"),
		ProtocolVersion: q.Text("ProtocolVersion"),
		Port:            port,
		VPC:             q.Text("VpcId"),
		TargetType:      q.Text("TargetType"),
		AddressType:     q.Text("IpAddressType"),
		HealthCheck:     check,
		ControlPort:     control,
	}
	if err := checkEnabled(q, spec.TargetType); err != nil {
		return nil, err
	}
	tags, err := call.Tags(q)
	if err != nil {
		return nil, err
	}
	return oneGroup(q.Cloud.ELB.CreateTaggedGroup(q.Caller.Account, spec, tags))
}

func deleteTargetGroup(q *call.Request) (any, error) {
	return struct{}{}, q.Cloud.ELB.DeleteGroup(q.Text("TargetGroupArn"))
}

func modifyTargetGroup(q *call.Request) (any, error) {
	groups, err := q.Cloud.ELB.Groups(state.GroupFilter{Account: q.Caller.Account, ARNs: []string{q.Text("TargetGroupArn")}})
	if err != nil {
		return nil, err
	}
	if err := checkEnabled(q, groups[0].TargetType); err != nil {
		return nil, err
	}
	check, err := checkParams(q, groups[0].ProtocolVersion)
	if err != nil {
		return nil, err
	}
	return oneGroup(q.Cloud.ELB.ModifyGroup(groups[0].ARN, check))
}

func describeTargetGroups(q *call.Request) (any, error) {
	filter := state.GroupFilter{
		Account:      q.Caller.Account,
		ARNs:         q.Texts("TargetGroupArns.member"),
		Names:        q.Texts("Names.member"),
		LoadBalancer: q.Text("LoadBalancerArn"),
	}
	if ambiguous(filter) {
		return nil, refusal.Invalid("Target group names, target group ARNs and a load balancer ARN cannot be specified at the same time")
	}
	groups, err := q.Cloud.ELB.Groups(filter)
	if err != nil {
		return nil, err
	}
	if groups, err = listed(q, groups, func(one state.Group) string { return one.ARN }); err != nil {
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

// ambiguous reports whether a filter asks in more than one way.
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

// listed is a list without what is too new to be found. If it is asked for by its name, it is refused.
func listed[T any](q *call.Request, all []T, arn func(T) string) (found []T, err error) {
	for _, one := range all {
		switch err := q.Cloud.ELB.Find(arn(one)); {
		case err == nil:
			found = append(found, one)
		case len(q.Texts("Names.member")) > 0:
			return nil, err
		}
	}
	return found, nil
}

// page cuts the page out of a list that Marker and PageSize ask for; next is the marker of the one after it.
func page[T any](q *call.Request, all []T) (part []T, next string, err error) {
	size, err := q.Number("PageSize")
	if err != nil {
		return nil, "", err
	}
	if size > largestPage {
		return nil, "", refusal.Unfit("pageSize", size, fmt.Sprintf("have value less than or equal to %d", largestPage))
	}
	if size == 0 {
		size = largestPage
	}
	start, err := position(q.Text("Marker"))
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
		return 0, refusal.Invalid("Invalid marker '%s'", marker)
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 0 {
		return 0, refusal.Invalid("Invalid marker '%s'", marker)
	}
	return n, nil
}
