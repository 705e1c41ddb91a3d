// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"context"
	"crypto/tls"
	"net/http"
	"sync"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/cloud"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// Plane drives the load balancers of a cloud until it is closed.
type Plane struct {
	cloud   *cloud.Cloud
	machine *state.Machine
	opts    Options
	checks  *http.Transport
	traffic *traffic
	flights flights
	logins  logins

	// ctx ends with the plane, and with it all its goroutines, which work counts.
	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup
	// seen is how far cut has read the journal.
	seen int

	mu    sync.Mutex
	doors map[string]*door
}

// Start begins to drive the load balancers, which must run on the real clock.
func Start(ctx context.Context, aws *cloud.Cloud, opts Options) *Plane {
	opts = opts.withDefaults()
	if opts.Certificate == nil {
		opts.Certificate = certificateFor(aws)
	}
	p := &Plane{
		cloud:   aws,
		machine: aws.ELB,
		opts:    opts,
		traffic: newTraffic(opts.MaxRequests),
		flights: flights{byTarget: map[flightKey]map[int]context.CancelFunc{}},
		logins:  logins{begun: map[string]begun{}, sessions: map[string]session{}},
		doors:   map[string]*door{},
		checks: &http.Transport{
			DisableKeepAlives:  true,
			DisableCompression: true,
			TLSClientConfig:    &tls.Config{InsecureSkipVerify: true}, // ELB does not verify targets either
		},
	}
	p.ctx, p.stop = context.WithCancel(ctx)
	p.work.Go(p.drive)
	return p
}

// Close ends all traffic and waits for all goroutines.
func (p *Plane) Close() {
	p.mu.Lock() // a door that is being opened is waited for
	p.stop()
	p.mu.Unlock()
	p.work.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range p.doors {
		d.close()
	}
	p.doors = map[string]*door{}
}

// drive is the one scheduler.
func (p *Plane) drive() {
	p.syncDoors()
	for p.ctx.Err() == nil {
		probes, next := p.machine.Advance()
		for _, probe := range probes {
			p.work.Go(func() { p.check(probe) })
		}
		p.cut()
		p.sleep(next)
	}
}

// sleep waits for the next moment or a change that may bring it forward.
func (p *Plane) sleep(next time.Time) {
	clock := p.cloud.Region.Clock()
	var due <-chan time.Time
	if !next.IsZero() {
		timer := clock.NewTimer(next.Sub(clock.Now()))
		defer timer.Stop()
		due = timer.C()
	}
	select {
	case <-due:
	case <-p.machine.Changed():
		p.syncDoors()
	case <-p.ctx.Done():
	}
}

// cut ends what is in flight to targets for which the journal asks it.
func (p *Plane) cut() {
	events := p.machine.Journal(p.seen)
	p.seen += len(events)
	for _, e := range events {
		if e.Cut {
			p.flights.cut(flightKey{e.Group, e.Target.Key})
		}
	}
}
