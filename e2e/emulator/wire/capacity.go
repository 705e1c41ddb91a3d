// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

type capacityUnitsXML struct {
	CapacityUnits int
}

type zoneCapacityXML struct {
	AvailabilityZone       string
	EffectiveCapacityUnits *float64
	State                  balancerStateXML
}

type capacityXML struct {
	CapacityReservationState    members[zoneCapacityXML]
	DecreaseRequestsRemaining   int
	LastModifiedTime            string `xml:",omitempty"`
	MinimumLoadBalancerCapacity *capacityUnitsXML
}

// capacityAnswer shows units in a zone only once they are there.
func capacityAnswer(r state.Reservation, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	answer := capacityXML{DecreaseRequestsRemaining: r.Decreases}
	if !r.Modified.IsZero() {
		answer.LastModifiedTime = r.Modified.UTC().Format(time.RFC3339)
	}
	if r.Units > 0 {
		answer.MinimumLoadBalancerCapacity = &capacityUnitsXML{r.Units}
	}
	if r.State == "" {
		return answer, nil
	}
	for _, zone := range r.Zones {
		shown := zoneCapacityXML{AvailabilityZone: zone, State: balancerStateXML{r.State}}
		if r.State == state.CapacityProvisioned {
			share := float64(r.Units) / float64(len(r.Zones))
			shown.EffectiveCapacityUnits = &share
		}
		answer.CapacityReservationState.Members = append(answer.CapacityReservationState.Members, shown)
	}
	return answer, nil
}

func describeCapacityReservation(s *Server, q *request) (any, error) {
	return capacityAnswer(s.machine.Capacity(q.text("LoadBalancerArn")))
}

func modifyCapacityReservation(s *Server, q *request) (any, error) {
	units, err := q.number("MinimumLoadBalancerCapacity.CapacityUnits")
	if err != nil {
		return nil, err
	}
	if reset := q.text("ResetCapacityReservation") == "true"; reset == (units > 0) {
		return nil, state.Invalid("Either the minimum load balancer capacity or a reset must be specified")
	}
	return capacityAnswer(s.machine.ReserveCapacity(q.text("LoadBalancerArn"), units))
}
