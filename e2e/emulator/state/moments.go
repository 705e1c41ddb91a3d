// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"container/heap"
	"time"
)

// step is what happens to a target at a moment.
type step int

const (
	effect  step = iota // the load balancer knows the target
	check               // a health check is due
	stop                // no new requests from here on
	gone                // the deregistration delay is over
	settled             // unhealthy.draining is over
)

// moment is one step of one target, or anything else that is to be done. A step is void once the target has moved on to another life (see
// target.life).
type moment struct {
	at     time.Time
	seq    int
	step   step
	group  *group
	target *target
	life   int
	run    func(at time.Time) // in place of a step
}

// moments is a heap, earliest first, ties in order of creation.
type moments struct {
	heap []moment
	seq  int
}

func (q *moments) Len() int { return len(q.heap) }
func (q *moments) Less(i, j int) bool {
	a, b := q.heap[i], q.heap[j]
	if !a.at.Equal(b.at) {
		return a.at.Before(b.at)
	}
	return a.seq < b.seq
}
func (q *moments) Swap(i, j int) { q.heap[i], q.heap[j] = q.heap[j], q.heap[i] }
func (q *moments) Push(x any)    { q.heap = append(q.heap, x.(moment)) }
func (q *moments) Pop() any {
	last := q.heap[len(q.heap)-1]
	q.heap = q.heap[:len(q.heap)-1]
	return last
}

// schedule plans a step of a target's present life.
func (m *Machine) schedule(at time.Time, s step, g *group, t *target) {
	m.push(moment{at: at, step: s, group: g, target: t, life: t.life})
}

// later plans anything that is not about a target.
func (m *Machine) later(at time.Time, run func(at time.Time)) { m.push(moment{at: at, run: run}) }

func (m *Machine) push(n moment) {
	m.due.seq++
	n.seq = m.due.seq
	heap.Push(&m.due, n)
	if m.due.heap[0].seq == m.due.seq {
		m.nudge()
	}
}

// apply takes every step that is due, in order, at its own time.
func (m *Machine) apply(now time.Time) {
	for m.due.Len() > 0 && !m.due.heap[0].at.After(now) {
		next := heap.Pop(&m.due).(moment)
		switch {
		case next.run != nil:
			next.run(next.at)
		case next.life == next.target.life:
			m.take(next)
		}
	}
}

func (m *Machine) take(n moment) {
	switch n.step {
	case effect:
		m.known(n.group, n.target, n.at)
	case check:
		m.probes = append(m.probes, n.group.probe(m, n.target, n.at))
	case stop:
		n.target.view = unseen
		m.reroute(n.group, n.at)
		m.forget(n.group, n.target)
	case gone:
		m.expire(n.group, n.target, n.at)
	case settled:
		m.settle(n.group, n.target, n.at)
	}
}

// Advance applies what has become due, and returns the health checks to make now and the time of the next moment (zero
// when none is planned). A check is handed out once; the next check of that target is planned when it is reported.
func (m *Machine) Advance() ([]Probe, time.Time) {
	m.enter()
	defer m.leave()
	probes := m.probes
	m.probes = nil
	if m.due.Len() == 0 {
		return probes, time.Time{}
	}
	return probes, m.due.heap[0].at
}
