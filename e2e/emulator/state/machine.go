// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/record"
)

// Machine is all load balancers, target groups, targets and security groups of one region. Safe for concurrent use.
type Machine struct {
	opts    Options
	journal *record.Log[Event]
	changed chan struct{}

	mu        sync.Mutex
	rng       *rand.Rand
	due       moments
	probes    []Probe
	groups    map[string]*group
	order     []*group
	balancers map[string]*balancer
	listeners []*listener
	instances map[string]Instance
	reserved  map[string]bool
	tags      histories[map[string]string]
	// certificates are the ARNs that listeners may name.
	certificates map[string]bool
	trustStores  []TrustStore
	// lingering are the security groups and Elastic IP addresses of network interfaces that deleted load balancers have left, and how many.
	lingering map[string]int
	// pools are the address pools that load balancers may have; capacity, if it is set, is the most units that one can reserve.
	pools       map[string]bool
	allocations map[string]Allocation
	capacity    *int

	ec2        ec2
	acm        acm
	waf        waf
	wafClassic wafClassic
	shield     shield
	nodes      int // load balancers that got addresses so far
}

// New makes an empty machine.
func New(opts Options) *Machine {
	opts = opts.withDefaults()
	return &Machine{
		opts:         opts,
		journal:      record.New[Event](0),
		changed:      make(chan struct{}, 1),
		rng:          rand.New(rand.NewPCG(opts.Seed, opts.Seed)), // repeatable draws, not secrets
		groups:       map[string]*group{},
		balancers:    map[string]*balancer{},
		instances:    map[string]Instance{},
		reserved:     map[string]bool{},
		pools:        map[string]bool{},
		allocations:  map[string]Allocation{},
		tags:         histories[map[string]string]{},
		certificates: map[string]bool{},
		lingering:    map[string]int{},
		ec2:          newEC2(opts.VPCs),
		waf:          newWAF(),
		wafClassic:   wafClassic{byBalancer: map[string]string{}},
		shield:       shield{subscribed: map[string]bool{}},
	}
}

// Options returns the settings in use, defaults filled in.
func (m *Machine) Options() Options { return m.opts }

// Changed receives a value after any change that may bring the next moment forward or open or close a listener.
func (m *Machine) Changed() <-chan struct{} { return m.changed }

// Scaled applies the machine's factor to a duration.
func (m *Machine) Scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * m.opts.Scale)
}

// enter locks the machine with everything applied that is due; leave unlocks it.
func (m *Machine) enter() time.Time {
	m.mu.Lock()
	now := m.opts.Clock.Now()
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

// draw picks a scaled duration from a range.
func (m *Machine) draw(r Range) time.Duration {
	spread := r.Max - r.Min
	if spread > 0 {
		spread = time.Duration(m.rng.Int64N(int64(spread) + 1))
	}
	return m.Scaled(r.Min + spread)
}

// uuid makes an id of the services that have such.
func (m *Machine) uuid() string {
	id := m.id() + m.id()
	return id[:8] + "-" + id[8:12] + "-" + id[12:16] + "-" + id[16:20] + "-" + id[20:]
}

// id makes the random part of an ARN.
func (m *Machine) id() string {
	const digits = "0123456789abcdef"
	id := make([]byte, 16)
	for i := range id {
		id[i] = digits[m.rng.IntN(len(digits))]
	}
	return string(id)
}
