// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbapi

import (
	"strings"
	"unicode"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

// Service is ELBv2.
var Service = call.Service{
	Version:     "2015-12-01",
	Prefix:      "elasticloadbalancing",
	Permissions: call.OwnPermission,
	Resources:   resources,
	Further:     further,
	Denied:      call.Denied,
	Namespace:   "http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/",
	Bucket:      bucket,
	Overload:    refusal.Error{Code: "Throttling", Message: "Rate exceeded"},
	Answer:      call.Answer,
	Refusal:     call.Refusal,
	Actions: map[string]call.Action{
		"CreateTargetGroup":             createTargetGroup,
		"DeleteTargetGroup":             deleteTargetGroup,
		"DescribeTargetGroups":          describeTargetGroups,
		"ModifyTargetGroup":             modifyTargetGroup,
		"DescribeTargetGroupAttributes": describeTargetGroupAttributes,
		"ModifyTargetGroupAttributes":   modifyTargetGroupAttributes,
		"RegisterTargets":               registerTargets,
		"DeregisterTargets":             deregisterTargets,
		"DescribeTargetHealth":          describeTargetHealth,
		"AddTags":                       addTags,
		"RemoveTags":                    removeTags,
		"DescribeTags":                  describeTags,
		"CreateLoadBalancer":            createLoadBalancer,
		"DeleteLoadBalancer":            deleteLoadBalancer,
		"DescribeLoadBalancers":         describeLoadBalancers,
		"CreateListener":                createListener,
		"DeleteListener":                deleteListener,
		"DescribeListeners":             describeListeners,

		"SetSubnets":                     setSubnets,
		"SetSecurityGroups":              setSecurityGroups,
		"SetIpAddressType":               setIPAddressType,
		"DescribeLoadBalancerAttributes": describeLoadBalancerAttributes,
		"ModifyLoadBalancerAttributes":   modifyLoadBalancerAttributes,
		"DescribeCapacityReservation":    describeCapacityReservation,
		"ModifyCapacityReservation":      modifyCapacityReservation,
		"ModifyIpPools":                  modifyIPPools,
		"ModifyListener":                 modifyListener,
		"DescribeListenerAttributes":     describeListenerAttributes,
		"ModifyListenerAttributes":       modifyListenerAttributes,
		"AddListenerCertificates":        addListenerCertificates,
		"RemoveListenerCertificates":     removeListenerCertificates,
		"DescribeListenerCertificates":   describeListenerCertificates,
		"CreateRule":                     createRule,
		"ModifyRule":                     modifyRule,
		"DeleteRule":                     deleteRule,
		"SetRulePriorities":              setRulePriorities,
		"DescribeRules":                  describeRules,
		"DescribeTrustStores":            describeTrustStores,
	},
}

// bucket is shared by operations of one kind.
func bucket(q *call.Request) (name string, limit call.Limit) {
	switch {
	case q.Operation == "RegisterTargets" || q.Operation == "DeregisterTargets":
		return "register", call.Register
	case strings.HasPrefix(q.Operation, "Describe"):
		return "describe", call.Describe
	case strings.HasPrefix(q.Operation, "Modify"):
		return "modify", call.Modify
	}
	return verb(q), call.Other
}

// verb is the first word of the operation's name.
func verb(q *call.Request) string {
	at := strings.IndexFunc(q.Operation[1:], unicode.IsUpper)
	return q.Operation[:at+1]
}
