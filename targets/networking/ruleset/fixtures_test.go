// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ruleset

import (
	"net/netip"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

const (
	testCluster = "shop"
	clusterTag  = clusterTagPrefix + testCluster
	otherTag    = clusterTagPrefix + "till"
)

var (
	noon     = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	prefixes = cmpopts.EquateComparable(netip.Prefix{})
)

func keyOf(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "shop", Name: name}
}

func spec(rules ...v1beta1.NetworkingIngressRule) *v1beta1.TargetGroupBindingNetworking {
	return &v1beta1.TargetGroupBindingNetworking{Ingress: rules}
}

// from is a rule that admits a source, a CIDR or the ID of a group, to TCP ports: numbers or names.
func from(source string, ports ...any) v1beta1.NetworkingIngressRule {
	rule := v1beta1.NetworkingIngressRule{From: []v1beta1.NetworkingPeer{peer(source)}}
	for _, port := range ports {
		rule.Ports = append(rule.Ports, tcp(port))
	}
	return rule
}

func peer(source string) v1beta1.NetworkingPeer {
	if _, err := netip.ParsePrefix(source); err == nil {
		return v1beta1.NetworkingPeer{IPBlock: &v1beta1.IPBlock{CIDR: source}}
	}
	return v1beta1.NetworkingPeer{SecurityGroup: &v1beta1.SecurityGroup{GroupID: source}}
}

// tcp is a port of TCP; nil is one without a number.
func tcp(port any) v1beta1.NetworkingPort {
	switch port := port.(type) {
	case int:
		return v1beta1.NetworkingPort{Port: new(intstr.FromInt(port))}
	case string:
		return v1beta1.NetworkingPort{Port: new(intstr.FromString(port))}
	default:
		return v1beta1.NetworkingPort{}
	}
}

// rule is a rule of TCP.
func rule(first, last int32, source string) ec2.Rule {
	r := ec2.Rule{Protocol: "tcp", From: first, To: last}
	if cidr, err := netip.ParsePrefix(source); err == nil {
		r.Source.CIDR = cidr
	} else {
		r.Source.Group = source
	}
	return r
}

// labelled are rules with the label.
func labelled(rules ...ec2.Rule) []ec2.Permission {
	var out []ec2.Permission
	for _, r := range rules {
		out = append(out, ec2.Permission{Rule: r, Description: Description})
	}
	return out
}
