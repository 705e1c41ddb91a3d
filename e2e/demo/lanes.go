// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"time"
)

// blame says where failed requests had gone.
type blame struct {
	stopping  int // to old pods that had been told to stop
	before    int // to old pods before that
	unhealthy int // to new pods that the load balancer had not found healthy at that time
	other     int
}

func (r rollout) blame() blame {
	var b blame
	for _, l := range r.Lanes {
		for _, at := range l.Failed {
			switch {
			case !l.New && l.has(sigterm) && at >= l.At[sigterm]:
				b.stopping++
			case !l.New:
				b.before++
			case l.New && (!l.has(healthy) || at < l.At[healthy]):
				b.unhealthy++
			}
		}
	}
	b.other = max(0, r.Load.Failed-b.stopping-b.before-b.unhealthy)
	return b
}

// newReady counts the new pods that became Ready, and all new pods.
func (r rollout) newReady() (n, of int) {
	for _, l := range r.Lanes {
		if l.New {
			of++
		}
		if l.New && l.has(ready) {
			n++
		}
	}
	return n, of
}

// oldLeft counts the old pods that were not deleted, and all old pods.
func (r rollout) oldLeft() (n, of int) {
	for _, l := range r.Lanes {
		if !l.New {
			of++
		}
		if !l.New && !l.has(deleted) {
			n++
		}
	}
	return n, of
}

// failedInLastSecond counts the requests that failed in the second before the end, and all that were sent in it.
func (r rollout) failedInLastSecond(end time.Duration) (n, of int) {
	count := func(times []time.Duration) (n int) {
		for _, t := range times {
			if t >= end-time.Second && t < end {
				n++
			}
		}
		return n
	}
	n = count(r.Failed)
	return n, n + count(r.Answered)
}

// outOf is a count and what it is a part of.
func outOf(n, of int) string { return fmt.Sprintf("%s of %s", thousands(n), thousands(of)) }

// example is the first pod of that version in the order of the lanes; false when there is none.
func (r rollout) example(isNew bool) (lane, bool) {
	i := slices.IndexFunc(r.Lanes, func(l lane) bool { return l.New == isNew })
	if i < 0 {
		return lane{}, false
	}
	return r.Lanes[i], true
}

// remark says what a moment has to do with the moment at the load balancer that it should wait for.
func (l lane) remark(m moment) string {
	before, after := map[moment]moment{ready: healthy, sigterm: lastRequest}[m], "last request"
	if before == "" || !l.has(m) || !l.has(before) {
		return ""
	}
	if before == healthy {
		after = "healthy"
	}
	gap := l.At[m] - l.At[before]
	if gap < 0 {
		return fmt.Sprintf("%.1f s before %s", -gap.Seconds(), after)
	}
	return fmt.Sprintf("%.1f s after %s", gap.Seconds(), after)
}

// early says that a moment came before the one that it should wait for.
func (l lane) early(m moment) bool {
	before := map[moment]moment{ready: healthy, sigterm: lastRequest}[m]
	return before != "" && l.has(m) && l.has(before) && l.At[m] < l.At[before]
}
