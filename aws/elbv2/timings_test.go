// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"testing"
	"time"
)

func TestTimingsDependOnTheLoadBalancer(t *testing.T) {
	check := HealthCheck{Interval: 10 * time.Second, Timeout: 5 * time.Second, HealthyThreshold: 3}
	for protocol, tc := range map[string]struct {
		application           bool
		earliest, checks, all time.Duration
	}{
		"HTTP":  {true, EarliestCheckALB, 15 * time.Second, 15 * time.Second},
		"HTTPS": {true, EarliestCheckALB, 15 * time.Second, 15 * time.Second},
		"TCP":   {false, EarliestCheckNLB, 25 * time.Second, 205 * time.Second},
		"TLS":   {false, EarliestCheckNLB, 25 * time.Second, 205 * time.Second},
	} {
		t.Run(protocol, func(t *testing.T) {
			if got := IsApplication(protocol); got != tc.application {
				t.Errorf("for Application Load Balancers: %v, want %v", got, tc.application)
			}
			if got := EarliestCheck(protocol); got != tc.earliest {
				t.Errorf("first check after %s, want %s", got, tc.earliest)
			}
			if checks, all := check.HealthyWithin(protocol); checks != tc.checks || all != tc.all {
				t.Errorf("healthy within %s, %s of it by the settings; want %s, %s", all, checks, tc.all, tc.checks)
			}
		})
	}
	if checks, _ := (HealthCheck{Timeout: time.Second}).HealthyWithin("TCP"); checks != time.Second {
		t.Errorf("checks of a group without a threshold take %s, want one timeout", checks)
	}
}
