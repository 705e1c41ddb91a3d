// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ruleset

import (
	"net/netip"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/targets/fixture"
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

// What tests write most.
var (
	from = fixture.From
	peer = fixture.Peer
	tcp  = fixture.TCP
	rule = fixture.Rule
)

// labelled are rules with the label.
func labelled(rules ...ec2.Rule) []ec2.Permission {
	var out []ec2.Permission
	for _, r := range rules {
		out = append(out, ec2.Permission{Rule: r, Description: Description})
	}
	return out
}
