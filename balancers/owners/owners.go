// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package owners says which member of a group asks for what has failed, so that this one alone is held. It decides from values, and calls
// nothing.
package owners

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// Of is the name of the member that wants what has failed, "" when it is not that of one alone.
func Of(failure apply.Failure, wanted, seen stack.Stack) string {
	switch c := failure.Step.Change.(type) {
	case steps.CreateTargetGroup:
		return c.Group.Owner
	case steps.SetHealthCheck:
		return OfGroup(c.Group, wanted, seen)
	case steps.SetTargetGroupAttributes:
		return OfGroup(c.Group, wanted, seen)
	case steps.CreateBinding:
		return OfGroup(c.Binding.Group, wanted, seen)
	case steps.UpdateBinding:
		return OfGroup(c.Binding.Group, wanted, seen)
	}
	return cmp.Or(ofAccess(failure, wanted), ofRoute(failure, wanted), ofShared(failure, wanted, seen))
}

// ofShared is Of a setting of the load balancer, or of attributes.
func ofShared(failure apply.Failure, wanted, seen stack.Stack) string {
	switch c := failure.Step.Change.(type) {
	case steps.SetLoadBalancerAttributes:
		name := stack.SettingAttributes
		if c.LoadBalancer.Part == stack.FrontPart {
			name = stack.SettingFrontAttributes
		}
		return ofAttributes(name, c.Attributes, failure.Err, wanted)
	case steps.SetListenerAttributes:
		return ofAttributes(attributesOf(c.Listener, wanted, seen), c.Attributes, failure.Err, wanted)
	case steps.SetSubnets:
		return ofSubnets(c.LoadBalancer.Part, wanted)
	case steps.Set:
		return c.Setting.Voter(wanted)
	case steps.Protect:
		return wanted.Voters[stack.SettingShield]
	}
	return ""
}

// ofAttributes is the name of the first member that asks for one of the attributes that AWS has refused; if that is not known, of the
// only one that asks for any.
func ofAttributes(name string, attributes map[string]string, err error, wanted stack.Stack) (owner string) {
	var refused *apply.AttributesError
	keys := slices.Sorted(maps.Keys(attributes))
	if errors.As(err, &refused) {
		keys = refused.Keys
	}
	for _, key := range keys {
		voter := wanted.Voters[stack.OfKey(name, key)]
		if refused == nil && owner != "" && voter != owner {
			return ""
		}
		owner = cmp.Or(owner, voter)
	}
	return owner
}

// attributesOf is the name of the setting that has the attributes of a listener, which is made already or not.
func attributesOf(ref stack.Ref, wanted, seen stack.Stack) string {
	port := ref.Part
	for _, listener := range listenersOf(seen) {
		if ref.ID != "" && listener.ARN == ref.ID {
			port = strconv.Itoa(int(listener.Port))
		}
	}
	for _, listener := range listenersOf(wanted) {
		if strconv.Itoa(int(listener.Port)) == port {
			return stack.ListenerAttributes(listener.Protocol, listener.Port)
		}
	}
	return ""
}

// ofRoute is Of what is in a listener.
func ofRoute(failure apply.Failure, wanted stack.Stack) string {
	switch c := failure.Step.Change.(type) {
	case steps.CreateListener:
		return ofListener(c.Listener.Port, failure.Err, wanted)
	case steps.ModifyListener:
		return ofListener(c.To.Port, failure.Err, wanted)
	case steps.AddCertificate:
		return ofCertificate(c.Certificate, wanted)
	case steps.CreateRule:
		return c.Rule.Owner
	case steps.ModifyRule:
		return c.To.Owner
	}
	return ""
}

// ofAccess is Of who may send to the load balancer.
func ofAccess(failure apply.Failure, wanted stack.Stack) string {
	switch c := failure.Step.Change.(type) {
	case steps.Authorize:
		return ofInbound(c.Rules, failure.Err, wanted)
	case steps.CreateLoadBalancer:
		switch part := c.LoadBalancer.Part(); {
		case awserr.HasCode(failure.Err, "InvalidSecurityGroup"):
			return ofSecurityGroups(part, wanted)
		case awserr.HasCode(failure.Err, "InvalidSubnet", "SubnetNotFound"):
			return ofSubnets(part, wanted)
		}
	case steps.SetSecurityGroups:
		return ofSecurityGroups(c.LoadBalancer.Part, wanted)
	}
	return ""
}

