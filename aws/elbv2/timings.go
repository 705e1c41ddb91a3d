// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import "time"

// How load balancers behave in time. AWS documents little of it, so each figure names its source.
const (
	// EarliestCheckALB and EarliestCheckNLB are how long after a registration the first health check comes, at the soonest.
	// Users measure 1 to 3 s and 90 to 180 s; for the latter there is no need to be exact.
	EarliestCheckALB = time.Second
	EarliestCheckNLB = time.Minute
	// LatestCheckALB is how long after a registration an Application Load Balancer's first check is awaited. It is what users measure, with
	// room to spare; no source has a latest one.
	LatestCheckALB = 10 * time.Second
	// LatestCheckNLB is how long after a registration a Network Load Balancer's first check comes, at the latest: AWS and users
	// agree.
	LatestCheckNLB = 180 * time.Second
	// LatestHealthyNLB is how long a working target takes to become healthy behind a Network Load Balancer: AWS says 3 to 5
	// minutes.
	LatestHealthyNLB = 5 * time.Minute

	// ServeOnALB and ServeOnNLB are how long a target should serve on after its deregistration, as it still gets new requests.
	// Users measure that for 12 to 20 s and 75 to 200 s, and let pods sleep for 25 to 45 s and 120 to 270 s. Both leave 10 s for the
	// deregistration itself and for its wait.
	ServeOnALB = 30 * time.Second
	ServeOnNLB = 210 * time.Second

	// StopsSendingALB and StopsSendingNLB are how long after a deregistration a target may get new requests, at the longest that users
	// have measured.
	StopsSendingALB = 20 * time.Second
	StopsSendingNLB = 200 * time.Second

	// SettleTime is how long an accepted call outweighs a reading that does not show its effect: AWS answers 200 before anything has happened.
	// How long that lasts no source says.
	SettleTime = 10 * time.Second
	// OmissionTime is how far apart two readings of a whole group must be, at least, that do not show a target for it not to be there: one may
	// leave it out. No source says for how long.
	OmissionTime = 5 * time.Second

	// MaxDeregistrationDelay is the longest that AWS documents.
	MaxDeregistrationDelay = time.Hour
)

// IsApplication reports whether target groups of the protocol are for Application Load Balancers. All others are for Network
// Load Balancers.
func IsApplication[P ~string](protocol P) bool { return protocol == "HTTP" || protocol == "HTTPS" }

// EarliestCheck returns how long after a registration the first health check comes, at the soonest.
func EarliestCheck[P ~string](protocol P) time.Duration {
	if IsApplication(protocol) {
		return EarliestCheckALB
	}
	return EarliestCheckNLB
}

// HealthyWithin returns how long a working target may take from registration to healthy, and how much of that depends on the
// settings. For Application Load Balancers a new target must pass one check; for Network Load Balancers, according to AWS
// Support, as many as the threshold.
func (c HealthCheck) HealthyWithin(protocol string) (checks, all time.Duration) {
	if IsApplication(protocol) {
		checks = c.Interval + c.Timeout
		return checks, checks
	}
	checks = time.Duration(max(c.HealthyThreshold-1, 0))*c.Interval + c.Timeout
	return checks, checks + LatestCheckNLB
}
