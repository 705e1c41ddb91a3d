// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"time"

	"github.com/targetgate/targetgate/targets/elbv2"
)

// unreadyPause is how long a pod must be unready before its target may go: the default period of a readiness probe.
// Probes that fail for one common cause fail one after the other within a period, and whether too many do is only known
// when it is over.
const unreadyPause = 10 * time.Second

// addUnready lets go of pods that live but are not ready, if enough others are healthy. Otherwise all stay: the load
// balancer's own health checks know better which of them to send to, and when all fail it sends to all.
func (p *plan) addUnready(w picture) {
	var due []elbv2.Target
	for target := range w.removable(unready) {
		p.lingering[target] = unready
		if wait := unreadyPause - w.lingered(target, unready); wait > 0 {
			p.nextChange = soonest(p.nextChange, wait)
			continue
		}
		due = append(due, target)
	}
	if len(due) == 0 {
		return
	}
	if p.valve = !w.enoughHealthy(); p.valve {
		return
	}
	if wait := w.valve.pause(w.now); wait > 0 {
		p.nextChange = soonest(p.nextChange, wait)
		return
	}
	for _, target := range due {
		p.deregister[target] = departureUnknown
	}
}

// pause is how long unready pods still stay after too many were unready: they recover one after the other, too.
func (v valve) pause(now time.Time) time.Duration {
	if v.engaged {
		return unreadyPause
	}
	return max(0, unreadyPause-now.Sub(v.releasedAt))
}

// next is the state after a pass that found the valve engaged or not.
func (v valve) next(engaged bool, now time.Time) valve {
	if v.engaged && !engaged {
		v.releasedAt = now
	}
	v.engaged = engaged
	return v
}

// enoughHealthy reports whether MinReadyPercent of the pods that the Service selects are ready and healthy.
func (w picture) enoughHealthy() bool {
	healthy, all := 0, 0
	for target, ep := range w.endpoints {
		switch ep.standing {
		case wanted:
			all++
			if e := w.entries[target]; e.presence == registered && e.health.State == elbv2.StateHealthy {
				healthy++
			}
		case unready, kept:
			all++
		}
	}
	return healthy*100 >= w.policy.MinReadyPercent*all
}

// addReplaced lets go of pods that are not asked for any more, once every wanted one is healthy or has had time for it.
func (p *plan) addReplaced(w picture) {
	healthy := w.replacementsHealthy()
	for target := range w.removable(replaced) {
		p.lingering[target] = replaced
		wait := w.policy.ReplacementTimeout - w.lingered(target, replaced)
		switch {
		case healthy:
			p.deregister[target] = departureUnknown
		case wait > 0:
			p.handover = true
			p.nextChange = soonest(p.nextChange, wait)
		default:
			p.deregister[target] = departureUnknown
			p.timedOut = append(p.timedOut, target)
		}
	}
}

func (w picture) replacementsHealthy() bool {
	healthy := false
	for target, ep := range w.endpoints {
		if ep.standing != wanted {
			continue
		}
		if w.entries[target].healthOf(ep.uid).State != elbv2.StateHealthy {
			return false
		}
		healthy = true
	}
	return healthy
}

// removable are the targets of that standing that are in the group and can be deregistered now.
func (w picture) removable(s standing) map[elbv2.Target]endpoint {
	out := map[elbv2.Target]endpoint{}
	for target, ep := range w.endpoints {
		if e := w.entries[target]; ep.standing == s && e.presence == registered && e.leavable() && w.mine(target) {
			out[target] = ep
		}
	}
	return out
}

// lingered is for how long the target has been of that standing.
func (w picture) lingered(target elbv2.Target, s standing) time.Duration {
	if e := w.entries[target]; e.lingering == s && !e.lingeringSince.IsZero() {
		return w.now.Sub(e.lingeringSince)
	}
	return 0
}
