// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
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

// addUnready deregisters pods that are not ready, if enough others are healthy: at once where the node is down, after a pause where it
// is only the pod. Otherwise all stay, which it reports: the load balancer's own health checks know better which of them to send
// to, and when all fail it sends to all. Nodes also stay while only such ones are healthy.
func (p *Plan) addUnready(in Input) (keepsUnready bool) {
	atOnce, due := targetgroup.Deregistrations{}, targetgroup.Deregistrations{}
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
	if len(atOnce)+len(due) == 0 {
		return false
	}
	if p.keepsUnready(in, due) {
		return in.someRegistered(atOnce) || in.someRegistered(due)
	}
	if wait := in.UnreadyKept.pause(in.Now); wait > 0 && len(due) > 0 {
		p.NextChange = retry.Soonest(p.NextChange, wait)
		clear(due)
	}
	maps.Copy(p.Deregister, atOnce)
	maps.Copy(p.Deregister, due)
	return false
}

// keepsUnready reports whether too few wanted targets are healthy to let the unready ones go. Of nodes one must be, if one of the unready
// is: all others may have no pods.
func (p *Plan) keepsUnready(in Input, due targetgroup.Deregistrations) bool {
	if enough := p.EnoughHealthy(in.Endpoints, in.Group.Targets, in.Policy, in.serves); !enough || !in.Nodes {
		return !enough
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

// someRegistered reports whether one of the targets is not missing: only such a one can be kept.
func (in Input) someRegistered(targets targetgroup.Deregistrations) bool {
	for target := range targets {
		if !in.Group.Targets[target].IsMissing() {
			return true
		}
	}
	return false
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

// EnoughHealthy reports whether at least Policy.MinReadyPercent of the pods that the Service selects are ready, and their targets in a
// state that serves. Those that the plan leaves out do not count: they are ready, and cannot be healthy.
func (p *Plan) EnoughHealthy(
	listed map[elbv2.Target]endpoints.Endpoint, group targetgroup.Targets, policy Policy, serves func(elbv2.State) bool,
) bool {
	healthy, all := 0, 0
	for target, ep := range listed {
		_, leftOut := p.LeftOut[target]
		switch t := group[target]; {
		case leftOut, ep.State == endpoints.Unselected, ep.State == endpoints.Terminating:
			continue
		case ep.State == endpoints.Desired && t.Presence == targetgroup.Registered && serves(t.Health.State):
			healthy++
		}
		all++
	}
	return healthy*100 >= policy.MinReadyPercent*all
}

// serves reports whether a target in that state takes its part. A node without a pod of the Service is unhealthy by
// design where the Service's externalTrafficPolicy is Local, so of nodes it is enough that the first checks are over.
func (in Input) serves(state elbv2.State) bool {
	if in.Nodes {
		return state != elbv2.StateInitial
	}
	return state == elbv2.StateHealthy
}

// addReplaced deregisters pods and nodes that are no longer selected, and nodes that others are to replace, once every wanted one was found
// to serve since, or has had time for it, and those can take over.
func (p *Plan) addReplaced(in Input) {
	targets := in.removable(endpoints.Unselected)
	others := p.replacements(in, targets)
	makeRoom := p.roomMakers(in, targets, others)
	for target, ep := range targets {
		p.Unwanted[target] = endpoints.Unselected
		wait := in.Policy.ReplacementTimeout - in.Now.Sub(in.unwantedSince(target, endpoints.Unselected))
		canGo := others.canReplace(in, ep, in.Group.Targets[target])
		switch {
		case others.serve && canGo:
			p.Deregister[target] = targetgroup.Deregistration{Why: in.whyReplaced(ep)}
		case makeRoom[target]:
			p.Deregister[target] = targetgroup.Deregistration{Why: whyUnselected + whyMakesRoom}
		case wait > 0:
			p.ReplacedAt = others.since
			p.NextChange = retry.Soonest(p.NextChange, wait)
		case canGo || !in.toReplace(ep):
			p.Deregister[target] = targetgroup.Deregistration{Why: in.whyReplaced(ep) + whyInVain}
			p.TimedOut = append(p.TimedOut, target)
		default:
			p.NodesStay++
		}
	}
}

// toReplace reports whether it is a node that others are to replace before it ends.
func (in Input) toReplace(ep endpoints.Endpoint) bool { return in.Nodes && ep.NodeLeaves }

// someHealthy reports whether a target is healthy. A load balancer that finds none sends to all.
func (in Input) someHealthy() bool {
	for _, t := range in.Group.Targets {
		if t.Presence == targetgroup.Registered && t.Health.State == elbv2.StateHealthy {
			return true
		}
	}
	return false
}

func (in Input) whyReplaced(ep endpoints.Endpoint) string {
	if in.toReplace(ep) {
		return whyNodeLeaves
	}
	return whyUnselected
}

// replacements are the wanted targets that are to take over from others.
type replacements struct {
	since     time.Time // the last one became replaced
	serve     bool      // there are some, and a reading since then found that each of them serves
	healthy   int       // how many of them it found healthy
	leave     int       // how many healthy nodes others are to replace
	failsOpen bool      // no target at all is healthy: a load balancer then sends to all
}

// replacements are those of the targets.
func (p *Plan) replacements(in Input, targets map[elbv2.Target]endpoints.Endpoint) replacements {
	out := in.replaced(targets)
	found, missing := 0, 0
	for target, ep := range in.Endpoints {
		t := in.Group.Targets[target]
		switch state := t.HealthOf(ep.UID).State; {
		case ep.State != endpoints.Desired || !p.awaits(in, target):
		case state == "" || !in.serves(state) || t.ReadAt.Before(out.since):
			missing++
		case state == elbv2.StateHealthy:
			found, out.healthy = found+1, out.healthy+1
		default:
			found++
		}
	}
	out.serve = found > 0 && missing == 0
	return out
}

// replaced is what is known before it is looked for replacements of the targets.
func (in Input) replaced(targets map[elbv2.Target]endpoints.Endpoint) replacements {
	out := replacements{failsOpen: !in.someHealthy()}
	for target, ep := range targets {
		out.since = retry.Later(out.since, in.unwantedSince(target, endpoints.Unselected))
		if in.toReplace(ep) && in.passesChecks(target) {
			out.leave++
		}
	}
	return out
}

// awaits reports whether others wait for the wanted target. A node that the group has no room for, or that AWS refuses, may never come, and
// as many must be healthy all the same. A pod gets the room of one that others replace: see roomMakers.
func (p *Plan) awaits(in Input, target elbv2.Target) bool {
	_, leftOut := p.LeftOut[target]
	return !in.Nodes || !leftOut && in.Group.Registration.Refusals[target] == ""
}

// canReplace reports whether the target may go, however those fare that were not found to serve yet. One that may serve waits for a healthy
// one: of nodes, that the first checks are over does not say that any has a pod. A node that others are to replace ends only after that,
// and waits for as many.
func (r replacements) canReplace(in Input, ep endpoints.Endpoint, t targetgroup.Target) bool {
	return !r.mayServe(t) || r.healthy > 0 && (!in.toReplace(ep) || r.healthy >= r.leave)
}

// mayServe reports whether the load balancer may send to a target that is to be replaced, for all that was read since.
func (r replacements) mayServe(t targetgroup.Target) bool {
	state := t.Health.State
	return state == elbv2.StateHealthy || t.ReadAt.Before(r.since) || r.failsOpen && state != elbv2.StateUnused
}

// removable are the targets in that state that are in the group and can be deregistered now.
func (in Input) removable(s endpoints.State) map[elbv2.Target]endpoints.Endpoint {
	out := map[elbv2.Target]endpoints.Endpoint{}
	for target, ep := range in.Endpoints {
		if t := in.Group.Targets[target]; ep.State == s && t.IsIn() && t.Leavable() && in.Mine(target) {
			out[target] = ep
		}
	}
	return out
}

// unwantedSince is since when the target has been in that state: now when it was not before.
func (in Input) unwantedSince(target elbv2.Target, s endpoints.State) time.Time {
	if t := in.Group.Targets[target]; t.Unwanted == s && !t.UnwantedSince.IsZero() {
		return t.UnwantedSince
	}
	return in.Now
}
