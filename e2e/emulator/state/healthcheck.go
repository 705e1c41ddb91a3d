// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"strconv"
	"strings"
	"time"
)

// HealthCheck are the settings of a group's health checks; zero fields are not given and get AWS's defaults.
type HealthCheck struct {
	// Disabled holds for Lambda functions only.
	Disabled bool
	Protocol string
	// Port is a number, or traffic-port.
	Port string
	Path string
	// Interval and Timeout are in seconds, not scaled.
	Interval, Timeout                    int
	HealthyThreshold, UnhealthyThreshold int
	// Matcher is the HTTP codes that pass, such as 200,202 or 200-299.
	Matcher string
}

func (c HealthCheck) interval() time.Duration { return time.Duration(c.Interval) * time.Second }
func (c HealthCheck) timeout() time.Duration  { return time.Duration(c.Timeout) * time.Second }

// merge takes the fields of change that are given. A change to TCP drops what only HTTP has.
func (c HealthCheck) merge(change HealthCheck) HealthCheck {
	if change.Protocol == ProtocolTCP {
		c.Path, c.Matcher = "", ""
	}
	return HealthCheck{
		Disabled:           c.Disabled,
		Protocol:           cmp.Or(change.Protocol, c.Protocol),
		Port:               cmp.Or(change.Port, c.Port),
		Path:               cmp.Or(change.Path, c.Path),
		Interval:           cmp.Or(change.Interval, c.Interval),
		Timeout:            cmp.Or(change.Timeout, c.Timeout),
		HealthyThreshold:   cmp.Or(change.HealthyThreshold, c.HealthyThreshold),
		UnhealthyThreshold: cmp.Or(change.UnhealthyThreshold, c.UnhealthyThreshold),
		Matcher:            cmp.Or(change.Matcher, c.Matcher),
	}
}

func (s GroupSpec) withDefaults() GroupSpec {
	s.TargetType = cmp.Or(s.TargetType, TypeInstance)
	if s.TargetType == TypeLambda {
		s.HealthCheck = HealthCheck{
			Disabled: true, Path: "/", Interval: 35, Timeout: 30, HealthyThreshold: 5, UnhealthyThreshold: 2, Matcher: "200",
		}.merge(s.HealthCheck)
		return s
	}
	s.AddressType = cmp.Or(s.AddressType, IPv4)
	if s.application() {
		s.ProtocolVersion = cmp.Or(s.ProtocolVersion, "HTTP1")
	}
	s.HealthCheck = s.checkDefaults().merge(s.HealthCheck)
	return s
}

func (s GroupSpec) application() bool {
	return s.Protocol == ProtocolHTTP || s.Protocol == ProtocolHTTPS
}

func (s GroupSpec) checkDefaults() HealthCheck {
	c := HealthCheck{Port: "traffic-port", Interval: 30, Timeout: 10, HealthyThreshold: 5, UnhealthyThreshold: 2}
	c.Protocol = s.HealthCheck.Protocol
	switch {
	case s.application():
		c.Protocol = cmp.Or(c.Protocol, ProtocolHTTP)
		c.Matcher = "200"
	case s.TargetType == TypeALB:
		c.Protocol = cmp.Or(c.Protocol, ProtocolHTTP)
	default:
		c.Protocol = cmp.Or(c.Protocol, ProtocolTCP)
	}
	if c.Protocol == ProtocolTCP {
		c.Matcher = ""
		return c
	}
	c.Path = "/"
	c.Matcher = cmp.Or(c.Matcher, "200-399")
	if s.ProtocolVersion == VersionGRPC {
		c.Path, c.Matcher = "/AWS.ALB/healthcheck", "12"
	}
	switch {
	case s.application():
		c.Timeout = 5
	case c.Protocol == ProtocolHTTP:
		c.Timeout = 6
	}
	return c
}

// parseMatcher reads a list of codes and ranges of codes.
func parseMatcher(matcher string) ([][2]int, error) {
	var ranges [][2]int
	for part := range strings.SplitSeq(matcher, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		from, err := strconv.Atoi(low)
		if err != nil {
			return nil, err
		}
		to, err := strconv.Atoi(high)
		if err != nil {
			return nil, err
		}
		ranges = append(ranges, [2]int{from, to})
	}
	return ranges, nil
}

// matches reports whether a code is in the matcher, which is valid.
func matches(matcher string, code int) bool {
	ranges, err := parseMatcher(matcher)
	if err != nil {
		return false
	}
	for _, r := range ranges {
		if r[0] <= code && code <= r[1] {
			return true
		}
	}
	return false
}
