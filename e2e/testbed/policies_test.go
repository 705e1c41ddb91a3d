// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"testing"

	"github.com/targetgate/targetgate/e2e/emulator/iam"
)

func TestPoliciesAreWhatTheREADMESays(t *testing.T) {
	policies, err := (&Bed{root: "../.."}).policies()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		action, resource string
		want             bool
	}{
		{"sts:AssumeRole", "arn:aws:iam::210987654321:role/shared", true},
		{"ec2:AuthorizeSecurityGroupIngress", "arn:aws:ec2:eu-west-1:123456789012:security-group/sg-1", true},
		{"elasticloadbalancing:DescribeTargetHealth", "*", true},
		{"elasticloadbalancing:DeleteTargetGroup", "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/a/b", false},
		{"ec2:DescribeVpcs", "*", false},
	} {
		if got := iam.Evaluate(policies, iam.Call{Action: tc.action, Resource: tc.resource}).Allowed; got != tc.want {
			t.Errorf("%s is allowed: %v, want %v", tc.action, got, tc.want)
		}
	}
}
