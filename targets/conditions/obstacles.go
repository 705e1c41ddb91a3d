// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/events"
	"github.com/targetgate/targetgate/targets/targetgroup"
)

// unregistered is what a gate has to say whose pod is among the endpoints, and its target not registered for it.
func (p *planner) unregistered(pod *corev1.Pod, ep endpoints.Endpoint) (readiness.Health, bool) {
	switch ep.State {
	case endpoints.Terminating:
		return readiness.NodeLeaving(), true
	case endpoints.HeldBack:
		return readiness.HeldBack(ep.Why()), true
	case endpoints.Undetermined: // no slice lists it, and a target at its address is in the group
		return p.detachedHealth(pod)
	}
	if _, withheld := p.Plan.Withheld[ep.Target]; withheld && p.Hold.IsFinal() && p.lasts(pod, notAllowed) {
		return readiness.Released(readiness.ReasonConsentMissing, events.Cut(p.Hold.Message)), true
	}
	obstacle, ok := p.obstacles[ep.Target]
	return obstacle, ok
}

// findObstacles are the targets that cannot be registered now, and why. Before the first reading nothing is registered.
func (p *planner) findObstacles() map[elbv2.Target]readiness.Health {
	out := map[elbv2.Target]readiness.Health{}
	failed := func(target elbv2.Target, why string) {
		if why != "" {
			out[target] = readiness.RegistrationFailed(events.Cut(why))
		}
	}
	for target, ep := range p.Resolution.Endpoints {
		if ep.State == endpoints.Desired {
			failed(target, p.obstacle(target))
		}
	}
	for target := range p.Plan.Register {
		failed(target, p.refusal(target))
	}
	for target := range p.Plan.LeftOut {
		out[target] = readiness.TargetGroupFull(p.Policy.GroupFull())
	}
	for target := range p.Plan.Adopt {
		if p.ClaimFailure != nil {
			failed(target, p.ClaimFailure.Error())
		}
	}
	for target := range p.Plan.Withheld {
		failed(target, p.Hold.Message)
	}
	return out
}

// obstacle is why a wanted target is not even due to be registered, empty when nothing is known to be in the way: the group cannot be read,
// and never was, or another pod's registration at the address must end first, and does not.
func (p *planner) obstacle(target elbv2.Target) string {
	if p.Group.ReadingFailure != nil && !p.Group.Complete() {
		return awserr.Message(p.Group.ReadingFailure)
	}
	if _, leaves := p.Plan.Deregister[target]; leaves {
		if why := refusalIn(p.Group.Deregistration, target); why != "" {
			return "The target may still be registered for an earlier pod at the address: " + why
		}
	}
	return ""
}

// refusal is why a target that is due is not registered, empty when nothing is known to be in the way.
func (p *planner) refusal(target elbv2.Target) string {
	switch why := refusalIn(p.Group.Registration, target); {
	case why != "":
		return why
	case p.ClaimFailure != nil:
		return p.ClaimFailure.Error()
	default:
		return p.Group.Targets[target].Refusal
	}
}

// refusalIn is why the last call of that kind failed for the target, empty when it did not.
func refusalIn(sent targetgroup.SenderState, target elbv2.Target) string {
	if sent.Refusals[target] == "" && sent.Err != nil {
		return awserr.Message(sent.Err)
	}
	return sent.Refusals[target]
}
