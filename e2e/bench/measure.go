// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/wire"
)

// evidence is what was seen since a moment. No address comes back in a run, so group and address tell a pod's target.
type evidence struct {
	since   time.Time
	groups  map[string]string // ARN by app
	pods    []sighting
	journal []state.Event
	calls   []wire.Call
}

// target is one pod in its group.
type target struct{ group, ip string }

func (e evidence) targetOf(s sighting) target { return target{e.groups[s.App], s.IP} }

// gates is what became of readiness gates. Each list has the pods in no order.
type gates struct {
	// open is from the health check that made the target healthy until the gates of its pod were open; read is the part
	// until targetgate had been told of it, and written is the rest.
	open, read, written []time.Duration
	// early is how many opened before their target was healthy.
	early int
}

// gates looks at the pods whose gates have opened since.
func (e evidence) gates() gates {
	var g gates
	healthy, reads := e.healthy(), e.reads()
	for _, s := range e.pods {
		if s.GateOpen.IsZero() || s.GateOpen.Before(e.since) {
			continue
		}
		key := e.targetOf(s)
		at, ok := healthy[key]
		if !ok || s.GateOpen.Before(at) {
			g.early++
			continue
		}
		g.open = append(g.open, s.GateOpen.Sub(at))
		if told := firstTold(reads[key.group], key.ip, at); !told.IsZero() && !told.After(s.GateOpen) {
			g.read = append(g.read, told.Sub(at))
			g.written = append(g.written, s.GateOpen.Sub(told))
		}
	}
	return g
}

// reads are the answered readings of each group, of all of its targets or some.
func (e evidence) reads() map[string][]wire.Call {
	by := map[string][]wire.Call{}
	for _, call := range e.calls {
		if call.Operation == describeHealth && call.Code == "" {
			by[call.TargetGroup] = append(by[call.TargetGroup], call)
		}
	}
	return by
}

// firstTold is when the first of the calls was answered that can have told how a target is since that time: zero is never.
// Calls are in the order in which they were answered.
func firstTold(calls []wire.Call, ip string, since time.Time) time.Time {
	for _, call := range calls {
		isAsked := func(key state.Key) bool { return key.ID == ip }
		if call.Answered.After(since) && (len(call.Targets) == 0 || slices.ContainsFunc(call.Targets, isAsked)) {
			return call.Answered
		}
	}
	return time.Time{}
}

// healthy is when each target first was.
func (e evidence) healthy() map[target]time.Time {
	at := map[target]time.Time{}
	for _, event := range e.journal {
		key := target{event.Group, event.Target.ID}
		if _, known := at[key]; !known && event.Kind == state.Changed && event.To.State == state.Healthy {
			at[key] = event.Time
		}
	}
	return at
}

// arrivals returns how long after its containers were ready each pod was registered, of those that became ready since.
func (e evidence) arrivals() (delays []time.Duration) {
	answers := e.answered(register)
	for _, s := range e.pods {
		if s.ContainersReady.IsZero() || s.ContainersReady.Before(e.since) {
			continue
		}
		if times := answers[e.targetOf(s)]; len(times) > 0 {
			delays = append(delays, max(0, times[0].Sub(s.ContainersReady)))
		}
	}
	return delays
}

// departures returns how long after its deletion each pod was deregistered, of those deleted since, and how many were not.
// One that was deregistered before it was deleted took no time.
func (e evidence) departures() (delays []time.Duration, never int) {
	answers := e.answered(deregister)
	for _, s := range e.pods {
		if s.Deleted.IsZero() || s.Deleted.Before(e.since) {
			continue
		}
		times := answers[e.targetOf(s)]
		if len(times) == 0 {
			never++
			continue
		}
		delay := time.Duration(0)
		if i := slices.IndexFunc(times, s.Deleted.Before); i >= 0 {
			delay = times[i].Sub(s.Deleted)
		}
		delays = append(delays, delay)
	}
	return delays, never
}

// answered is when each call of the operation was answered for each target, earliest first.
func (e evidence) answered(operation string) map[target][]time.Time {
	at := map[target][]time.Time{}
	for _, call := range e.calls {
		if call.Operation != operation || call.Code != "" {
			continue
		}
		for _, key := range call.Targets {
			t := target{call.TargetGroup, key.ID}
			at[t] = append(at[t], call.Answered)
		}
	}
	return at
}

const (
	register       = "RegisterTargets"
	deregister     = "DeregisterTargets"
	describeHealth = "DescribeTargetHealth"
	describePrefix = "Describe"
)

// byOperation counts calls.
func byOperation(calls []wire.Call) map[string]int {
	counts := map[string]int{}
	for _, call := range calls {
		counts[call.Operation]++
	}
	return counts
}

func isDescribe(call wire.Call) bool { return strings.HasPrefix(call.Operation, describePrefix) }

// isWrite reports whether a call is none that only reads.
func isWrite(call wire.Call) bool {
	return !isDescribe(call) && !strings.HasPrefix(call.Operation, "List") && !strings.HasPrefix(call.Operation, "Get")
}

func isThrottled(call wire.Call) bool { return call.Throttled }

func changesTargets(call wire.Call) bool {
	return call.Operation == register || call.Operation == deregister
}

func isRefused(call wire.Call) bool { return call.Code != "" }

func isOf(operation string) func(wire.Call) bool {
	return func(call wire.Call) bool { return call.Operation == operation }
}

// matching counts the calls that fit.
func matching(calls []wire.Call, fits func(wire.Call) bool) int {
	count := 0
	for _, call := range calls {
		if fits(call) {
			count++
		}
	}
	return count
}

// peak is the most calls that fit and came in within any span of that length.
func peak(calls []wire.Call, fits func(wire.Call) bool, span time.Duration) int {
	var times []time.Time
	for _, call := range calls {
		if fits(call) {
			times = append(times, call.Received)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	most, from := 0, 0
	for to := range times {
		for times[to].Sub(times[from]) >= span {
			from++
		}
		most = max(most, to-from+1)
	}
	return most
}

// readings is when each of the groups was first read as a whole; groups that were not are missing.
func readings(calls []wire.Call) map[string]time.Time {
	at := map[string]time.Time{}
	for _, call := range calls {
		if call.Operation != describeHealth || call.Code != "" || len(call.Targets) > 0 {
			continue
		}
		if known, ok := at[call.TargetGroup]; !ok || call.Answered.Before(known) {
			at[call.TargetGroup] = call.Answered
		}
	}
	return at
}

// quantile is the smallest of the values that the given share of them does not exceed; of none it is 0.
func quantile(values []time.Duration, share float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(0, int(math.Ceil(share*float64(len(sorted))))-1)]
}
