// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package parts

import (
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/targets/consent"
)

// Options are the flags and feature gates that say how stacks are built.
type Options struct {
	Cluster, VPC string

	DefaultScheme, DefaultTargetType, DefaultSSLPolicy string
	// DefaultTags are on all that is made. ExternalTags are keys of tags that others write.
	DefaultTags  map[string]string
	ExternalTags []string
	// DefaultTagsLast has all other tags count before the default ones.
	DefaultTagsLast bool

	// BackendSecurityGroups says whether load balancers have the security group that all of a cluster share. BackendSecurityGroup is its
	// ID if somebody else has made it.
	BackendSecurityGroups bool
	BackendSecurityGroup  string
	ManageBackendRules    bool
	// UnrestrictedRules opens all ports from load balancers to targets.
	UnrestrictedRules bool

	// AllowedCAs are the certificate authorities whose certificates are discovered; empty for all.
	AllowedCAs []string
	// IssueCertificates is the gate EnableCertificateManagement. DefaultCA is the ARN of the private certificate authority of certificates
	// whose Ingresses say none, "" for Amazon.
	IssueCertificates bool
	DefaultCA         string
	// WAFv2, WAFClassic and Shield say whether web ACLs and protections are ours to change.
	WAFv2, WAFClassic, Shield bool
	// Capacity allows to reserve capacity: it is the gate LBCapacityReservation.
	Capacity bool
	// TagListenersAndRules is the gate ListenerRulesTagging.
	TagListenersAndRules bool
	// CheckClusterTag leaves subnets of other clusters out. ByReachability finds subnets without role tags by their routes.
	CheckClusterTag, ByReachability bool
	// ResetAttributes has attributes that nothing names go back to AWS's defaults.
	ResetAttributes bool
	// AddZones has load balancers get subnets in zones that they are not in yet.
	AddZones bool
	// SingleSubnet allows a load balancer with one subnet.
	SingleSubnet bool

	// Consent says whether the owner of a target group that users name must have consented to that.
	Consent consent.Mode

	Limits Limits
}

// Limits are the quotas of the account.
type Limits struct {
	// Rules, Certificates and TargetGroups are those of a load balancer; default rules and certificates do not count.
	Rules, Certificates, TargetGroups int
	// FrontTargets is that of targets in a zone of a Network Load Balancer.
	FrontTargets int
	// ConditionValues and ConditionWildcards are those of a rule.
	ConditionValues, ConditionWildcards int
}

// DefaultOptions are those without any flag.
func DefaultOptions(cluster, vpc string) Options {
	return Options{
		Cluster: cluster, VPC: vpc,
		DefaultScheme: stack.Internal, DefaultTargetType: "instance", DefaultSSLPolicy: "ELBSecurityPolicy-2016-08",
		BackendSecurityGroups: true,
		WAFv2:                 true, WAFClassic: true, Shield: true, Capacity: true,
		TagListenersAndRules: true, CheckClusterTag: true, ByReachability: true,
		Limits: Limits{Rules: 100, Certificates: 25, TargetGroups: 100, FrontTargets: 500, ConditionValues: 5, ConditionWildcards: 6},
	}
}
