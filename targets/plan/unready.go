// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"slices"
	"time"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/targetgroup"
)

// UnreadyPause is how long a pod must be unready before its target may go: the default period of a readiness probe.
// Probes that fail for one common cause fail one after the other within a period, and whether too many do is only known
// when it is over.
const UnreadyPause = 10 * time.Second

// addUnready deregisters pods that are not ready, if enough others serve: at once where the node is down, after a pause where it
// is only the pod. The others stay, which it reports: the load balancer's own health checks know better which of them to send
// to, and when all fail it sends to all. Nodes also stay while only such ones are healthy.
func (p *Plan) addUnready(in Input) (keepsUnready bool) {
	p.addHeldBack(in)
	atOnce, due := p.unready(in)
	if len(atOnce)+len(due) == 0 {
		return false
	}
	valve := in.valve()
	stay := func(targets targetgroup.Deregistrations) {
		for target := range targets {
			needed, of := valve.needs(target)
			if valve.serving >= needed && !in.onlyUnreadyNodesPass(due) {
				continue
			}
			delete(targets, target)
			keepsUnready = keepsUnready || !in.Group.Targets[target].IsMissing() // only such a one can be kept
			p.noteKept(in, target, Kept{
				For: UntilEnoughServe, Since: in.unwantedSince(target, endpoints.NotReady), Needed: needed, Of: of,
			})
		}
	}
	stay(atOnce)
	stay(due)
	if wait := in.UnreadyKept.pause(in.Now); wait > 0 && !keepsUnready && len(due) > 0 {
		p.NextChange = retry.Soonest(p.NextChange, wait)
		for target := range due {
			p.noteKept(in, target, Kept{
				For: UntilEnoughServe, Since: in.unwantedSince(target, endpoints.NotReady), By: in.Now.Add(wait),
			})
		}
		clear(due)
	}
	maps.Copy(p.Deregister, atOnce)
	maps.Copy(p.Deregister, due)
	return keepsUnready
}

// unready are the targets that are not ready for long enough, or on nodes that are down.
func (p *Plan) unready(in Input) (atOnce, due targetgroup.Deregistrations) {
	atOnce, due = targetgroup.Deregistrations{}, targetgroup.Deregistrations{}
	for target, ep := range in.removable(endpoints.NotReady) {
		p.Unwanted[target] = endpoints.NotReady
		switch since := in.unwantedSince(target, endpoints.NotReady); {
		case ep.NodeDown: // one cause for all of its pods, and no probe will pass again
			atOnce[target] = targetgroup.Deregistration{Why: whyNodeDown}
		case in.Now.Sub(since) < UnreadyPause:
			p.NextChange = retry.Soonest(p.NextChange, since.Add(UnreadyPause).Sub(in.Now))
		case in.Group.Targets[target].ReadAt.Before(since): // who is healthy may be different by now
			p.NextChange = retry.Soonest(p.NextChange, time.Second)
		default:
			due[target] = targetgroup.Deregistration{Why: whyNotReady}
		}
	}
	return atOnce, due
}

// addHeldBack deregisters pods of which somebody says that they get no traffic, however few others there are. A slice that somebody
// writes may come later than what it is about, so it has as long as a probe.
func (p *Plan) addHeldBack(in Input) {
	for target, ep := range in.removable(endpoints.HeldBack) {
		p.Unwanted[target] = endpoints.HeldBack
		since := in.unwantedSince(target, endpoints.HeldBack)
		if left := UnreadyPause - in.Now.Sub(since); ep.Held == endpoints.HeldBySlice && left > 0 {
			p.NextChange = retry.Soonest(p.NextChange, left)
			continue
		}
		p.Deregister[target] = targetgroup.Deregistration{Why: whyHeld[ep.Held]}
	}
}

// onlyUnreadyNodesPass reports whether a node that is due passes its health checks, and none does that is wanted: all of these may have no
// pods.
func (in Input) onlyUnreadyNodesPass(due targetgroup.Deregistrations) bool {
	if !in.Nodes {
		return false
	}
	wanted, unready := false, false
	for target, ep := range in.Endpoints {
		if in.passesChecks(target) {
			_, goes := due[target]
			wanted, unready = wanted || ep.State == endpoints.Desired, unready || goes
		}
	}
	return unready && !wanted
}

func (in Input) passesChecks(target elbv2.Target) bool {
	return in.Group.Targets[target].Health.State == elbv2.StateHealthy
}

// servedTogether is how long before it became unready others may have stopped to serve that count with it.
const servedTogether = time.Minute

