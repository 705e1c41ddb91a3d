// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"net"
	"strconv"
	"time"
)

// Key identifies a target within its group: the same id with another port is another target.
type Key struct {
	ID   string
	Port int
}

// String gives id:port.
func (k Key) String() string { return net.JoinHostPort(k.ID, strconv.Itoa(k.Port)) }

// Target is a registered target. In calls, Port 0 is the group's own port, Zone "" is detected, and Address is ignored.
type Target struct {
	Key
	// Zone is an Availability Zone, or all.
	Zone string
	// Address is where the target is reached: its IP, an instance's IP, or an ALB's ARN.
	Address string
}

// view is what the load balancer's routing holds a target for. It lags behind what is shown.
type view int

const (
	unseen view = iota // not known, or no longer
	fresh              // known, not checked enough
	fit
	unfit
)

type target struct {
	Target
	// life counts the target's new starts; moments and health checks of an earlier life are void.
	life int
	// hidden is set when the target is no longer registered but still gets new requests.
	hidden bool
	health Health
	view   view
	routed bool
	// novel holds until the first verdict after a registration.
	novel         bool
	passes, fails int
	// broken is an internal error of the load balancer; what is shown meanwhile hides after.
	broken bool
	after  Health
	// settles is when unhealthy.draining turns into after.
	settles time.Time
}

func (t *target) draining() bool { return t.health.State == Draining || t.hidden }

// registered are the targets that DescribeTargetHealth lists.
func (g *group) registered() []*target {
	var found []*target
	for _, t := range g.members {
		if !t.hidden {
			found = append(found, t)
		}
	}
	return found
}

// checked reports whether the verdicts of health checks are what is shown of the target.
func (t *target) checked() bool {
	return !t.draining() && t.view != unseen && t.health != windingDown && t.health != unchecked
}
