// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/targetgroup"
)

// EnoughHealthy reports whether at least Policy.MinReadyPercent of the pods that the Service selects are ready, and their targets in a
// state that serves. Those that the plan leaves out do not count: they are ready, and cannot be healthy.
func (p *Plan) EnoughHealthy(
	listed map[elbv2.Target]endpoints.Endpoint, group targetgroup.Targets, policy Policy, serves func(elbv2.State) bool,
) bool {
	healthy, all := 0, 0
	for target, ep := range listed {
		_, leftOut := p.LeftOut[target]
		switch t := group[target]; {
		case leftOut, ep.State == endpoints.Unselected, ep.State == endpoints.Terminating, ep.State == endpoints.HeldBack:
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
	for target, ep := range targets {
		if ep.Held != endpoints.NotHeld {
			p.Unwanted[target] = endpoints.Unselected
			p.Deregister[target] = targetgroup.Deregistration{Why: whyHeld[ep.Held]}
			delete(targets, target)
		}
	}
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
			p.noteKept(in, target, Kept{
				For: UntilSuccessorServes, Since: in.unwantedSince(target, endpoints.Unselected), By: in.Now.Add(wait),
			})
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
