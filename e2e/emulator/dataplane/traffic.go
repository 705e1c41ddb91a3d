// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"maps"
	"sync"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/record"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// Request is one request through an ALB, or one connection through an NLB, written down when it is over.
type Request struct {
	Start, End time.Time
	// Listener and Rule took it in, Rule is "" for an NLB; Group is "" when the rule answered by itself, by a redirect or a fixed response.
	Listener, Rule, Group string
	// Target is empty when there was none to send to.
	Target state.Key
	// Status is what the client got: 460 when it left first, 0 for an NLB.
	Status int
	// Err says why the load balancer answered by itself, or why an answer or a connection broke off.
	Err string
}

// Traffic sums up the requests to one target.
type Traffic struct {
	// First and Last are the starts of the first and the last request.
	First, Last time.Time
	Requests    int
	ByStatus    map[int]int
}

type traffic struct {
	log *record.Log[Request]

	mu   sync.Mutex
	sums map[string]map[state.Key]*Traffic
}

func newTraffic(limit int) *traffic {
	return &traffic{log: record.New[Request](limit), sums: map[string]map[state.Key]*Traffic{}}
}

func (t *traffic) add(r Request) {
	t.log.Append(r)
	t.mu.Lock()
	defer t.mu.Unlock()
	targets := t.sums[r.Group]
	if targets == nil {
		targets = map[state.Key]*Traffic{}
		t.sums[r.Group] = targets
	}
	sum := targets[r.Target]
	if sum == nil {
		sum = &Traffic{First: r.Start, ByStatus: map[int]int{}}
		targets[r.Target] = sum
	}
	sum.Requests++
	sum.ByStatus[r.Status]++
	if r.Start.Before(sum.First) {
		sum.First = r.Start
	}
	if r.Start.After(sum.Last) {
		sum.Last = r.Start
	}
}

// Requests returns the finished requests from position since on, in the order in which they ended.
func (p *Plane) Requests(since int) []Request { return p.traffic.log.Since(since) }

// Traffic sums up a group's finished requests by target; the empty key holds those that found none.
func (p *Plane) Traffic(groupARN string) map[state.Key]Traffic {
	p.traffic.mu.Lock()
	defer p.traffic.mu.Unlock()
	sums := map[state.Key]Traffic{}
	for key, sum := range p.traffic.sums[groupARN] {
		copied := *sum
		copied.ByStatus = maps.Clone(sum.ByStatus)
		sums[key] = copied
	}
	return sums
}
