// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Answer is what came of one request.
type Answer struct {
	Due  time.Time // when it should have been sent
	Sent time.Time // when it was
	// Status is the code as text, or the kind of failure.
	Status string
	// Latency runs from Due to the end of the answer.
	Latency time.Duration
}

// Result sums up a load.
type Result struct {
	Requests int            // answered or failed
	Failed   int            // all but 200
	ByStatus map[string]int // by code or kind of failure
	Failures []Answer       // in the order in which they were known
	Duration time.Duration  // since the start; until the last answer once the load has stopped
	// Latencies of all requests, failed ones included; zero when there are none.
	P50, P90, P99, Max time.Duration
	// Late counts the requests sent more than 100 ms after they were due: with many of them, there were too few workers.
	Late int
}

const lateAfter = 100 * time.Millisecond

// tally counts answers.
type tally struct {
	mu        sync.Mutex
	started   time.Time
	stopped   time.Time
	byStatus  map[string]int
	failures  []Answer
	latencies []time.Duration
	late      int
}

func (t *tally) start(at time.Time) { t.started, t.byStatus = at, map[string]int{} }

func (t *tally) stop(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = at
}

func (t *tally) add(a Answer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byStatus[a.Status]++
	t.latencies = append(t.latencies, a.Latency)
	if a.Sent.Sub(a.Due) > lateAfter {
		t.late++
	}
	if a.Status != strconv.Itoa(http.StatusOK) {
		t.failures = append(t.failures, a)
	}
}

func (t *tally) result() Result {
	r, latencies := t.copy()
	slices.Sort(latencies)
	r.P50, r.P90, r.P99 = quantile(latencies, 0.5), quantile(latencies, 0.9), quantile(latencies, 0.99)
	r.Max = quantile(latencies, 1)
	return r
}

// copy leaves sorting to the caller, so that answers need not wait for it.
func (t *tally) copy() (Result, []time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	end := t.stopped
	if end.IsZero() {
		end = time.Now()
	}
	return Result{
		Requests: len(t.latencies), Failed: len(t.failures), ByStatus: maps.Clone(t.byStatus),
		Failures: slices.Clone(t.failures), Duration: end.Sub(t.started), Late: t.late,
	}, slices.Clone(t.latencies)
}

// quantile returns the value that the given share of the sorted values does not exceed.
func quantile(sorted []time.Duration, share float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}
