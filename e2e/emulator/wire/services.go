// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import "github.com/targetgate/targetgate/e2e/emulator/state"

// action carries out one operation; its result is marshalled into the answer.
type action func(*Server, *request) (any, error)

// service is one AWS service: how it wraps answers and what it can do.
type service struct {
	version   string // or the first part of X-Amz-Target
	prefix    string // of its actions in policies
	namespace string
	// contentType is that of answers, text/xml when empty.
	contentType string
	// bucket names the token bucket of a call and its size, nil is none; overload is the answer when it is empty.
	bucket   func(Limits, *request) (kind string, limit Limit)
	overload state.Error
	// permissions are the actions that a call needs in policies, resources those that it needs each of them for.
	permissions func(*request) []string
	resources   func(*Server, *request) []string
	// further refuses a call that needs one more action and may not do that, such as to tag what it creates; nil is none.
	further func(*Server, *request) error
	denied  func(q *request, action, resource string, explicit bool) error
	answer  func(namespace, operation, id string, result any) ([]byte, error)
	refusal func(namespace, id string, status int, e *state.Error) ([]byte, error)
	actions map[string]action
}

var (
	elbv2Service = service{
		version:     "2015-12-01",
		prefix:      "elasticloadbalancing",
		permissions: ownPermission,
		resources:   elbv2Resources,
		further:     elbv2Tagging,
		denied:      accessDenied,
		namespace:   "http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/",
		bucket:      elbv2Bucket,
		overload:    state.Error{Code: "Throttling", Message: "Rate exceeded"},
		answer:      queryAnswer,
		refusal:     queryRefusal,
		actions: map[string]action{
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
	ec2Service = service{
		version:     "2016-11-15",
		prefix:      ec2Prefix,
		permissions: ownPermission,
		resources:   ec2Resources,
		further:     ec2Tagging,
		denied:      unauthorized,
		namespace:   "http://ec2.amazonaws.com/doc/2016-11-15/",
		bucket:      ec2Bucket,
		overload:    state.Error{Code: "RequestLimitExceeded", Message: "Request limit exceeded."},
		answer:      ec2Answer,
		refusal:     ec2Refusal,
		actions: map[string]action{
			"DescribeVpcs":                  describeVpcs,
			"DescribeInstances":             only(describeInstances, "InstanceId", "Filter", "MaxResults", "NextToken"),
			"DescribeNetworkInterfaces":     only(describeNetworkInterfaces, "NetworkInterfaceId", "Filter", "MaxResults", "NextToken"),
			"DescribeSecurityGroups":        only(describeSecurityGroups, "GroupId", "Filter", "MaxResults", "NextToken"),
			"DescribeSubnets":               only(describeSubnets, "SubnetId", "Filter", "MaxResults", "NextToken"),
			"DescribeRouteTables":           only(describeRouteTables, "RouteTableId", "Filter", "MaxResults", "NextToken"),
			"DescribeAvailabilityZones":     only(describeZones, "ZoneName", "Filter", "AllAvailabilityZones"),
			"CreateSecurityGroup":           only(createSecurityGroup, "GroupName", "GroupDescription", "VpcId", "TagSpecification"),
			"DeleteSecurityGroup":           only(deleteSecurityGroup, "GroupId"),
			"CreateTags":                    only(createTags, "ResourceId", "Tag"),
			"DeleteTags":                    only(deleteTags, "ResourceId", "Tag"),
			"AuthorizeSecurityGroupIngress": only(authorizeSecurityGroupIngress, "GroupId", "IpPermissions"),
			"RevokeSecurityGroupIngress":    only(revokeSecurityGroupIngress, "GroupId", "IpPermissions"),
		},
	}
	stsService = service{
		version:     "2011-06-15",
		prefix:      "sts",
		permissions: stsPermissions,
		resources:   stsResources,
		denied:      accessDenied,
		namespace:   "https://sts.amazonaws.com/doc/2011-06-15/",
		answer:      queryAnswer,
		refusal:     queryRefusal,
		actions: map[string]action{
			"AssumeRole":        assumeRole,
			"GetCallerIdentity": getCallerIdentity,
		},
	}

	services = map[string]service{
		elbv2Service.version: elbv2Service,
		ec2Service.version:   ec2Service,
		stsService.version:   stsService,
	}
)
