// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2_test

import (
	"testing"

	"github.com/targetgate/targetgate/aws/elbv2"
)

func TestGroupName(t *testing.T) {
	for arn, want := range map[string]string{
		"arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/web/0a1b": "web",
		"arn:aws:elasticloadbalancing:eu-west-1:1:loadbalancer/app/a/1": "",
		"web": "", "": "",
	} {
		if got := elbv2.GroupName(arn); got != want {
			t.Errorf("%q: %q, want %q", arn, got, want)
		}
	}
}
