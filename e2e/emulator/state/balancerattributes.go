// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"maps"
	"regexp"
	"unicode/utf8"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
)

const (
	attrProtection = "deletion_protection.enabled"
	attrDenyIPv6   = "ipv6.deny_all_igw_traffic" // true at first for internal load balancers
)

var (
	enabled  = attribute{preset: "true", values: boolean}
	anyText  = attribute{free: true}
	text     = func(preset string) attribute { return attribute{preset: preset, free: true} }
	number   = func(preset string, lo, hi int) attribute { return attribute{preset: preset, lo: lo, hi: hi} }
	xffModes = []string{"append", "preserve", "remove"}

	albBalancerAttributes = map[string]attribute{
		attrProtection:                                             disabled,
		"access_logs.s3.enabled":                                   disabled,
		"access_logs.s3.bucket":                                    anyText,
		"access_logs.s3.prefix":                                    anyText,
		"connection_logs.s3.enabled":                               disabled,
		"connection_logs.s3.bucket":                                anyText,
		"connection_logs.s3.prefix":                                anyText,
		"health_check_logs.s3.enabled":                             disabled,
		"health_check_logs.s3.bucket":                              anyText,
		"health_check_logs.s3.prefix":                              anyText,
		"client_keep_alive.seconds":                                number("3600", 60, 604800),
		"idle_timeout.timeout_seconds":                             number("60", 1, 4000),
		"load_balancing.cross_zone.enabled":                        {preset: "true", values: []string{"true"}},
		attrDenyIPv6:                                               disabled,
		"routing.http.desync_mitigation_mode":                      {preset: "defensive", values: []string{"monitor", "defensive", "strictest"}},
		"routing.http.drop_invalid_header_fields.enabled":          disabled,
		"routing.http.preserve_host_header.enabled":                disabled,
		"routing.http.x_amzn_tls_version_and_cipher_suite.enabled": disabled,
		"routing.http.xff_client_port.enabled":                     disabled,
		"routing.http.xff_header_processing.mode":                  {preset: "append", values: xffModes},
		"routing.http2.enabled":                                    enabled,
		"waf.fail_open.enabled":                                    disabled,
		"zonal_shift.config.enabled":                               disabled,
	}

	nlbBalancerAttributes = map[string]attribute{
		attrProtection:                           disabled,
		"access_logs.s3.enabled":                 disabled,
		"access_logs.s3.bucket":                  anyText,
		"access_logs.s3.prefix":                  anyText,
		"load_balancing.cross_zone.enabled":      disabled,
		attrDenyIPv6:                             disabled,
		"secondary_ips.auto_assigned.per_subnet": number("0", 0, 7),
		"dns_record.client_routing_policy": {
			preset: "any_availability_zone",
			values: []string{"any_availability_zone", "availability_zone_affinity", "partial_availability_zone_affinity"},
		},
		"zonal_shift.config.enabled": disabled,
	}

	httpListenerAttributes = map[string]attribute{
		"routing.http.response.server.enabled":                                  enabled,
		"routing.http.response.strict_transport_security.header_value":          anyText,
		"routing.http.response.access_control_allow_origin.header_value":        anyText,
		"routing.http.response.access_control_allow_methods.header_value":       anyText,
		"routing.http.response.access_control_allow_headers.header_value":       anyText,
		"routing.http.response.access_control_allow_credentials.header_value":   anyText,
		"routing.http.response.access_control_expose_headers.header_value":      anyText,
		"routing.http.response.access_control_max_age.header_value":             anyText,
		"routing.http.response.content_security_policy.header_value":            anyText,
		"routing.http.response.x_content_type_options.header_value":             anyText,
		"routing.http.response.x_frame_options.header_value":                    anyText,
		"routing.http.request.x_amzn_mtls_clientcert_serial_number.header_name": text("X-Amzn-Mtls-Clientcert-Serial-Number"),
		"routing.http.request.x_amzn_mtls_clientcert_issuer.header_name":        text("X-Amzn-Mtls-Clientcert-Issuer"),
		"routing.http.request.x_amzn_mtls_clientcert_subject.header_name":       text("X-Amzn-Mtls-Clientcert-Subject"),
		"routing.http.request.x_amzn_mtls_clientcert_validity.header_name":      text("X-Amzn-Mtls-Clientcert-Validity"),
		"routing.http.request.x_amzn_mtls_clientcert_leaf.header_name":          text("X-Amzn-Mtls-Clientcert-Leaf"),
		"routing.http.request.x_amzn_mtls_clientcert.header_name":               text("X-Amzn-Mtls-Clientcert"),
		"routing.http.request.x_amzn_tls_version.header_name":                   text("X-Amzn-Tls-Version"),
		"routing.http.request.x_amzn_tls_cipher_suite.header_name":              text("X-Amzn-Tls-Cipher-Suite"),
	}

	tcpListenerAttributes = map[string]attribute{"tcp.idle_timeout.seconds": number("350", 60, 6000)}
)

