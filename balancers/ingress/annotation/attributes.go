// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Attributes are attributes by key. Others may be newer than this program: AWS checks them.
type Attributes map[string]attribute

// attribute is one with the check of its values, nil for any, and its default in AWS, nil for one that keeps what it has.
type attribute struct {
	check    func(value string) error
	preset   *string
	isSwitch bool // true or false
}

// preset is an attribute with a default. Those of load balancers and target groups are in AWS's API reference (LoadBalancerAttribute,
// TargetGroupAttribute), those of listeners in the user guide of Application Load Balancers (HTTP header modification).
func preset(value string, check func(string) error) attribute {
	return attribute{check: check, preset: &value}
}

// onOff is a switch with a default, or "" without.
func onOff(value string) attribute {
	out := attribute{check: only(oneOf("true", "false")), isSwitch: true}
	if value != "" {
		out.preset = &value
	}
	return out
}

var (
	enabled, disabled = onOff("true"), onOff("false")

	// AttributesOfBalancer are those of Application Load Balancers. Deletion protection keeps what it has: what somebody protects is not
	// to lose that by an annotation that goes.
	AttributesOfBalancer = Attributes{
		"deletion_protection.enabled":                              onOff(""),
		"access_logs.s3.enabled":                                   disabled,
		"connection_logs.s3.enabled":                               disabled,
		"health_check_logs.s3.enabled":                             disabled,
		"client_keep_alive.seconds":                                preset("3600", only(intBetween(60, 604800))),
		"idle_timeout.timeout_seconds":                             preset("60", only(intBetween(1, 4000))),
		"load_balancing.cross_zone.enabled":                        {check: crossZone, isSwitch: true},
		"routing.http.desync_mitigation_mode":                      preset("defensive", only(oneOf("monitor", "defensive", "strictest"))),
		"routing.http.drop_invalid_header_fields.enabled":          disabled,
		"routing.http.preserve_host_header.enabled":                disabled,
		"routing.http.x_amzn_tls_version_and_cipher_suite.enabled": disabled,
		"routing.http.xff_client_port.enabled":                     disabled,
		"routing.http.xff_header_processing.mode":                  preset("append", only(oneOf("append", "preserve", "remove"))),
		"routing.http2.enabled":                                    enabled,
		"waf.fail_open.enabled":                                    disabled,
		"zonal_shift.config.enabled":                               disabled,
	}

	// AttributesOfListener are those of listeners.
	AttributesOfListener = Attributes{
		"routing.http.response.server.enabled":                                enabled,
		"routing.http.response.strict_transport_security.header_value":        preset("", nil),
		"routing.http.response.access_control_allow_origin.header_value":      preset("", nil),
		"routing.http.response.access_control_allow_methods.header_value":     preset("", nil),
		"routing.http.response.access_control_allow_headers.header_value":     preset("", nil),
		"routing.http.response.access_control_allow_credentials.header_value": preset("", nil),
		"routing.http.response.access_control_expose_headers.header_value":    preset("", nil),
		"routing.http.response.access_control_max_age.header_value":           preset("", nil),
		"routing.http.response.content_security_policy.header_value":          preset("", nil),
		"routing.http.response.x_content_type_options.header_value":           preset("", nil),
		"routing.http.response.x_frame_options.header_value":                  preset("", nil),

		"routing.http.request.x_amzn_mtls_clientcert.header_name":               preset("X-Amzn-Mtls-Clientcert", nil),
		"routing.http.request.x_amzn_mtls_clientcert_issuer.header_name":        preset("X-Amzn-Mtls-Clientcert-Issuer", nil),
		"routing.http.request.x_amzn_mtls_clientcert_leaf.header_name":          preset("X-Amzn-Mtls-Clientcert-Leaf", nil),
		"routing.http.request.x_amzn_mtls_clientcert_serial_number.header_name": preset("X-Amzn-Mtls-Clientcert-Serial-Number", nil),
		"routing.http.request.x_amzn_mtls_clientcert_subject.header_name":       preset("X-Amzn-Mtls-Clientcert-Subject", nil),
		"routing.http.request.x_amzn_mtls_clientcert_validity.header_name":      preset("X-Amzn-Mtls-Clientcert-Validity", nil),
		"routing.http.request.x_amzn_tls_cipher_suite.header_name":              preset("X-Amzn-Tls-Cipher-Suite", nil),
		"routing.http.request.x_amzn_tls_version.header_name":                   preset("X-Amzn-Tls-Version", nil),
	}

	// AttributesOfFront are those of Network Load Balancers in front.
	AttributesOfFront = Attributes{
		"deletion_protection.enabled":            onOff(""),
		"access_logs.s3.enabled":                 disabled,
		"load_balancing.cross_zone.enabled":      disabled,
		"ipv6.deny_all_igw_traffic":              onOff(""),
		"secondary_ips.auto_assigned.per_subnet": preset("0", only(intBetween(0, 7))),
		"zonal_shift.config.enabled":             disabled,
		"dns_record.client_routing_policy": preset("any_availability_zone",
			only(oneOf("any_availability_zone", "availability_zone_affinity", "partial_availability_zone_affinity"))),
	}

	algorithms  = oneOf("round_robin", "least_outstanding_requests", "weighted_random")
	zones       = preset("use_load_balancer_configuration", only(oneOf("true", "false", "use_load_balancer_configuration")))
	cookies     = preset("lb_cookie", only(oneOf("lb_cookie", "app_cookie")))
	cookieLasts = preset("86400", only(intBetween(1, 604800)))
	someTargets = only(intBetween(1, 1<<31))
	percentage  = preset("off", or("off", only(intBetween(1, 100))))

	// AttributesOfGroup are those of target groups.
	AttributesOfGroup = Attributes{
		"deregistration_delay.timeout_seconds":                                           preset("300", only(intBetween(0, 3600))),
		"load_balancing.cross_zone.enabled":                                              zones,
		algorithmAttribute:                                                               preset("round_robin", only(algorithms)),
		anomalyAttribute:                                                                 preset("off", only(oneOf("on", "off"))),
		slowStartAttribute:                                                               preset("0", or("0", only(intBetween(30, 900)))),
		"stickiness.enabled":                                                             disabled,
		"stickiness.type":                                                                cookies,
		"stickiness.app_cookie.cookie_name":                                              {check: ownCookie},
		"stickiness.app_cookie.duration_seconds":                                         cookieLasts,
		"stickiness.lb_cookie.duration_seconds":                                          cookieLasts,
		"target_group_health.dns_failover.minimum_healthy_targets.count":                 preset("1", or("off", someTargets)),
		"target_group_health.dns_failover.minimum_healthy_targets.percentage":            percentage,
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count":      preset("1", someTargets),
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage": percentage,
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
	if value != "true" {
		return errors.New("must be true: an Application Load Balancer is always across zones")
	}
	return nil
}

func ownCookie(name string) error {
	if strings.HasPrefix(name, "AWSALB") {
		return errors.New("must be a name that does not begin with AWSALB, as the load balancer's own do")
	}
	return nil
}

var attributeKey = regexp.MustCompile(`^[a-zA-Z0-9._]{1,256}$`)

// Check is what is wrong with the first of these attributes by their keys.
func (k Attributes) Check(attributes map[string]string) error {
	const longest = 1024
	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		value := attributes[key]
		if !attributeKey.MatchString(key) {
			return fmt.Errorf("%.50q is no key of an attribute: must be 1 to 256 letters, digits, dots and underscores", key)
		}
		if n := utf8.RuneCountInString(value); n > longest {
			return fmt.Errorf("%s has %d characters, must be at most %d", key, n, longest)
		}
		if check := k[key].check; check != nil {
			if err := check(value); err != nil {
				return fmt.Errorf("%s=%.50s: %w", key, value, err)
			}
		}
	}
	return nil
}

// Lower has switches be in lower case, as AWS shows them.
func (k Attributes) Lower(attributes map[string]string) map[string]string {
	for key, value := range attributes {
		if k[key].isSwitch {
			attributes[key] = strings.ToLower(value)
		}
	}
	return attributes
}

// parse parses attributes as an annotation has them.
func (k Attributes) parse(value string) (map[string]string, error) {
	attributes, err := mapOf(mostListed, "attributes")(value)
	if err != nil {
		return nil, err
	}
	return k.Lower(attributes), k.Check(attributes)
}

// parseGroupAttributes parses those of target groups. Those that are given must go together; others are as they are in AWS.
func parseGroupAttributes(value string) (map[string]string, error) {
	given, err := AttributesOfGroup.parse(value)
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
		return nil, fmt.Errorf("%s is for %s=round_robin: must be 0", slowStartAttribute, algorithmAttribute)
	}
	return given, nil
}

// Presets are the defaults of those that are not named.
func (k Attributes) Presets(named map[string]string) map[string]string {
	out := map[string]string{}
	for key, a := range k {
		if _, isNamed := named[key]; a.preset != nil && !isNamed {
			out[key] = *a.preset
		}
	}
	return out
}
