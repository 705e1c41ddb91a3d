// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
)

const (
	attrDelay          = "deregistration_delay.timeout_seconds"
	attrCutLeaving     = "deregistration_delay.connection_termination.enabled"
	attrCutUnhealthy   = "target_health_state.unhealthy.connection_termination.enabled"
	attrUnhealthyDrain = "target_health_state.unhealthy.draining_interval_seconds"
	attrCrossZone      = "load_balancing.cross_zone.enabled"

	attrAlgorithm  = "load_balancing.algorithm.type"
	attrAnomaly    = "load_balancing.algorithm.anomaly_mitigation"
	attrSlowStart  = "slow_start.duration_seconds"
	attrSticky     = "stickiness.enabled"
	attrStickyType = "stickiness.type"
	attrClientIP   = "preserve_client_ip.enabled"
	attrCookie     = "stickiness.app_cookie.cookie_name"
)

// mostMinimum is more targets than any quota allows.
const mostMinimum = 1_000_000

// attribute is an attribute: its default, and either the values it takes or the range of a number, with one more value beside it.
type attribute struct {
	preset string
	values []string
	lo, hi int
	also   string
	free   bool
}

var (
	boolean = []string{"true", "false"}

	delayAttribute     = attribute{preset: "300", lo: 0, hi: 3600}
	crossZoneAttribute = attribute{preset: "use_load_balancer_configuration", values: append(boolean, "use_load_balancer_configuration")}
	algorithms         = []string{"round_robin", "least_outstanding_requests", "weighted_random"}
	oneTarget          = attribute{preset: "1", lo: 1, hi: mostMinimum}
	oneTargetOrOff     = attribute{preset: "1", lo: 1, hi: mostMinimum, also: "off"}
	off                = attribute{preset: "off", lo: 1, hi: 100, also: "off"}
	disabled           = attribute{preset: "false", values: boolean}

	albAttributes = map[string]attribute{
		attrDelay:                                delayAttribute,
		attrCrossZone:                            crossZoneAttribute,
		attrSticky:                               disabled,
		attrStickyType:                           {preset: "lb_cookie", values: []string{"lb_cookie", "app_cookie"}},
		attrCookie:                               {free: true},
		"stickiness.app_cookie.duration_seconds": {preset: "86400", lo: 1, hi: 604800},
		"stickiness.lb_cookie.duration_seconds":  {preset: "86400", lo: 1, hi: 604800},
		attrSlowStart:                            {preset: "0", lo: 30, hi: 900, also: "0"},
		attrAlgorithm:                            {preset: "round_robin", values: algorithms},
		attrAnomaly:                              {preset: "off", values: []string{"on", "off"}},
		"target_group_health.dns_failover.minimum_healthy_targets.count":                 oneTargetOrOff,
		"target_group_health.dns_failover.minimum_healthy_targets.percentage":            off,
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count":      oneTarget,
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage": off,
	}

	nlbAttributes = map[string]attribute{
		attrDelay:                   delayAttribute,
		attrCrossZone:               crossZoneAttribute,
		attrCutLeaving:              disabled,
		attrCutUnhealthy:            {preset: "true", values: boolean},
		attrUnhealthyDrain:          {preset: "0", lo: 0, hi: 360000},
		attrClientIP:                disabled,
		"proxy_protocol_v2.enabled": disabled,
		"stickiness.enabled":        disabled,
		"stickiness.type":           {preset: "source_ip", values: []string{"source_ip", "source_ip_dest_ip_proto"}},
		"target_group_health.dns_failover.minimum_healthy_targets.count":                 oneTargetOrOff,
		"target_group_health.dns_failover.minimum_healthy_targets.percentage":            off,
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count":      oneTarget,
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage": off,
	}

	lambdaAttributes = map[string]attribute{"lambda.multi_value_headers.enabled": disabled}
)

func (a attribute) allows(value string) bool {
	switch {
	case a.free, a.also != "" && value == a.also:
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
	if g.network() && g.TargetType != TypeIP {
		preset[attrClientIP] = "true"
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
	if g.TargetType == TypeALB && len(changes) > 0 {
		return nil, refusal.New("InvalidConfigurationRequest", "The attributes of target groups with target type 'alb' cannot be modified")
	}
	if err := checkAttributes("Target group", g.knownAttributes(), changes); err != nil {
		return nil, err
	}
	changed := maps.Clone(g.attributes)
	maps.Copy(changed, changes)
	if err := checkTogether(changed); err != nil {
		return nil, err
	}
	g.attributes = changed
	return maps.Clone(changed), nil
}

// checkTogether refuses attributes of a target group that exclude each other, as the API reference (TargetGroupAttribute) and the user
// guide (slow start mode) have it.
func checkTogether(all map[string]string) error {
	algorithm := all[attrAlgorithm]
	switch {
	case strings.HasPrefix(all[attrCookie], "AWSALB"):
		return refusal.Invalid("The cookie name '%s' begins with a prefix that is reserved", all[attrCookie])
	case all[attrSticky] == "true" && all[attrStickyType] == "app_cookie" && all[attrCookie] == "":
		return refusal.Invalid("A cookie name must be specified for stickiness type 'app_cookie'")
	case all[attrAnomaly] == "on" && algorithm != "weighted_random":
		return refusal.New("InvalidConfigurationRequest", "Anomaly mitigation needs the load balancing algorithm 'weighted_random'")
	case all[attrSlowStart] != "" && all[attrSlowStart] != "0" && algorithm != "round_robin":
		return refusal.New("InvalidConfigurationRequest", "Slow start cannot be used with the load balancing algorithm '%s'", algorithm)
	}
	return nil
}

// zonal reports whether an ALB's node sends to targets of its own zone alone.
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
