// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbapi

import (
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
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
	CapacityReservationState    call.Members[zoneCapacityXML]
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
		shown := zoneCapacityXML{AvailabilityZone: zone, State: balancerStateXML{Code: r.State}}
		if r.State == state.CapacityProvisioned {
			share := float64(r.Units) / float64(len(r.Zones))
			shown.EffectiveCapacityUnits = &share
		}
		answer.CapacityReservationState.Members = append(answer.CapacityReservationState.Members, shown)
	}
	return answer, nil
}

func describeCapacityReservation(q *call.Request) (any, error) {
	return capacityAnswer(q.Cloud.ELB.Capacity(q.Text("LoadBalancerArn")))
}

func modifyCapacityReservation(q *call.Request) (any, error) {
	units, err := q.Number("MinimumLoadBalancerCapacity.CapacityUnits")
	if err != nil {
		return nil, err
	}
	if reset := q.Text("ResetCapacityReservation") == "true"; reset == (units > 0) {
		return nil, refusal.Invalid("Either the minimum load balancer capacity or a reset must be specified")
	}
	return capacityAnswer(q.Cloud.ELB.ReserveCapacity(q.Text("LoadBalancerArn"), units))
}
