// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"maps"
	"slices"
	"strconv"
	"time"
)

const (
	attrDelay          = "deregistration_delay.timeout_seconds"
	attrCutLeaving     = "deregistration_delay.connection_termination.enabled"
	attrCutUnhealthy   = "target_health_state.unhealthy.connection_termination.enabled"
	attrUnhealthyDrain = "target_health_state.unhealthy.draining_interval_seconds"
	attrCrossZone      = "load_balancing.cross_zone.enabled"
)

// attribute is a target group attribute: its default, and either the values it takes or the range of a number.
type attribute struct {
	preset string
	values []string
	lo, hi int
	free   bool
}

var (
	boolean = []string{"true", "false"}

	delayAttribute     = attribute{preset: "300", lo: 0, hi: 3600}
	crossZoneAttribute = attribute{preset: "use_load_balancer_configuration", values: append(boolean, "use_load_balancer_configuration")}
	algorithms         = []string{"round_robin", "least_outstanding_requests", "weighted_random"}
	oneTarget          = attribute{preset: "1", free: true}
	off                = attribute{preset: "off", free: true}
	disabled           = attribute{preset: "false", values: boolean}

	albAttributes = map[string]attribute{
		attrDelay:                                     delayAttribute,
		attrCrossZone:                                 crossZoneAttribute,
		"stickiness.enabled":                          disabled,
		"stickiness.type":                             {preset: "lb_cookie", values: []string{"lb_cookie", "app_cookie"}},
		"stickiness.app_cookie.cookie_name":           {free: true},
		"stickiness.app_cookie.duration_seconds":      {preset: "86400", lo: 1, hi: 604800},
		"stickiness.lb_cookie.duration_seconds":       {preset: "86400", lo: 1, hi: 604800},
		"slow_start.duration_seconds":                 {preset: "0", lo: 0, hi: 900},
		"load_balancing.algorithm.type":               {preset: "round_robin", values: algorithms},
		"load_balancing.algorithm.anomaly_mitigation": {preset: "off", values: []string{"on", "off"}},
		"target_group_health.dns_failover.minimum_healthy_targets.count":                 oneTarget,
		"target_group_health.dns_failover.minimum_healthy_targets.percentage":            off,
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count":      oneTarget,
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage": off,
	}

	nlbAttributes = map[string]attribute{
		attrDelay:                    delayAttribute,
		attrCrossZone:                crossZoneAttribute,
		attrCutLeaving:               disabled,
		attrCutUnhealthy:             {preset: "true", values: boolean},
		attrUnhealthyDrain:           {preset: "0", lo: 0, hi: 360000},
		"preserve_client_ip.enabled": disabled,
		"proxy_protocol_v2.enabled":  disabled,
		"stickiness.enabled":         disabled,
		"stickiness.type":            {preset: "source_ip", values: []string{"source_ip", "source_ip_dest_ip_proto"}},
		"target_group_health.dns_failover.minimum_healthy_targets.count":                 oneTarget,
		"target_group_health.dns_failover.minimum_healthy_targets.percentage":            off,
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count":      oneTarget,
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage": off,
	}

	lambdaAttributes = map[string]attribute{"lambda.multi_value_headers.enabled": disabled}
)

func (a attribute) allows(value string) bool {
	switch {
	case a.free:
		return true
	case a.values != nil:
		return slices.Contains(a.values, value)
	}
	n, err := strconv.Atoi(value)
	return err == nil && a.lo <= n && n <= a.hi
}

func (g *group) knownAttributes() map[string]attribute {
	switch {
	case g.TargetType == TypeLambda:
		return lambdaAttributes
	case g.network():
		return nlbAttributes
	}
	return albAttributes
}

func (g *group) defaultAttributes() map[string]string {
	preset := map[string]string{}
	for key, a := range g.knownAttributes() {
		preset[key] = a.preset
	}
	return preset
}

// Attributes returns all attributes of a group.
func (m *Machine) Attributes(groupARN string) (map[string]string, error) {
	m.enter()
	defer m.leave()
	g, err := m.group(groupARN)
	if err != nil {
		return nil, err
	}
	return maps.Clone(g.attributes), nil
}

// ModifyAttributes sets some attributes, all or none, and returns them all. A changed deregistration delay counts for
// deregistrations from now on.
func (m *Machine) ModifyAttributes(groupARN string, changes map[string]string) (map[string]string, error) {
	m.enter()
	defer m.leave()
	g, err := m.group(groupARN)
	if err != nil {
		return nil, err
	}
	for key, value := range changes {
		a, ok := g.knownAttributes()[key]
		if !ok {
			return nil, Invalid("Target group attribute key '%s' is not recognized", key)
		}
		if !a.allows(value) {
			return nil, Invalid("'%s' is not a valid value for target group attribute '%s'", value, key)
		}
	}
	maps.Copy(g.attributes, changes)
	return maps.Clone(g.attributes), nil
}

// zonal says whether an ALB's node sends to targets of its own zone alone.
func (g *group) zonal() bool { return !g.network() && g.attributes[attrCrossZone] == "false" }

func (g *group) secondsAttribute(key string) time.Duration {
	seconds, err := strconv.Atoi(g.attributes[key])
	if err != nil { // the group's kind does not have the attribute
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// cutsDeregistered: an ALB answers what is still in flight with 502 when the deregistration delay ends, an NLB lets
// flows go on unless it is told not to.
func (g *group) cutsDeregistered() bool {
	return !g.network() || g.attributes[attrCutLeaving] == "true"
}

// cutsUnhealthy: an NLB ends the flows of a target that turns unhealthy, unless it is told not to.
func (g *group) cutsUnhealthy() bool {
	return g.network() && g.attributes[attrCutUnhealthy] == "true"
}

// unhealthyDraining is how long a target is unhealthy.draining, which takes connection termination switched off.
func (g *group) unhealthyDraining() time.Duration {
	if !g.network() || g.cutsUnhealthy() {
		return 0
	}
	return g.secondsAttribute(attrUnhealthyDrain)
}
