// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package input

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
)

// TrustStoreARN matches the ARNs of trust stores; all else is a name.
var TrustStoreARN = regexp.MustCompile(`^arn:[^:]+:elasticloadbalancing:[^:]*:[^:]*:truststore/.+$`)

// AsksForCertificate reports whether ACM is to issue a certificate for the member.
func AsksForCertificate(m membership.Member) bool {
	wanted, _, _ := annotation.IssueCertificate.In(m.Ingress.Annotations)
	return wanted
}

// WebACLName is the name by which the member gives its web ACL, "" for none. That of params counts first, and a name before any ARN.
func WebACLName(m membership.Member) string {
	return cmp.Or(m.Settings().WAFv2ACLName, m.Ingress.Annotations[annotation.WAFv2ACLName.FullName()])
}

// SecurityGroupsOf are the IDs and names of the security groups that the member gives the load balancer. Those of params count first.
func SecurityGroupsOf(m membership.Member) ([]string, error) {
	if ofParams := m.Settings().SecurityGroups; len(ofParams) > 0 {
		return annotation.SecurityGroups.Parse(strings.Join(ofParams, ","))
	}
	entries, _, err := annotation.SecurityGroups.In(m.Ingress.Annotations)
	return entries, err
}

// ClassicACLKey is the annotation by which the member gives a web ACL of AWS WAF Classic.
func ClassicACLKey(m membership.Member) annotation.Key[string] {
	if _, ok := m.Ingress.Annotations[annotation.WAFClassicACL.FullName()]; ok {
		return annotation.WAFClassicACL
	}
	return annotation.WAFClassicACLAlias
}

// UseAnnotation is the name of the port of backends whose action an annotation says.
const UseAnnotation = "use-annotation"

// Host is one with the path of the field that has it.
type Host struct{ Name, Field string }

// HostsOf are the hosts of an Ingress's rules and of its spec.tls.
func HostsOf(ingress *networkingv1.Ingress) []Host {
	var hosts []Host
	known := map[string]bool{"": true}
	add := func(name, field string) {
		if !known[name] {
			hosts = append(hosts, Host{name, field})
		}
		known[name] = true
	}
	for i, rule := range ingress.Spec.Rules {
		add(rule.Host, fmt.Sprintf("spec.rules[%d].host", i))
	}
	for i, tls := range ingress.Spec.TLS {
		for j, name := range tls.Hosts {
			add(name, fmt.Sprintf("spec.tls[%d].hosts[%d]", i, j))
		}
	}
	return hosts
}