// voterFor is the name of the member whose word counts for a setting of the load balancer. What stands in front of it has settings of its
// own, and else the same.
func voterFor(part string, wanted stack.Stack, own string, front ...string) string {
	for _, setting := range front {
		if voter := wanted.Voters[setting]; part == stack.FrontPart && voter != "" {
			return voter
		}
	}
	return wanted.Voters[own]
}

func ofSecurityGroups(part string, wanted stack.Stack) string {
	return voterFor(part, wanted, stack.SettingSecurityGroups, stack.SettingFrontSecurityGroups)
}

func ofSubnets(part string, wanted stack.Stack) string {
	return voterFor(part, wanted, stack.SettingSubnets, stack.SettingFrontSubnets, stack.SettingFrontAllocations)
}

// ofInbound is the name of the member that wants the source which AWS names, else of the only one that wants any of these.
func ofInbound(rules []stack.Inbound, err error, wanted stack.Stack) (owner string) {
	for i, rule := range rules {
		setting := stack.SettingInboundCIDRs
		if strings.HasPrefix(rule.Source, "pl-") {
			setting = stack.SettingPrefixLists
		}
		voter := wanted.Voters[stack.OfPort(setting, rule.From)]
		switch {
		case strings.Contains(err.Error(), "'"+rule.Source+"'"):
			return voter
		case i > 0 && voter != owner:
			return ""
		}
		owner = voter
	}
	return owner
}

// ofCertificate is the name of the first member that wants the certificate.
func ofCertificate(certificate string, wanted stack.Stack) string {
	for _, listener := range listenersOf(wanted) {
		if owner := listener.Owners[certificate]; owner != "" {
			return owner
		}
	}
	return ""
}

// ofListener is the name of the member that wants what AWS names, else of the only one that has rules there.
func ofListener(port int32, err error, wanted stack.Stack) (owner string) {
	all := listenersOf(wanted)
	i := slices.IndexFunc(all, func(l stack.Listener) bool { return l.Port == port })
	if i < 0 {
		return ""
	}
	listener := all[i]
	switch {
	case awserr.HasCode(err, "CertificateNotFound", "UnsupportedCertificate") && len(listener.Certificates) > 0:
		return listener.Owners[listener.Certificates[0]]
	case awserr.HasCode(err, "SSLPolicyNotFound"):
		owner = wanted.Voters[stack.OfPort(stack.SettingSSLPolicy, port)]
	case awserr.HasCode(err, "TrustStoreNotFound", "TrustStoreNotReady"):
		owner = wanted.Voters[stack.OfPort(stack.SettingMutualAuthentication, port)]
	case awserr.HasCode(err, "TargetGroupNotFound"):
		owner = listener.DefaultOwner
	}
	return cmp.Or(owner, onlyOwner(listener.Rules))
}

// onlyOwner is the name of the member that all these rules are of, "" for none.
func onlyOwner(rules []stack.Rule) (owner string) {
	for _, rule := range rules {
		if owner != "" && owner != rule.Owner {
			return ""
		}
		owner = rule.Owner
	}
	return owner
}

func listenersOf(s stack.Stack) (out []stack.Listener) {
	for _, balancer := range s.LoadBalancers {
		out = append(out, balancer.Listeners...)
	}
	return out
}

// OfGroup is the name of the member that wants the target group.
func OfGroup(ref stack.Ref, wanted, seen stack.Stack) string {
	part := ref.Part
	for _, group := range seen.TargetGroups {
		if ref.ID != "" && group.ARN == ref.ID {
			part = group.Part
		}
	}
	for _, group := range wanted.TargetGroups {
		if part != "" && group.Part == part {
			return group.Owner
		}
	}
	return ""
}
