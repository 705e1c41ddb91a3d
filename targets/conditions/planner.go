// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/events"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/targetgroup"
)

// Input is what the gates of a binding's pods are decided from: every gate of a binding that exists and is managed.
type Input struct {
	Gate         corev1.PodConditionType
	Gated        []*corev1.Pod // those that carry the gate
	Resolution   endpoints.Resolution
	Unlisted     func(*corev1.Pod) (why string, lasting bool) // why a pod that the Service selects is no endpoint
	Plan         plan.Plan
	Group        targetgroup.Snapshot // after the plan's changes were started
	ClaimFailure error                // why nothing can be registered, nil when it can
	Hold         plan.Hold
	Policy       plan.Policy
	Opened       map[types.UID]bool             // lately, whatever the cache shows
	Lost         map[types.UID]readiness.Health // what conditions said that somebody else has changed
	Detached     Detached                       // as of the last pass
	Now          time.Time
}

// Result is what a pass says of the pods.
type Result struct {
	Updates  []Update
	Detached Detached
	Unlisted string                   // why a pod that waits is no endpoint, empty when all are; of several reasons one that stays the same
	Late     map[string]events.Notice // of pods whose targets take longer to become healthy than their settings explain
}

// Update is what to write to one pod.
type Update struct {
	Pod       *corev1.Pod
	Target    elbv2.Target // zero when the pod has none
	Health    readiness.Health
	HealthyAt time.Time // the reading that found the target healthy, zero when none did
	OwnedAt   time.Time // the registration, zero when it was before our time
	Replaces  time.Time // when the condition was first seen that is to be replaced, zero where nobody else writes it
	PutBack   bool      // the condition said this until somebody else changed that
}

// Opens reports whether the update opens the gate.
func (u Update) Opens() bool { return u.Health.Status == corev1.ConditionTrue }

// planner is Decide's working memory.
type planner struct {
	Input
	endpoints map[types.UID]endpoints.Endpoint
	obstacles map[elbv2.Target]readiness.Health // what keeps targets from being registered
	closes    bool                              // gates of unhealthy pods may be closed: enough others are healthy, with open gates
	result    Result
}

// Decide says what has to be written to the pods.
func Decide(in Input) Result {
	p := &planner{
		Input: in, endpoints: make(map[types.UID]endpoints.Endpoint, len(in.Resolution.Endpoints)),
		result: Result{Detached: Detached{}, Late: map[string]events.Notice{}},
	}
	p.obstacles = p.findObstacles()
	p.closes = in.Policy.TwoWay && in.Plan.EnoughHealthy(p.gatesOpen(), in.Group.Targets, in.Policy,
		func(s elbv2.State) bool { return s == elbv2.StateHealthy })
	for _, ep := range in.Resolution.Endpoints { // a pod may be there at its old port as well
		if other, twice := p.endpoints[ep.UID]; !twice || other.State != endpoints.Desired {
			p.endpoints[ep.UID] = ep
		}
	}
	for _, pod := range in.Gated {
		if !endpoints.IsTerminating(pod) {
			p.decide(pod)
		}
	}
	return p.result
}

// gatesOpen are the endpoints, with pods at closed gates as unready ones: they are not Ready, whatever their targets are.
func (p *planner) gatesOpen() map[elbv2.Target]endpoints.Endpoint {
	out := maps.Clone(p.Resolution.Endpoints)
	for target, ep := range out {
		if ep.State == endpoints.Desired && ep.AtGate(p.Gate) {
			ep.State = endpoints.NotReady
			out[target] = ep
		}
	}
	return out
}

