// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/targetgate/targetgate/balancers/v1beta1"
)

// known are attributes with the check of their values. Others may be newer than this program: AWS checks them.
type known map[string]func(value string) error

var (
	attributeSwitch = func(value string) error { return only(oneOf("true", "false"))(strings.ToLower(value)) }

	balancerAttributes = known{
		"deletion_protection.enabled":                              attributeSwitch,
		"access_logs.s3.enabled":                                   attributeSwitch,
		"connection_logs.s3.enabled":                               attributeSwitch,
		"health_check_logs.s3.enabled":                             attributeSwitch,
		"client_keep_alive.seconds":                                only(intBetween(60, 604800)),
		"idle_timeout.timeout_seconds":                             only(intBetween(1, 4000)),
		"load_balancing.cross_zone.enabled":                        crossZone,
		"routing.http.desync_mitigation_mode":                      only(oneOf("monitor", "defensive", "strictest")),
		"routing.http.drop_invalid_header_fields.enabled":          attributeSwitch,
		"routing.http.preserve_host_header.enabled":                attributeSwitch,
		"routing.http.x_amzn_tls_version_and_cipher_suite.enabled": attributeSwitch,
		"routing.http.xff_client_port.enabled":                     attributeSwitch,
		"routing.http.xff_header_processing.mode":                  only(oneOf("append", "preserve", "remove")),
		"routing.http2.enabled":                                    attributeSwitch,
		"waf.fail_open.enabled":                                    attributeSwitch,
		"zonal_shift.config.enabled":                               attributeSwitch,
	}

	listenerAttributes = known{"routing.http.response.server.enabled": attributeSwitch}

	algorithms = oneOf("round_robin", "least_outstanding_requests", "weighted_random")
	crossZones = oneOf("true", "false", "use_load_balancer_configuration")

	groupAttributes = known{
		"deregistration_delay.timeout_seconds":                                           only(intBetween(0, 3600)),
		"load_balancing.cross_zone.enabled":                                              only(crossZones),
		algorithmAttribute:                                                               only(algorithms),
		anomalyAttribute:                                                                 only(oneOf("on", "off")),
		slowStartAttribute:                                                               or("0", only(intBetween(30, 900))),
		"stickiness.enabled":                                                             attributeSwitch,
		"stickiness.type":                                                                only(oneOf("lb_cookie", "app_cookie")),
		"stickiness.app_cookie.cookie_name":                                              ownCookie,
		"stickiness.app_cookie.duration_seconds":                                         only(intBetween(1, 604800)),
		"stickiness.lb_cookie.duration_seconds":                                          only(intBetween(1, 604800)),
		"target_group_health.dns_failover.minimum_healthy_targets.count":                 or("off", only(intBetween(1, 1<<31))),
		"target_group_health.dns_failover.minimum_healthy_targets.percentage":            or("off", only(intBetween(1, 100))),
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count":      only(intBetween(1, 1<<31)),
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage": or("off", only(intBetween(1, 100))),
	}
)

// The attributes of target groups that depend on each other.
const (
	algorithmAttribute = "load_balancing.algorithm.type"
	anomalyAttribute   = "load_balancing.algorithm.anomaly_mitigation"
	slowStartAttribute = "slow_start.duration_seconds"
)

func only[T any](parse func(string) (T, error)) func(string) error {
	return func(value string) error {
		_, err := parse(value)
		return err
	}
}

// or takes one more value.
func or(also string, check func(string) error) func(string) error {
	return func(value string) error {
		if value == also {
			return nil
		}
		if err := check(value); err != nil {
			return fmt.Errorf("%w, or %s", err, also)
		}
		return nil
	}
}

func crossZone(value string) error {
	if !strings.EqualFold(value, "true") {
		return errors.New("want true: an Application Load Balancer is always across zones")
	}
	return nil
}

func ownCookie(name string) error {
	if strings.HasPrefix(name, "AWSALB") {
		return errors.New("want a name that does not begin with AWSALB, as the load balancer's own do")
	}
	return nil
}

var attributeKey = regexp.MustCompile(`^[a-zA-Z0-9._]{1,256}$`)

// check is what is wrong with the first of these attributes by their keys.
func (k known) check(attributes map[string]string) error {
	const longest = 1024
	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		value := attributes[key]
		if !attributeKey.MatchString(key) {
			return fmt.Errorf("%.50q is no key of an attribute: want 1 to 256 letters, digits, dots and underscores", key)
		}
		if n := utf8.RuneCountInString(value); n > longest {
			return fmt.Errorf("%s has %d characters, want at most %d", key, n, longest)
		}
		if check := k[key]; check != nil {
			if err := check(value); err != nil {
				return fmt.Errorf("%s=%.50s: %w", key, value, err)
			}
		}
	}
	return nil
}

// parse parses attributes as an annotation has them.
func (k known) parse(value string) (map[string]string, error) {
	attributes, err := parseMap(value)
	if err != nil {
		return nil, err
	}
	return attributes, k.check(attributes)
}

// checkParams checks attributes as params have them.
func (k known) checkParams(r *reading, field string, list []v1beta1.Attribute) {
	if err := k.check(attributes(list)); err != nil {
		r.fail(r.paramsFault(field, "", err.Error()))
	}
}

// parseGroupAttributes parses those of target groups. Those that are given must go together; others are as they are in AWS.
func parseGroupAttributes(value string) (map[string]string, error) {
	given, err := groupAttributes.parse(value)
	if err != nil {
		return nil, err
	}
	slow := given[slowStartAttribute] != "" && given[slowStartAttribute] != "0"
	switch algorithm := given[algorithmAttribute]; {
	case algorithm == "":
		return given, nil
	case algorithm != "weighted_random" && given[anomalyAttribute] == "on":
		return nil, fmt.Errorf("%s=on needs %s=weighted_random", anomalyAttribute, algorithmAttribute)
	case algorithm != "round_robin" && slow:
		return nil, fmt.Errorf("%s is for %s=round_robin: want 0", slowStartAttribute, algorithmAttribute)
	}
	return given, nil
}
