// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package input

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/stack"
)

// Input is what a group's wanted stack is built of.
type Input struct {
	Group membership.Group
	// Members are the active ones, in the order of their rules.
	Members []membership.Member
	// Services are at least those of Needs that exist.
	Services map[types.NamespacedName]*corev1.Service
	// Secrets are at least those of SecretsOf.
	Secrets map[types.NamespacedName]Secret
	AWS     AWS
	// Seen is the group's stack in AWS. Where members disagree, and where one is held, its values stay.
	Seen    stack.Stack
	Options Options
	// Rediscover looks for subnets in zones that the load balancer is not in.
	Rediscover bool

	Alone bool // AWS was not asked, and Services may be missing: what is named counts as there

	certificates map[string][]string // what CertificatesByName returns, once it is known
}

// AWS is what was looked up in AWS: at least what Needs asks for.
type AWS struct {
	Subnets []Subnet // all of the VPC
	// NoSubnets says why they are not known, "" when they are. That concerns those who name some, and a load balancer that is not there.
	NoSubnets string
	// SecurityGroups are the IDs of those of the VPC by their Name tag, NoSecurityGroups is why those of a name are not known.
	SecurityGroups   map[string][]string
	NoSecurityGroups map[string]string
	Certificates     []Certificate // all of ACM that are issued
	// NoCertificates says why they are not known, "" when they are. Members that need them are held.
	NoCertificates string
	// Own are the certificates that ACM was asked for on behalf of the group, NoOwn is why they are not known.
	Own   []OwnCertificate
	NoOwn string
	// NoShield says why AWS Shield Advanced cannot protect load balancers, "" when it can.
	NoShield string
	// NoClassicACLs says why there can be no web ACLs of AWS WAF Classic, "" when there can be some.
	NoClassicACLs string
	// TargetGroups, TrustStores and WebACLs are what was found by their names, ClassicACLs by their IDs. What was not found concerns those
	// who name it alone.
	TargetGroups, TrustStores, WebACLs, ClassicACLs map[string]Named
}

// Named is what was found by its name: its ARN, or the Reason why it is not known, or neither, as there is none.
type Named struct{ ARN, Reason string }

// Find is the ARN of what users name.
func Find(kind, name string, known map[string]Named) (string, error) {
	switch found := known[name]; {
	case found.Reason != "":
		return "", fmt.Errorf("%s %.100q could not be looked up: %s", kind, name, found.Reason)
	case found.ARN == "":
		return "", fmt.Errorf("the account has no %s %.100q in this Region: name one that it has", kind, name)
	default:
		return found.ARN, nil
	}
}

// Subnet is one of the VPC.
type Subnet struct {
	ID, Zone string
	// Locale is availability-zone, local-zone, wavelength-zone or outpost.
	Locale string
	// Free counts its free IPv4 addresses.
	Free   int32
	IPv6   bool // it has an IPv6 CIDR
	Public bool // its route table has a route to an internet gateway
	Tags   map[string]string
}

// Certificate is an issued one of ACM.
type Certificate struct {
	ARN     string
	Domains []string // its name and its alternative names
	CA      string   // ARN of the private certificate authority, "" for none
	// NotAfter is when it expires.
	NotAfter time.Time
}

// OwnCertificate is a certificate that ACM was asked for.
type OwnCertificate struct {
	Certificate
	// Waiting says why it is not issued yet, "" when it is.
	Waiting string
}

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

	// TolerateMissingService and TolerateMissingAction answer requests with 503 when a Service or an actions annotation is missing.
	TolerateMissingService, TolerateMissingAction bool
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

// MostPaths is how many paths an Ingress may have to be read: five times the rules of a load balancer. Somewhat more paths than rules may
// fit, as rules that no request needs are left out. AWS has 100 rules for a load balancer, unless the quota is raised
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html).
func (l Limits) MostPaths() int { return 5 * l.Rules }

// DefaultOptions are those without any flag.
func DefaultOptions(cluster, vpc string) Options {
	return Options{
		Cluster: cluster, VPC: vpc,
		DefaultScheme: annotation.Internal, DefaultTargetType: "instance", DefaultSSLPolicy: "ELBSecurityPolicy-2016-08",
		BackendSecurityGroups:  true,
		TolerateMissingService: true, TolerateMissingAction: true,
		WAFv2: true, WAFClassic: true, Shield: true, Capacity: true,
		TagListenersAndRules: true, CheckClusterTag: true, ByReachability: true,
		Limits: Limits{Rules: 100, Certificates: 25, TargetGroups: 100, FrontTargets: 500, ConditionValues: 5, ConditionWildcards: 6},
	}
}

// Presets are the defaults of those that are not named, none where these stay as they are.
func (in *Input) Presets(all annotation.Attributes, named map[string]string) map[string]string {
	if !in.Options.ResetAttributes {
		return nil
	}
	return all.Presets(named)
}

// SecurityGroupIDs are the IDs among the entries, in order, then those of all security groups that have one of the names, each once.
func (a *AWS) SecurityGroupIDs(entries []string) ([]string, error) {
	var ids, ofNames []string
	for _, entry := range entries {
		if isSecurityGroupID(entry) {
			ids = append(ids, entry)
			continue
		}
		if why := a.NoSecurityGroups[entry]; why != "" {
			return nil, fmt.Errorf("security groups with the tag Name=%s could not be looked up: %s", entry, why)
		}
		found := a.SecurityGroups[entry]
		if len(found) == 0 {
			return nil, fmt.Errorf("no security group of the VPC has the tag Name=%s: name one that has", entry)
		}
		ofNames = append(ofNames, slices.Sorted(slices.Values(found))...)
	}
	all := Unique(slices.Concat(ids, ofNames))
	if n := len(all); n > annotation.MostSecurityGroups {
		return nil, fmt.Errorf("%d security groups have these IDs and names: must be at most %d", n, annotation.MostSecurityGroups)
	}
	return all, nil
}

// CertificatesByName are the ARNs of the certificates that may be discovered, by the names that they are for, in lower case. The caller may
// not change them.
func (in *Input) CertificatesByName() map[string][]string {
	if in.certificates != nil {
		return in.certificates
	}
	in.certificates = map[string][]string{}
	for _, c := range in.AWS.Certificates {
		if len(in.Options.AllowedCAs) > 0 && !slices.Contains(in.Options.AllowedCAs, c.CA) {
			continue
		}
		for _, domain := range c.Domains {
			name := strings.ToLower(domain)
			in.certificates[name] = append(in.certificates[name], c.ARN)
		}
	}
	return in.certificates
}

// CertificateNames are the names of certificates that are for the host: its own, and that with a wildcard in place of its first label.
func CertificateNames(host string) []string {
	host = strings.ToLower(host)
	if _, parent, dotted := strings.Cut(host, "."); dotted {
		return []string{host, "*." + parent}
	}
	return []string{host}
}
