// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/elbv2"
)

// plan is what has to be done so that the group holds what the cluster wants.
type plan struct {
	register   registrations             // and for which pod
	deregister departures                // since when: the pod's deletion, zero when not known
	adopt      registrations             // registered before our time, for this pod
	suspects   map[elbv2.Target]struct{} // nobody explains them: they go if a later reading shows them still
}

// makePlan compares what should be there with what is there. Before the first reading (complete is false) it only
// lets pods leave: what is already registered is not known yet.
func makePlan(endpoints map[elbv2.Target]endpoint, entries map[elbv2.Target]entry, complete bool) plan {
	p := plan{
		register:   registrations{},
		deregister: departures{},
		adopt:      registrations{},
		suspects:   map[elbv2.Target]struct{}{},
	}
	p.addLeaving(endpoints, entries, complete)
	if !complete {
		return p
	}
	p.addWanted(endpoints, entries)
	p.addReplaced(endpoints, entries)
	p.addStrangers(endpoints, entries)
	return p
}

// addLeaving lets go of pods on their way out. A pod may leave while its registration is under way: it is deregistered
// at once, and again when the registration has been answered, as nobody knows which of the two AWS saw first.
func (p *plan) addLeaving(endpoints map[elbv2.Target]endpoint, entries map[elbv2.Target]entry, complete bool) {
	for target, ep := range endpoints {
		if ep.standing != leaving {
			continue
		}
		e := entries[target]
		inGroup := e.mayBeIn() || e.registering || !complete && e.presence == absent
		if inGroup && e.leavable() {
			p.deregister[target] = deletedAt(ep)
		}
	}
}

// deletedAt is when somebody asked for the pod's deletion; the API server adds the grace period to its timestamp.
func deletedAt(ep endpoint) time.Time {
	pod := ep.pod
	if pod == nil || pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds == nil {
		return departureUnknown
	}
	return pod.DeletionTimestamp.Add(-time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second)
}

func (p *plan) addWanted(endpoints map[elbv2.Target]endpoint, entries map[elbv2.Target]entry) {
	for target, ep := range endpoints {
		e := entries[target]
		if ep.standing != wanted || e.registering || e.deregistering {
			continue
		}
		switch {
		case e.presence != registered:
			p.register[target] = ep.uid
		case e.owner == ep.uid:
		case e.owner != "": // the address was an earlier pod's: its registration must end before this pod's begins
			p.deregister[target] = departureUnknown
		case ep.unproven && e.tried != ep.uid:
			p.register[target] = ep.uid
		default:
			p.adopt[target] = ep.uid
		}
	}
}

// addReplaced lets go of pods that the Service selects no longer, once every wanted one is healthy.
func (p *plan) addReplaced(endpoints map[elbv2.Target]endpoint, entries map[elbv2.Target]entry) {
	if !replacementsHealthy(endpoints, entries) {
		return
	}
	for target, ep := range endpoints {
		if e := entries[target]; ep.standing == replaced && e.presence == registered && e.leavable() {
			p.deregister[target] = departureUnknown
		}
	}
}

func replacementsHealthy(endpoints map[elbv2.Target]endpoint, entries map[elbv2.Target]entry) bool {
	healthy := false
	for target, ep := range endpoints {
		if ep.standing != wanted {
			continue
		}
		if entries[target].healthOf(ep.uid).State != elbv2.StateHealthy {
			return false
		}
		healthy = true
	}
	return healthy
}

// awaited reports whether somebody waits for the next change of health: a pod at its gate, or pods that are to be
// replaced.
func awaited(endpoints map[elbv2.Target]endpoint, entries map[elbv2.Target]entry, gate corev1.PodConditionType) bool {
	for target, ep := range endpoints {
		e := entries[target]
		if ep.pod == nil || ep.standing == leaving || e.presence != registered || e.owner != ep.uid {
			continue
		}
		closed := readiness.Has(ep.pod, gate) && !readiness.IsOpen(ep.pod, gate) && !e.opened
		if closed || ep.standing == replaced {
			return true
		}
	}
	return false
}

// unsettled reports whether a target's first health checks are not over, nobody explains it, or nobody knows whether it
// is there.
func unsettled(entries map[elbv2.Target]entry) bool {
	for _, e := range entries {
		initial := e.presence == registered && e.health.State == elbv2.StateInitial
		if initial || !e.suspectedAt.IsZero() || !e.failedAt.IsZero() {
			return true
		}
	}
	return false
}

// addStrangers lets go of targets that no pod explains. One that we registered ourselves had a pod that is gone now;
// of any other a later reading has to confirm it, as the caches may be behind what an earlier targetgate has seen.
func (p *plan) addStrangers(endpoints map[elbv2.Target]endpoint, entries map[elbv2.Target]entry) {
	for target, e := range entries {
		if _, explained := endpoints[target]; explained || e.presence != registered || e.registering || e.deregistering {
			continue
		}
		confirmed := !e.suspectedAt.IsZero() && e.readAt.After(e.suspectedAt)
		if e.owner != "" || confirmed {
			p.deregister[target] = departureUnknown
		} else {
			p.suspects[target] = struct{}{}
		}
	}
}