// decide adds what the pod's gate has to say, if anything.
func (p *planner) decide(pod *corev1.Pod) {
	ep, listed := p.endpoints[pod.UID]
	t := p.Group.Targets[ep.Target]
	u := Update{Pod: pod, Target: ep.Target, OwnedAt: t.OwnedAt}
	ok := p.putsBack(pod)
	if !ok {
		u.Health, ok = p.health(pod, ep, listed)
	}
	if lost, isLost := p.Lost[pod.UID]; isLost && (p.putsBack(pod) || !ok && !readiness.IsOpen(pod, p.Gate)) {
		u.Health, u.PutBack, ok = lost, true, true
	}
	if t.HealthOf(pod.UID).State == elbv2.StateHealthy {
		u.HealthyAt = t.ReadAt
		if !ok && p.isForeign(pod) {
			u.Health, _ = p.waiting(pod, ep, t)
			u.PutBack, ok = true, true
		}
	}
	if ok {
		p.result.Updates = append(p.result.Updates, u)
		p.noteLate(u, t)
	}
}

// isForeign reports whether the gate is open and says what we never write, as after somebody else has changed it before our time. Where
// gates are closed again, one with another reason stays as it is: it would be closed.
func (p *planner) isForeign(pod *corev1.Pod) bool {
	return readiness.IsForeign(pod, p.Gate) && (!p.Policy.TwoWay || readiness.IsOpenByHealth(pod, p.Gate))
}

// putsBack reports whether the gate was open until somebody else changed that: it stays open, whatever its target's health is by now.
func (p *planner) putsBack(pod *corev1.Pod) bool {
	return !p.Policy.TwoWay && p.Lost[pod.UID].Status == corev1.ConditionTrue
}

// health is what the pod's gate has to say.
func (p *planner) health(pod *corev1.Pod, ep endpoints.Endpoint, listed bool) (readiness.Health, bool) {
	t := p.Group.Targets[ep.Target]
	switch {
	case readiness.IsOpen(pod, p.Gate) || p.Opened[pod.UID]:
		return p.closed(pod, ep, t)
	case listed && ep.State != endpoints.Unselected:
		return p.waiting(pod, ep, t)
	default:
		return p.detachedHealth(pod)
	}
}

// closed is why an open gate must be closed again, which is only done when users ask for it, and of gates that health has
// opened: what else opens a gate holds on, and would open it again.
func (p *planner) closed(pod *corev1.Pod, ep endpoints.Endpoint, t targetgroup.Target) (readiness.Health, bool) {
	h := t.HealthOf(pod.UID)
	if !p.closes || ep.State != endpoints.Desired || h.State != elbv2.StateUnhealthy || !readiness.IsOpenByHealth(pod, p.Gate) {
		return readiness.Health{}, false
	}
	return readiness.FromTarget(string(h.State), h.Reason, h.Description, t.Since), true
}

// waiting is what a gate has to say whose pod is among the endpoints.
func (p *planner) waiting(pod *corev1.Pod, ep endpoints.Endpoint, t targetgroup.Target) (readiness.Health, bool) {
	h := t.HealthOf(pod.UID)
	isOurs := t.Presence == targetgroup.Registered && t.Owner == pod.UID
	switch {
	case h.State == elbv2.StateHealthy:
		return readiness.FromTarget(string(h.State), h.Reason, h.Description, t.Since), true
	case isOurs && p.Policy.ReadinessTimeout > 0 && p.waited(pod, t) >= p.Policy.ReadinessTimeout:
		return readiness.Released(readiness.ReasonTimeout, fmt.Sprintf("Not healthy within --readiness-timeout=%s: %s %s",
			p.Policy.ReadinessTimeout, h.Reason, h.Description)), true
	case p.unattached(t, h):
		return readiness.Released(readiness.ReasonNotAttached,
			"The target group is attached to no load balancer, so no health check runs"), true
	case h.State != "":
		known := t.BriefFor(p.Now) > 0 && readiness.ShowsRegistration(pod, p.Gate)
		return readiness.FromTarget(string(h.State), h.Reason, h.Description, t.Since), !known
	case isOurs:
		return readiness.FromTarget(string(elbv2.StateInitial), elbv2.ReasonRegistrationInProgress,
			elbv2.DescriptionRegistrationInProgress, retry.Later(t.OwnedAt, t.Since)), true
	}
	return p.unregistered(pod, ep)
}

