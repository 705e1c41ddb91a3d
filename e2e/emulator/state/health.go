// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import "fmt"

// HealthState is the state of a target as DescribeTargetHealth shows it.
type HealthState string

// The seven states.
const (
	Initial           HealthState = "initial"
	Healthy           HealthState = "healthy"
	Unhealthy         HealthState = "unhealthy"
	UnhealthyDraining HealthState = "unhealthy.draining"
	Unused            HealthState = "unused"
	Draining          HealthState = "draining"
	Unavailable       HealthState = "unavailable"
)

// Reason is the reason code that goes with a state; healthy and unhealthy.draining have none.
type Reason string

// The twelve reasons.
const (
	RegistrationInProgress   Reason = "Elb.RegistrationInProgress"
	InitialHealthChecking    Reason = "Elb.InitialHealthChecking"
	InternalError            Reason = "Elb.InternalError"
	ResponseCodeMismatch     Reason = "Target.ResponseCodeMismatch"
	Timeout                  Reason = "Target.Timeout"
	FailedHealthChecks       Reason = "Target.FailedHealthChecks"
	NotRegistered            Reason = "Target.NotRegistered"
	NotInUse                 Reason = "Target.NotInUse"
	InvalidState             Reason = "Target.InvalidState"
	IPUnusable               Reason = "Target.IpUnusable"
	DeregistrationInProgress Reason = "Target.DeregistrationInProgress"
	HealthCheckDisabled      Reason = "Target.HealthCheckDisabled"
)

// Health is what DescribeTargetHealth says about one target; the zero value is never shown.
type Health struct {
	State       HealthState
	Reason      Reason
	Description string
}

// String gives state and reason, for journals and test failures.
func (h Health) String() string {
	if h.Reason == "" {
		return string(h.State)
	}
	return string(h.State) + "/" + string(h.Reason)
}

var (
	registering  = Health{Initial, RegistrationInProgress, "Target registration is in progress"}
	checking     = Health{Initial, InitialHealthChecking, "Initial health checks in progress"}
	healthy      = Health{State: Healthy}
	timedOut     = Health{Unhealthy, Timeout, "Request timed out"}
	failedChecks = Health{Unhealthy, FailedHealthChecks, "Health checks failed"}
	internalALB  = Health{Unhealthy, InternalError, "Health checks failed due to an internal error"}
	internalNLB  = Health{Unavailable, InternalError, "Target health is unavailable due to an internal error"}
	windingDown  = Health{State: UnhealthyDraining}
	unregistered = Health{Unused, NotRegistered, "Target is not registered to the target group"}
	unattached   = Health{Unused, NotInUse, "Target group is not configured to receive traffic from the load balancer"}
	otherZone    = Health{Unused, NotInUse, "Target is in an Availability Zone that is not enabled for the load balancer"}
	notRunning   = Health{Unused, InvalidState, "Target is in the stopped or terminated state"}
	reserved     = Health{Unused, IPUnusable, "The IP address cannot be used as a target, as it is in use by a load balancer"}
	leaving      = Health{Draining, DeregistrationInProgress, "Target deregistration is in progress"}
	unchecked    = Health{Unavailable, HealthCheckDisabled, "Health checks are disabled"}
)

func mismatch(code int) Health {
	return Health{Unhealthy, ResponseCodeMismatch, fmt.Sprintf("Health checks failed with these codes: [%d]", code)}
}