func (b *balancer) knownAttributes() map[string]attribute {
	if b.Type == Network {
		return nlbBalancerAttributes
	}
	return albBalancerAttributes
}

func (l *listener) knownAttributes() map[string]attribute {
	if l.balancer.Type == Network {
		return tcpListenerAttributes
	}
	return httpListenerAttributes
}

func presets(known map[string]attribute) map[string]string {
	preset := map[string]string{}
	for key, a := range known {
		preset[key] = a.preset
	}
	return preset
}

// The bounds of attributes in the API's model.
var attributeKey = regexp.MustCompile(`^[a-zA-Z0-9._]{1,256}$`)

const longestAttribute = 1024

// checkAttributes refuses changes of which one is not known or has a value that is not allowed.
func checkAttributes(kind string, known map[string]attribute, changes map[string]string) error {
	for key, value := range changes {
		if !attributeKey.MatchString(key) {
			return refusal.Unfit("attributes.member.key", key, "satisfy regular expression pattern: "+attributeKey.String())
		}
		if utf8.RuneCountInString(value) > longestAttribute {
			return refusal.Unfit("attributes.member.value", value, "have length less than or equal to 1024")
		}
		a, ok := known[key]
		if !ok {
			return refusal.Invalid("%s attribute key '%s' is not recognized", kind, key)
		}
		if !a.allows(value) {
			return refusal.Invalid("'%s' is not a valid value for attribute '%s'", value, key)
		}
	}
	return nil
}

// BalancerAttributes sets some attributes of a load balancer, all or none, and returns them all.
func (m *Machine) BalancerAttributes(arn string, changes map[string]string) (map[string]string, error) {
	m.enter()
	defer m.leave()
	b, ok := m.balancers[arn]
	if !ok {
		return nil, loadBalancerNotFound()
	}
	if err := checkAttributes("Load balancer", b.knownAttributes(), changes); err != nil {
		return nil, err
	}
	changed := maps.Clone(b.attributes)
	maps.Copy(changed, changes)
	for _, log := range []string{"access_logs", "connection_logs", "health_check_logs"} {
		if changed[log+".s3.enabled"] == "true" && changed[log+".s3.bucket"] == "" { // LoadBalancerAttribute in the API reference
			return nil, refusal.New("InvalidConfigurationRequest", "The attribute '%s.s3.bucket' is required when the logs are enabled", log)
		}
	}
	b.attributes = changed
	return maps.Clone(changed), nil
}

// ListenerAttributes sets some attributes of a listener, all or none, and returns them all.
func (m *Machine) ListenerAttributes(arn string, changes map[string]string) (map[string]string, error) {
	m.enter()
	defer m.leave()
	l := m.listener(arn)
	if l == nil {
		return nil, listenerNotFound()
	}
	if err := checkAttributes("Listener", l.knownAttributes(), changes); err != nil {
		return nil, err
	}
	maps.Copy(l.attributes, changes)
	return maps.Clone(l.attributes), nil
}
