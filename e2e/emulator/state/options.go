// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/region"
)

// Timing is how long one type of load balancer takes, before scaling.
type Timing struct {
	// Register is from RegisterTargets to the moment the load balancer knows the target.
	Register region.Range
	// FirstCheck is the most that passes from there to the first health check; it is cut to the check interval.
	FirstCheck time.Duration
	// Stop is from DeregisterTargets to the moment no new request is sent to the target.
	Stop region.Range
	// FirstPasses is how many checks in a row make a newly registered target healthy; 0 is the healthy threshold.
	FirstPasses int
	// Visible is from RegisterTargets and DeregisterTargets to the moment DescribeTargetHealth tells of them: until then
	// a new target is missing and a leaving one is shown as it was. The default is at once.
	Visible region.Range
}

// Timings holds the timing of both types.
type Timings struct {
	ALB, NLB Timing
}

// DefaultTimings are what users and AWS report.
func DefaultTimings() Timings {
	return Timings{
		ALB: Timing{
			Register:    region.Range{Min: time.Second, Max: 3 * time.Second},
			FirstCheck:  10 * time.Second,
			Stop:        region.Range{Min: 12 * time.Second, Max: 20 * time.Second},
			FirstPasses: 1,
		},
		NLB: Timing{
			Register:   region.Range{Min: 90 * time.Second, Max: 180 * time.Second},
			FirstCheck: 10 * time.Second,
			Stop:       region.Range{Min: 120 * time.Second, Max: 200 * time.Second},
		},
	}
}

// Quotas are the service's limits. A draining target counts until it is gone.
type Quotas struct {
	Groups                 int
	TargetsPerGroup        int
	TargetsPerALB          int
	TargetsPerNLBZone      int // in all, when cross-zone load balancing is on
	GroupsPerALB           int
	RegistrationsPerTarget int // how often one id may be registered behind one load balancer
	// Those of load balancers; 0 is the default.
	Balancers, ListenersPerBalancer, SecurityGroupsPerBalancer int
	RulesPerBalancer, CertificatesPerBalancer                  int // without the default ones
	GroupsPerAction, ValuesPerRule, WildcardsPerRule           int
	CapacityUnitsPerBalancer                                   int // reserved
}

// GroupQuotas are limits for one group alone; those that are 0 are the Quotas of all.
type GroupQuotas struct {
	Targets                int
	RegistrationsPerTarget int // as in Quotas, for registrations in this group
}

// DefaultQuotas are those of a new account.
func DefaultQuotas() Quotas {
	return Quotas{
		Groups:                 3000,
		TargetsPerGroup:        1000,
		TargetsPerALB:          1000,
		TargetsPerNLBZone:      500,
		GroupsPerALB:           100,
		RegistrationsPerTarget: 1000,

		Balancers: 50, ListenersPerBalancer: 50, SecurityGroupsPerBalancer: 5,
		RulesPerBalancer: 100, CertificatesPerBalancer: 25,
		GroupsPerAction: 5, ValuesPerRule: 5, WildcardsPerRule: 5,
		CapacityUnitsPerBalancer: 15000,
	}
}

func (q Quotas) withDefaults() Quotas {
	preset := DefaultQuotas()
	for field, value := range map[*int]int{
		&q.Balancers: preset.Balancers, &q.ListenersPerBalancer: preset.ListenersPerBalancer,
		&q.SecurityGroupsPerBalancer: preset.SecurityGroupsPerBalancer,
		&q.RulesPerBalancer:          preset.RulesPerBalancer, &q.CertificatesPerBalancer: preset.CertificatesPerBalancer,
		&q.GroupsPerAction: preset.GroupsPerAction, &q.ValuesPerRule: preset.ValuesPerRule, &q.WildcardsPerRule: preset.WildcardsPerRule,
		&q.CapacityUnitsPerBalancer: preset.CapacityUnitsPerBalancer,
	} {
		*field = cmp.Or(*field, value)
	}
	return q
}

// Delays are how long changes of load balancers take, before scaling.
type Delays struct {
	// Provisioning is from the call that creates a load balancer to the moment it is active and takes traffic in.
	Provisioning region.Range
	// RuleBatch is the time between the batches with which changed rules and default actions reach the data plane. Those of one load
	// balancer that are in one batch are followed from the same moment on.
	RuleBatch time.Duration
	// Release is how long the target groups of a deleted load balancer are still in use, Linger how long its security groups are.
	Release, Linger region.Range
	// Tags is how old the tags are that DescribeTags shows, drawn for each call: a later one may show older ones.
	Tags region.Range
	// Shown is from the call that creates a load balancer, target group, listener or rule to the moment other calls find and list it.
	Shown region.Range
	// Capacity is from the call that reserves capacity to the moment it is there.
	Capacity region.Range
}

// DefaultDelays are what users report. New tags are shown at once.
func DefaultDelays() Delays {
	return Delays{
		Provisioning: region.Range{Min: 2 * time.Minute, Max: 5 * time.Minute},
		RuleBatch:    10 * time.Second,
		Release:      region.Range{Min: time.Second, Max: 10 * time.Second},
		Linger:       region.Range{Min: time.Minute, Max: 2 * time.Minute},
		Capacity:     region.Range{Min: time.Minute, Max: 5 * time.Minute},
	}
}

// Options configure a Machine; the zero value is AWS's behaviour.
type Options struct {
	// Timings, Quotas and Delays replace the defaults as a whole.
	Timings *Timings
	Quotas  *Quotas
	Delays  *Delays
	// RefuseMissing has the deletion of a load balancer that is not there be LoadBalancerNotFound; otherwise it succeeds.
	RefuseMissing bool
	// RejectWhileDraining refuses to register a target that is still draining; otherwise it starts anew.
	RejectWhileDraining bool
}

func (o Options) withDefaults() Options {
	if o.Timings == nil {
		timings := DefaultTimings()
		o.Timings = &timings
	}
	if o.Quotas == nil {
		quotas := DefaultQuotas()
		o.Quotas = &quotas
	}
	quotas := o.Quotas.withDefaults()
	o.Quotas = &quotas
	if o.Delays == nil {
		delays := DefaultDelays()
		o.Delays = &delays
	}
	return o
}
