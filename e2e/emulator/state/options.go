// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"time"

	"k8s.io/utils/clock"
)

// Range is a duration drawn uniformly between Min and Max.
type Range struct {
	Min, Max time.Duration
}

// Timing is how long one type of load balancer takes, before scaling.
type Timing struct {
	// Register is from RegisterTargets to the moment the load balancer knows the target.
	Register Range
	// FirstCheck is the most that passes from there to the first health check; it is cut to the check interval.
	FirstCheck time.Duration
	// Stop is from DeregisterTargets to the moment no new request is sent to the target.
	Stop Range
	// FirstPasses is how many checks in a row make a newly registered target healthy; 0 is the healthy threshold.
	FirstPasses int
	// Visible is from RegisterTargets and DeregisterTargets to the moment DescribeTargetHealth tells of them: until then
	// a new target is missing and a leaving one is shown as it was. The default is at once.
	Visible Range
}

// Timings holds the timing of both types.
type Timings struct {
	ALB, NLB Timing
}

// DefaultTimings are what users and AWS report.
func DefaultTimings() Timings {
	return Timings{
		ALB: Timing{
			Register:    Range{time.Second, 3 * time.Second},
			FirstCheck:  10 * time.Second,
			Stop:        Range{12 * time.Second, 20 * time.Second},
			FirstPasses: 1,
		},
		NLB: Timing{
			Register:   Range{90 * time.Second, 180 * time.Second},
			FirstCheck: 10 * time.Second,
			Stop:       Range{120 * time.Second, 200 * time.Second},
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
	RulesPerSecurityGroup  int // inbound, of either address family
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
		RulesPerSecurityGroup:  60,

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
	Provisioning Range
	// RuleBatch is the time between the batches with which changed rules and default actions reach the data plane. Those of one load
	// balancer that are in one batch are followed from the same moment on.
	RuleBatch time.Duration
	// Release is how long the target groups of a deleted load balancer are still in use, Linger how long its security groups are.
	Release, Linger Range
	// Tags is how old the tags are that DescribeTags shows, drawn for each call: a later one may show older ones.
	Tags Range
	// Capacity is from the call that reserves capacity to the moment it is there.
	Capacity Range
	// Certificate is from the request of a certificate to the moment that its validation records are shown, or that a private CA has
	// issued it.
	Certificate Range
}

// DefaultDelays are what users report. New tags are shown at once.
func DefaultDelays() Delays {
	return Delays{
		Provisioning: Range{2 * time.Minute, 5 * time.Minute},
		RuleBatch:    10 * time.Second,
		Release:      Range{time.Second, 10 * time.Second},
		Linger:       Range{time.Minute, 2 * time.Minute},
		Capacity:     Range{time.Minute, 5 * time.Minute},
		Certificate:  Range{time.Second, 10 * time.Second},
	}
}

// Options configure a Machine; the zero value is a real-time emulator of eu-west-1 with one VPC.
type Options struct {
	// Clock is the real one when nil.
	Clock clock.Clock
	// Scale multiplies every duration of the load balancers: 0.1 is ten times faster. 0 means 1.
	Scale float64
	// Seed of the random choices; the same seed and the same calls give the same draws.
	Seed uint64
	// Region is part of every ARN; eu-west-1 when empty.
	Region string
	// Account owns what is created without naming another one; 123456789012 when empty.
	Account string
	// VPCs known to the account; DefaultVPC when empty.
	VPCs []VPC
	// Timings, Quotas and Delays replace the defaults as a whole.
	Timings *Timings
	Quotas  *Quotas
	Delays  *Delays
	// RefuseMissing has the deletion of a load balancer that is not there be LoadBalancerNotFound; otherwise it succeeds.
	RefuseMissing bool
	// RejectWhileDraining refuses to register a target that is still draining; otherwise it starts anew.
	RejectWhileDraining bool
	// EC2Lag is how old the picture is that a call reads of security groups and interfaces, drawn for each call: a later call
	// may show an older one. nil is up to two seconds. What a call changes is always up to date.
	EC2Lag *Range
}

// Defaults of Options.
const (
	DefaultRegion  = "eu-west-1"
	DefaultAccount = "123456789012"
)

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Scale == 0 {
		o.Scale = 1
	}
	if o.Region == "" {
		o.Region = DefaultRegion
	}
	if o.Account == "" {
		o.Account = DefaultAccount
	}
	if len(o.VPCs) == 0 {
		o.VPCs = []VPC{DefaultVPC(o.Region)}
	}
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
	if o.EC2Lag == nil {
		o.EC2Lag = &Range{Max: 2 * time.Second}
	}
	return o
}
