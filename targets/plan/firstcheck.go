// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// earliestHealthy is the first moment at which the load balancer can find the target healthy, by its settings: a new one
// after one check, an unhealthy one after as many passes in a row as its threshold says.
func earliestHealthy(t targetgroup.Target, settings *v1beta1.TargetGroupSettings) time.Time {
	switch {
	case settings == nil:
		return time.Time{}
	case t.Health.State == elbv2.StateUnhealthy:
		check := settings.HealthCheck
		return t.Since.Add(time.Duration((check.HealthyThreshold-1)*check.IntervalSeconds) * time.Second)
	case t.OwnedAt.IsZero():
		return time.Time{}
	default:
		return t.OwnedAt.Add(elbv2.EarliestCheck(settings.Protocol))
	}
}

// ExpectedWait is how long a pod may wait at its gate without a word: the time that a healthy one takes by the health check
// settings. An unused target is not checked at all, so it is only given time to come into use.
func ExpectedWait(settings *v1beta1.TargetGroupSettings, state elbv2.State) time.Duration {
	const (
		comesIntoUse = 10 * time.Second
		rounds       = 2 // of checks, in case the first one comes too soon for the pod
	)
	switch {
	case state == elbv2.StateUnused:
		return comesIntoUse
	case settings == nil || !elbv2.IsApplication(settings.Protocol):
		return elbv2.LatestHealthyNLB
	}
	check := settings.HealthCheck
	return elbv2.LatestCheckALB + rounds*time.Duration(check.IntervalSeconds+check.TimeoutSeconds)*time.Second
}
