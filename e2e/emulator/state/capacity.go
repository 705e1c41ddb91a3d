// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"slices"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
)

// States of the capacity that is reserved for a load balancer.
const (
	CapacityPending     = "pending"
	CapacityProvisioned = "provisioned"
)

// Reserved capacity may be made smaller so many times within so long.
const (
	mostDecreases = 2
	decreaseSpan  = 24 * time.Hour
)

// Reservation is the capacity that is reserved for a load balancer.
type Reservation struct {
	// Units are those asked for last, 0 is none.
	Units int
	// State is the same in all Zones, "" when none was asked for or the last reset is through.
	State string
	Zones []string
	// Modified is the time of the last request; Decreases is how many more may ask for less today.
	Modified  time.Time
	Decreases int
}

type reservation struct {
	units     int
	state     string
	modified  time.Time
	decreases []time.Time
}

func (m *Machine) reservation(b *balancer, now time.Time) Reservation {
	since := now.Add(-m.region.Scaled(decreaseSpan))
	b.reservation.decreases = slices.DeleteFunc(b.reservation.decreases, func(at time.Time) bool { return !at.After(since) })
	shown := Reservation{
		Units: b.reservation.units, State: b.reservation.state, Modified: b.reservation.modified,
		Decreases: mostDecreases - len(b.reservation.decreases),
	}
	for _, zone := range b.Zones {
		shown.Zones = append(shown.Zones, zone.Zone)
	}
	return shown
}

// Capacity tells of the capacity that is reserved for a load balancer.
func (m *Machine) Capacity(arn string) (Reservation, error) {
	now := m.enter()
	defer m.leave()
	b, ok := m.balancers[arn]
	if !ok {
		return Reservation{}, loadBalancerNotFound()
	}
	return m.reservation(b, now), nil
}

// ReserveCapacity asks for capacity units for a load balancer, in place of those that it has; 0 gives them back.
func (m *Machine) ReserveCapacity(arn string, units int) (Reservation, error) {
	now := m.enter()
	defer m.leave()
	b, ok := m.balancers[arn]
	if !ok {
		return Reservation{}, loadBalancerNotFound()
	}
	r, present := &b.reservation, m.reservation(b, now)
	if err := m.validateCapacity(b, present, units); err != nil {
		return Reservation{}, err
	}
	if present.lessens(units) {
		r.decreases = append(r.decreases, now)
	}
	r.units, r.state, r.modified = units, CapacityPending, now
	m.later(now.Add(m.region.Draw(m.opts.Delays.Capacity)), func(time.Time) {
		r.state = CapacityProvisioned
		if units == 0 {
			r.state = ""
		}
	})
	return m.reservation(b, now), nil
}

// lessens reports whether a request counts as a decrease. To give all back does not.
func (r Reservation) lessens(units int) bool { return 0 < units && units < r.Units }

func (m *Machine) validateCapacity(b *balancer, present Reservation, units int) error {
	switch {
	case !b.Active:
		return refusal.New("PriorRequestNotComplete", "The load balancer '%s' is being provisioned", b.ARN)
	case b.reservation.state == CapacityPending:
		return capacityPending(b)
	case present.lessens(units) && present.Decreases == 0:
		return refusal.New("CapacityDecreaseRequestLimitExceeded", "You've exceeded the daily capacity decrease limit for this reservation")
	case units > m.opts.Quotas.CapacityUnitsPerBalancer:
		return refusal.New("CapacityUnitsLimitExceeded", "You've exceeded the capacity units limit of %d", m.opts.Quotas.CapacityUnitsPerBalancer)
	case m.capacity != nil && units > *m.capacity:
		return refusal.New("InsufficientCapacity", "There is insufficient capacity to reserve")
	}
	return nil
}

func capacityPending(b *balancer) error {
	return refusal.New("CapacityReservationPending", "There is a pending capacity reservation for load balancer '%s'", b.ARN)
}

// SetFreeCapacity has AWS refuse to reserve more than so many units for a load balancer. At first there is enough.
func (m *Machine) SetFreeCapacity(units int) {
	m.enter()
	defer m.leave()
	m.capacity = &units
}
