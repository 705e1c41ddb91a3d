// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"sync"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/acm"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/record"
	"github.com/targetgate/targetgate/e2e/emulator/region"
)

// Machine is all load balancers, target groups and targets of one region. Safe for concurrent use. Its lock comes before those of EC2, ACM
// and the region.
type Machine struct {
	region  *region.Region
	ec2     *ec2.Network
	acm     *acm.ACM
	opts    Options
	journal *record.Log[Event]
	changed chan struct{}

	mu        sync.Mutex
	due       moments
	probes    []Probe
	groups    map[string]*group
	order     []*group
	balancers map[string]*balancer
	listeners []*listener
	reserved  map[string]bool
	tags      record.Histories[map[string]string]
	hidden    map[string]time.Time // until when API calls do not find what is new, by ARN
	// certificates are the ARNs that listeners may name beside those of ACM.
	certificates map[string]bool
	trustStores  []TrustStore
	// pools are the address pools that load balancers may have; capacity, if it is set, is the most units that one can reserve.
	pools       map[string]bool
	capacity    *int
	allocations map[string]Allocation
	lingering   map[string]int // allocations that deleted load balancers have left, and how many
	nodes       int            // load balancers that got addresses so far
	// doom is why load balancers that are asked for from now on cannot be set up, "" as they can.
	doom string
}

// New makes a machine whose load balancers are in a network, with certificates of an ACM.
func New(in *region.Region, network *ec2.Network, certificates *acm.ACM, opts Options) *Machine {
	m := &Machine{
		region:       in,
		ec2:          network,
		acm:          certificates,
		opts:         opts.withDefaults(),
		journal:      record.New[Event](0),
		changed:      make(chan struct{}, 1),
		groups:       map[string]*group{},
		balancers:    map[string]*balancer{},
		reserved:     map[string]bool{},
		pools:        map[string]bool{},
		allocations:  map[string]Allocation{},
		tags:         record.Histories[map[string]string]{},
		hidden:       map[string]time.Time{},
		certificates: map[string]bool{},
		lingering:    map[string]int{},
	}
	network.OnInstances(func() {
		now := m.enter()
		defer m.leave()
		m.reconsiderAll(now)
	})
	return m
}

// Changed receives a value after any change that may bring the next moment forward or open or close a listener.
func (m *Machine) Changed() <-chan struct{} { return m.changed }

// enter locks the machine with everything applied that is due; leave unlocks it.
func (m *Machine) enter() time.Time {
	m.mu.Lock()
	now := m.region.Now()
	m.apply(now)
	return now
}

func (m *Machine) leave() { m.mu.Unlock() }

// nudge tells the driver to look again.
func (m *Machine) nudge() {
	select {
	case m.changed <- struct{}{}:
	default:
	}
}