// valve says how many targets must serve for one that is unready to go: Policy.MinReadyPercent of those that served together with it, in
// the last minute before it stopped. So a mass failure empties no group, and a pod that never served beside others is no loss to them: a
// leader by readiness probe goes once its successor serves. Targets that leave for another reason do not count, nor do those that never
// served.
type valve struct {
	percent int
	serving int                   // targets that serve
	spans   map[elbv2.Target]span // of those, and of those that served and do not any more
	from    []time.Time           // of all spans, in order
	until   []time.Time           // of all spans, in order
}

// span is when a target served. From is zero where that began before our time.
type span struct{ from, until time.Time }

func (in Input) valve() *valve {
	v := &valve{percent: in.Policy.MinReadyPercent, spans: map[elbv2.Target]span{}}
	for target, ep := range in.Endpoints {
		served, ever := in.span(target, ep)
		if !ever {
			continue
		}
		if ep.State == endpoints.Desired && in.healthy(target) {
			v.serving++
		}
		v.spans[target] = served
		v.from, v.until = append(v.from, served.from), append(v.until, served.until)
	}
	slices.SortFunc(v.from, time.Time.Compare)
	slices.SortFunc(v.until, time.Time.Compare)
	return v
}

// span is when the target served; ever is false where it never did, as far as known, or leaves for another reason.
func (in Input) span(target elbv2.Target, ep endpoints.Endpoint) (served span, ever bool) {
	t := in.Group.Targets[target]
	if counts := ep.State == endpoints.Desired || ep.State == endpoints.NotReady || ep.State == endpoints.Undetermined; !counts || !t.IsIn() {
		return span{}, false
	}
	served, ever = span{t.ServedFrom, t.ServedUntil}, t.Served
	switch {
	case ep.State == endpoints.Desired && in.healthy(target):
		return span{t.ServedFrom, in.Now}, true
	case !t.Served: // that was before our time, or between two readings, or it is not so
		served, ever = span{t.OwnedAt, in.stoppedAt(target, ep)}, in.mayHaveServed(t, ep)
	case t.ServedUntil.IsZero():
		served.until = in.Now
	}
	return served, ever
}

// mayHaveServed reports whether a target of which that was not seen may have served: its pod is not at its gate, and nothing was read since
// the registration that says otherwise.
func (in Input) mayHaveServed(t targetgroup.Target, ep endpoints.Endpoint) bool {
	unread := t.Health.State == "" || t.Health.State == elbv2.StateInitial || t.Health.State == elbv2.StateHealthy
	return !ep.AtGate(in.Gate) && (t.OwnedAt.IsZero() || unread)
}

// stoppedAt is when a target stopped to serve, by the pod's own word, or by what the load balancer says.
func (in Input) stoppedAt(target elbv2.Target, ep endpoints.Endpoint) time.Time {
	t := in.Group.Targets[target]
	if ep.State == endpoints.NotReady {
		stopped := in.unwantedSince(target, endpoints.NotReady)
		if ep.Pod != nil && t.OwnedAt.IsZero() && !endpoints.UnreadySince(ep.Pod).IsZero() {
			stopped = sooner(endpoints.UnreadySince(ep.Pod), stopped)
		}
		return stopped
	}
	if ep.State == endpoints.Desired && !t.Since.IsZero() {
		return t.Since
	}
	return in.Now
}

// needs is how many targets must serve for this one to go, of those that served together with it.
func (v *valve) needs(target elbv2.Target) (needed, of int) {
	own, served := v.spans[target]
	if !served {
		return 0, 0
	}
	first := retry.Later(own.from, own.until.Add(-servedTogether))
	before := func(times []time.Time, t time.Time) int {
		n, _ := slices.BinarySearchFunc(times, t, time.Time.Compare)
		return n
	}
	of = before(v.from, own.until.Add(time.Nanosecond)) - before(v.until, first)
	return (v.percent*of + 99) / 100, of
}

// pause is how long unready pods still stay after too many were unready: they recover one after the other, too.
func (k UnreadyKept) pause(now time.Time) time.Duration {
	if k.Now {
		return UnreadyPause
	}
	return max(0, UnreadyPause-now.Sub(k.EndedAt))
}

// next is the state after a pass that keeps unready pods or does not.
func (k UnreadyKept) next(keeps bool, now time.Time) UnreadyKept {
	if k.Now && !keeps {
		k.EndedAt = now
	}
	k.Now = keeps
	return k
}
