// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
)

var (
	groupName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,30}[A-Za-z0-9])?$`)

	groupProtocols = []string{ProtocolHTTP, ProtocolHTTPS, ProtocolTCP, "TLS", "UDP", "TCP_UDP", "QUIC", "TCP_QUIC"}
	targetTypes    = []string{TypeInstance, TypeIP, TypeLambda, TypeALB}
	versions       = []string{"", "HTTP1", "HTTP2", VersionGRPC}
)

const highestPort = 65535

func (m *Machine) validateGroup(s GroupSpec) error {
	if !groupName.MatchString(s.Name) {
		return refusal.Invalid("Target group name '%s' must have at most 32 characters, only alphanumeric characters or hyphens, "+
			"and must not begin or end with a hyphen", s.Name)
	}
	if err := refusal.OneOf("targetType", s.TargetType, targetTypes); err != nil {
		return err
	}
	if s.TargetType == TypeLambda {
		return s.validateLambda()
	}
	return cmp.Or(
		refusal.OneOf("protocol", s.Protocol, groupProtocols),
		refusal.OneOf("protocolVersion", s.ProtocolVersion, versions),
		refusal.OneOf("ipAddressType", s.AddressType, []string{IPv4, IPv6}),
		refusal.Within("port", s.Port, 1, 65535),
		s.validateALB(),
		s.validateControlPort(),
		m.validateVPC(s),
		s.validateHealthCheck(),
	)
}

func (s GroupSpec) validateLambda() error {
	if s.Protocol != "" || s.Port != 0 || s.VPC != "" || s.ControlPort != 0 {
		return refusal.New("InvalidConfigurationRequest",
			"Protocol, port and VPC ID cannot be specified for target groups with target type 'lambda'")
	}
	return s.validateHealthCheck()
}

func (s GroupSpec) validateControlPort() error {
	switch {
	case s.ControlPort == 0:
		return nil
	case s.TargetType != TypeIP || !s.application():
		return refusal.New("InvalidConfigurationRequest",
			"A target control port can be specified for target groups with target type 'ip' and protocol HTTP or HTTPS only")
	}
	return refusal.Within("targetControlPort", s.ControlPort, 1, highestPort)
}

func (s GroupSpec) validateALB() error {
	if s.TargetType == TypeALB && s.Protocol != ProtocolTCP {
		return refusal.New("InvalidConfigurationRequest", "Target groups with target type 'alb' must have protocol TCP")
	}
	return nil
}

func (m *Machine) validateVPC(s GroupSpec) error {
	if s.VPC == "" {
		return refusal.Invalid("A VPC ID must be specified")
	}
	if _, ok := m.ec2.VPC(s.VPC); !ok {
		return refusal.Invalid("The VPC ID '%s' is not found", s.VPC)
	}
	return nil
}

func (s GroupSpec) validateHealthCheck() error {
	c := s.HealthCheck
	err := cmp.Or(
		refusal.Within("healthCheckIntervalSeconds", c.Interval, 5, 300), refusal.Within("healthCheckTimeoutSeconds", c.Timeout, 2, 120),
		refusal.Within("healthyThresholdCount", c.HealthyThreshold, 2, 10),
		refusal.Within("unhealthyThresholdCount", c.UnhealthyThreshold, 2, 10),
	)
	if err != nil {
		return err
	}
	if c.Timeout >= c.Interval {
		return refusal.Invalid("Health check interval must be greater than the timeout.")
	}
	if s.TargetType == TypeLambda {
		return nil
	}
	return cmp.Or(s.validateCheckProtocol(), s.validateCheckPort(), s.validateCheckPath(), s.validateMatcher())
}

func (s GroupSpec) validateCheckProtocol() error {
	allowed := []string{ProtocolHTTP, ProtocolHTTPS, ProtocolTCP}
	if s.application() || s.TargetType == TypeALB {
		allowed = allowed[:2]
	}
	return refusal.OneOf("healthCheckProtocol", s.HealthCheck.Protocol, allowed)
}

func (s GroupSpec) validateCheckPort() error {
	if s.HealthCheck.Port == "traffic-port" {
		return nil
	}
	port, err := strconv.Atoi(s.HealthCheck.Port)
	if err != nil || port < 1 || port > 65535 {
		return refusal.Invalid("Health check port '%s' must be 'traffic-port' or a number from 1 to 65535", s.HealthCheck.Port)
	}
	return nil
}

// longestPath is the length of a health check's path, in the API's model.
const longestPath = 1024

func (s GroupSpec) validateCheckPath() error {
	path := s.HealthCheck.Path
	if s.HealthCheck.Protocol == ProtocolTCP {
		return nil
	}
	if !strings.HasPrefix(path, "/") {
		return refusal.Invalid("Health check path '%s' must begin with a '/' character", path)
	}
	if utf8.RuneCountInString(path) > longestPath {
		return refusal.Unfit("healthCheckPath", path, "have length less than or equal to 1024")
	}
	return nil
}

func (s GroupSpec) validateMatcher() error {
	c := s.HealthCheck
	if c.Protocol == ProtocolTCP {
		if c.Matcher != "" {
			return refusal.New("InvalidConfigurationRequest", "A matcher cannot be specified for TCP health checks")
		}
		return nil
	}
	lowest, highest := 200, 599
	switch {
	case s.ProtocolVersion == VersionGRPC:
		lowest, highest = 0, 99
	case s.application():
		highest = 499
	}
	ranges, err := parseMatcher(c.Matcher)
	if err != nil {
		return refusal.Invalid("Health check matcher HTTP code '%s' is not valid", c.Matcher)
	}
	for _, r := range ranges {
		if r[0] < lowest || r[1] > highest || r[0] > r[1] {
			return refusal.Invalid("Health check matcher HTTP code '%s' must be within '%d-%d' inclusive", c.Matcher, lowest, highest)
		}
	}
	return nil
}

// behind refuses groups of HTTP/2 and gRPC where clients do not use TLS, in AWS's own words (aws/copilot-cli #4551,
// aws-load-balancer-controller #4497).
func (g *group) behind(protocol string) error {
	if protocol == ProtocolHTTP && (g.ProtocolVersion == "HTTP2" || g.ProtocolVersion == VersionGRPC) {
		return refusal.New("InvalidLoadBalancerAction",
			"Listener protocol 'HTTP' is not supported with a target group with the protocol-version '%s'", g.ProtocolVersion)
	}
	return nil
}
