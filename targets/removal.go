// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
)

// unreadyPause is how long a pod must be unready before its target may go: the default period of a readiness probe.
// Probes that fail for one common cause fail one after the other within a period, and whether too many do is only known
// when it is over.
const unreadyPause = 10 * time.Second

// addUnready lets go of pods that are not ready, if enough others are healthy: at once where the node is down, after a pause
// where it is only them. Otherwise all stay: the load balancer's own health checks know better which of them to send to, and
// when all fail it sends to all.
func (p *plan) addUnready(w planInput) {
	atOnce, due := departures{}, departures{}
	for target, ep := range w.removable(endpoints.NotReady) {
		p.lingering[target] = endpoints.NotReady
		switch since := w.lingersSince(target, endpoints.NotReady); {
		case ep.NodeDown: // one cause for all of its pods, and no probe will pass again
			atOnce[target] = departure{why: whyNodeDown}
		case w.now.Sub(since) < unreadyPause:
			p.nextChange = soonest(p.nextChange, since.Add(unreadyPause).Sub(w.now))
		case w.entries[target].readAt.Before(since): // who is healthy may be different by now
			p.nextChange = soonest(p.nextChange, time.Second)
		default:
			due[target] = departure{why: whyNotReady}
		}
	}
	if len(atOnce)+len(due) == 0 {
		return
	}
	if p.valve = !w.enoughHealthy(); p.valve {
		return
	}
	if wait := w.valve.pause(w.now); wait > 0 && len(due) > 0 {
		p.nextChange = soonest(p.nextChange, wait)
		clear(due)
	}
	maps.Copy(p.deregister, atOnce)
	maps.Copy(p.deregister, due)
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
func (w planInput) enoughHealthy() bool {
	healthy, all := 0, 0
	for target, ep := range w.endpoints {
		switch ep.State {
		case endpoints.Desired:
			all++
			if e := w.entries[target]; e.presence == registered && w.serves(e.health.State) {
				healthy++
			}
		case endpoints.NotReady, endpoints.Undetermined:
			all++
		}
	}
	return healthy*100 >= w.policy.MinReadyPercent*all
}

// serves reports whether a target in that state takes its part. A node without a pod of the Service is unhealthy by
// design where the Service's externalTrafficPolicy is Local, so of nodes it is enough that the first checks are over.
func (w planInput) serves(state elbv2.State) bool {
	if w.nodes {
		return state != elbv2.StateInitial
	}
	return state == elbv2.StateHealthy
}

// addReplaced lets go of pods that are not asked for any more, once every wanted one was found healthy since, or has had
// time for it.
func (p *plan) addReplaced(w planInput) {
	targets := w.removable(endpoints.Unselected)
	var since time.Time // the last one became replaced
	for target := range targets {
		p.lingering[target] = endpoints.Unselected
		since = later(since, w.lingersSince(target, endpoints.Unselected))
	}
	healthy := w.replacementsHealthy(since)
	for target := range targets {
		wait := w.policy.ReplacementTimeout - w.now.Sub(w.lingersSince(target, endpoints.Unselected))
		switch {
		case healthy:
			p.deregister[target] = departure{why: whyUnselected}
		case wait > 0:
			p.handover = since
			p.nextChange = soonest(p.nextChange, wait)
		default:
			p.deregister[target] = departure{why: whyTimedOut}
			p.timedOut = append(p.timedOut, target)
		}
	}
}

// replacementsHealthy reports whether there are wanted endpoints, and a reading since then found each of them healthy.
func (w planInput) replacementsHealthy(since time.Time) bool {
	some := false
	for target, ep := range w.endpoints {
		if ep.State != endpoints.Desired {
			continue
		}
		some = true
		e := w.entries[target]
		if !w.serves(e.healthOf(ep.UID).State) || e.healthOf(ep.UID).State == "" || e.readAt.Before(since) {
			return false
		}
	}
	return some
}

// healthySince reports whether a reading since then found the target healthy, for that pod.
func (e entry) healthySince(uid types.UID, since time.Time) bool {
	return e.healthOf(uid).State == elbv2.StateHealthy && !e.readAt.Before(since)
}

// removable are the targets in that state that are in the group and can be deregistered now.
func (w planInput) removable(s endpoints.State) map[elbv2.Target]endpoints.Endpoint {
	out := map[elbv2.Target]endpoints.Endpoint{}
	for target, ep := range w.endpoints {
		if e := w.entries[target]; ep.State == s && e.presence == registered && e.leavable() && w.mine(target) {
			out[target] = ep
		}
	}
	return out
}

// lingersSince is since when the target has been in that state: now when it was not before.
func (w planInput) lingersSince(target elbv2.Target, s endpoints.State) time.Time {
	if e := w.entries[target]; e.lingering == s && !e.lingeringSince.IsZero() {
		return e.lingeringSince
	}
	return w.now
}
