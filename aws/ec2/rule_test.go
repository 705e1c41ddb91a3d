// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2_test

import (
	"testing"

	"github.com/targetgate/targetgate/aws/ec2"
)

func TestRuleForPeople(t *testing.T) {
	for want, rule := range map[string]ec2.Rule{
		"tcp 80 from sg-1":           {Protocol: "tcp", From: 80, To: 80, Source: ec2.Source{Group: "sg-1"}},
		"udp 0-65535 from pl-1":      {Protocol: "udp", From: 0, To: 65535, Source: ec2.Source{PrefixList: "pl-1"}},
		"tcp 80-443 from 10.0.0.0/8": {Protocol: "tcp", From: 80, To: 443, Source: cidr("10.0.0.0/8")},
	} {
		if got := rule.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestRulesOfBindingsAreKnownByTheirDescription(t *testing.T) {
	for text, want := range map[string]bool{
		"elbv2.k8s.aws/targetGroupBinding=shared":             true,
		"a=b,elbv2.k8s.aws/targetGroupBinding=shared,for web": true,
		"elbv2.k8s.aws/targetGroupBinding=mine":               false,
		"elbv2.k8s.aws/targetGroupBinding":                    false,
		"for elbv2.k8s.aws/targetGroupBinding=shared":         false,
		"": false,
	} {
		if (ec2.Permission{Description: text}).IsOfBindings() != want {
			t.Errorf("%q: %v, want %v", text, !want, want)
		}
	}
}