// waited is how long a pod has been at its gate: since its registration or, where gates are closed again, since its own was.
func (p *planner) waited(pod *corev1.Pod, t targetgroup.Target) time.Duration {
	since := t.WaitsSince()
	if c := readiness.Condition(pod, p.Gate); p.Policy.TwoWay && c != nil {
		since = retry.Later(since, c.LastTransitionTime.Time)
	}
	return p.Now.Sub(since)
}

// unattached reports whether no load balancer checks the target, by its own words and by settings that were read after them.
func (p *planner) unattached(t targetgroup.Target, h elbv2.Health) bool {
	return p.Policy.ReadyWhenUnattached && h.NotInUse() &&
		p.Group.Settings != nil && p.Group.Settings.LoadBalancers == 0 && !p.Group.SettingsReadAt.Before(t.Since)
}

// detachedHealth is what a gate has to say whose pod is not, or no longer, among the endpoints of the Service.
func (p *planner) detachedHealth(pod *corev1.Pod) (readiness.Health, bool) {
	health, cause, ok := p.detachment(pod)
	if !ok || !p.lasts(pod, cause) {
		return readiness.Health{}, false
	}
	if health.Reason == readiness.ReasonNoEndpoint && (p.result.Unlisted == "" || health.Message < p.result.Unlisted) {
		p.result.Unlisted = health.Message
	}
	return health, true
}

// detachment is why the pod is no endpoint, and what its gate says when the hold-off is over. It is nothing while the pod has
// no address, or its containers are not ready: its EndpointSlice and its gate wait for that first, also where a Service has no selector,
// and somebody else writes its slices.
func (p *planner) detachment(pod *corev1.Pod) (readiness.Health, cause, bool) {
	service := p.Resolution.Service
	selects := endpoints.Selects(service, pod)
	starts := len(pod.Status.PodIPs) == 0 || !endpoints.ContainersReady(pod)
	switch {
	case p.Resolution.Missing != "":
		return readiness.Released(readiness.ReasonBackendNotFound, p.Resolution.Missing), noBackend, true
	case starts && (selects || len(service.Spec.Selector) == 0):
		return readiness.Health{}, 0, false
	case !selects:
		why := fmt.Sprintf("Service %q does not select the pod", service.Name)
		return readiness.Released(readiness.ReasonNotSelected, why), notSelected, true
	}
	why, lasting := p.Unlisted(pod)
	switch {
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		return readiness.Released(readiness.ReasonNoEndpoint, why), unlistable, true
	case lasting:
		return readiness.NoEndpoint(why), unlistable, true
	default:
		return readiness.NoEndpoint(why), unlisted, true
	}
}

// lasts reports whether the pod has been kept from a target for that cause for long enough for its gate to say so.
func (p *planner) lasts(pod *corev1.Pod, why cause) bool {
	d := p.Detached[pod.UID].still(why, p.Now)
	p.result.Detached[pod.UID] = d
	return d.left(p.Policy, p.Now) <= 0
}

// noteLate tells of a pod whose target takes longer to become healthy than the health check settings explain.
func (p *planner) noteLate(u Update, t targetgroup.Target) {
	expected := plan.ExpectedWait(p.Group.Settings, t.Health.State)
	if u.Opens() || t.Presence != targetgroup.Registered || t.Owner != u.Pod.UID || p.waited(u.Pod, t) < expected {
		return
	}
	p.result.Late["late "+string(u.Pod.UID)] = events.Notice{On: u.Pod, Event: events.Warning("ReadinessGateWaiting", "AwaitHealth",
		"Target %s has not become healthy within %s: %s: %s", u.Target, expected, u.Health.Reason, u.Health.Message)}
}
