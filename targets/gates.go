// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

const (
	// detachedHoldOff is how long a pod must be seen to be no endpoint of its Service before its gate says so, or is opened for that.
	detachedHoldOff = cacheLag
	// unlistedHoldOff is the same where its EndpointSlice may only be late.
	unlistedHoldOff = time.Minute
)

// conditionPlanner decides what the gates of a binding's pods have to say: every gate of a binding that exists is decided here,
// those of one that is gone in finalize.go. It does not write.
type conditionPlanner struct {
	gate       corev1.PodConditionType
	endpoints  map[types.UID]endpoints.Endpoint
	entries    map[elbv2.Target]entry
	obstacles  map[elbv2.Target]readiness.Health // what keeps targets from being registered
	resolution endpoints.Resolution
	facts      *v1beta1.TargetGroupFacts
	factsAt    time.Time
	detached   map[types.UID]detachment // as of the last pass
	opened     map[types.UID]bool       // lately, whatever the cache shows
	hold       hold
	withheld   map[elbv2.Target]struct{} // by the hold
	closes     bool                      // gates of unhealthy pods may be closed: enough others are healthy, with open gates
	policy     Policy
	now        time.Time
	why        func(*corev1.Pod) (why string, lasting bool) // a pod that the Service selects is no endpoint

	detachedNow map[types.UID]detachment
	unlisted    string // why a pod that waits is no endpoint, empty when all are; of several reasons one that stays the same
}

// conditionUpdate is what to write to one pod.
type conditionUpdate struct {
	pod       *corev1.Pod
	target    elbv2.Target // zero when the pod has none
	health    readiness.Health
	healthyAt time.Time // the reading that found the target healthy, zero when none did
	ownedAt   time.Time // the registration, zero when it was before our time
}

func (r *Registrar) newConditionPlanner(
	g *group, binding *v1beta1.TargetGroupBinding, res endpoints.Resolution, p plan, entries map[elbv2.Target]entry,
) *conditionPlanner {
	j := &conditionPlanner{
		gate: readiness.GateFor(binding.Name), endpoints: make(map[types.UID]endpoints.Endpoint, len(res.Endpoints)), entries: entries,
		obstacles: g.obstacles(p, res.Endpoints, r.Policy), resolution: res,
		detached: g.currentDetached(), opened: g.openedNow(r.Clock.Now()), policy: r.Policy, now: r.Clock.Now(),
		detachedNow: map[types.UID]detachment{},
		hold:        r.holdOf(g), withheld: p.withheld,
		why: func(pod *corev1.Pod) (string, bool) { return r.resolver.WhyUnlisted(binding, res.Service, pod) },
	}
	j.hold.keepOut(j.obstacles, p.withheld)
	j.closes = r.Policy.TwoWay && planInput{endpoints: gatesOpen(res.Endpoints, j.gate), entries: entries, policy: r.Policy}.enoughHealthy()
	j.facts, j.factsAt = g.currentFacts()
	for _, ep := range res.Endpoints { // a pod may be there at its old port as well
		if other, twice := j.endpoints[ep.UID]; !twice || other.State != endpoints.Desired {
			j.endpoints[ep.UID] = ep
		}
	}
	return j
}

// gatesOpen are the endpoints, with pods at closed gates as unready ones: they are not Ready, whatever their targets are.
func gatesOpen(listed map[elbv2.Target]endpoints.Endpoint, gate corev1.PodConditionType) map[elbv2.Target]endpoints.Endpoint {
	out := maps.Clone(listed)
	for target, ep := range out {
		if ep.State == endpoints.Desired && ep.AtGate(gate) {
			ep.State = endpoints.NotReady
			out[target] = ep
		}
	}
	return out
}

// updates are the gates that have something to say.
func (j *conditionPlanner) updates(gated []*corev1.Pod) []conditionUpdate {
	var out []conditionUpdate
	for _, pod := range gated {
		if endpoints.IsTerminating(pod) {
			continue
		}
		ep, listed := j.endpoints[pod.UID]
		e := j.entries[ep.Target]
		v := conditionUpdate{pod: pod, target: ep.Target, ownedAt: e.ownedAt}
		open := readiness.IsOpen(pod, j.gate) || j.opened[pod.UID]
		var ok bool
		switch {
		case open:
			v.health, ok = j.closed(pod, ep, e)
		case listed && ep.State != endpoints.Unselected:
			v.health, ok = j.waiting(pod, ep, e)
		default:
			v.health, ok = j.detachedHealth(pod)
		}
		if e.healthOf(pod.UID).State == elbv2.StateHealthy {
			v.healthyAt = e.readAt
		}
		if ok {
			out = append(out, v)
		}
	}
	return out
}

// closed is why an open gate must be closed again, which is only done when users ask for it, and of gates that health has
// opened: what else opens a gate holds on, and would open it again.
func (j *conditionPlanner) closed(pod *corev1.Pod, ep endpoints.Endpoint, e entry) (readiness.Health, bool) {
	h := e.healthOf(pod.UID)
	if !j.closes || ep.State != endpoints.Desired || h.State != elbv2.StateUnhealthy || !readiness.IsOpenByHealth(pod, j.gate) {
		return readiness.Health{}, false
	}
	return readiness.FromTarget(string(h.State), h.Reason, h.Description, e.since), true
}

// waiting is what a gate has to say whose pod is among the endpoints.
func (j *conditionPlanner) waiting(pod *corev1.Pod, ep endpoints.Endpoint, e entry) (readiness.Health, bool) {
	h := e.healthOf(pod.UID)
	isOurs := e.presence == registered && e.owner == pod.UID
	switch {
	case h.State == elbv2.StateHealthy:
		return readiness.FromTarget(string(h.State), h.Reason, h.Description, e.since), true
	case isOurs && j.policy.ReadinessTimeout > 0 && j.waited(pod, e) >= j.policy.ReadinessTimeout:
		return readiness.Released(readiness.ReasonTimeout, fmt.Sprintf("Not healthy within --readiness-timeout=%s: %s %s",
			j.policy.ReadinessTimeout, h.Reason, h.Description)), true
	case j.unattached(e, h):
		return readiness.Released(readiness.ReasonNotAttached,
			"The target group is attached to no load balancer, so no health check runs"), true
	case h.State != "":
		known := e.brief(j.now) > 0 && readiness.ShowsRegistration(pod, j.gate)
		return readiness.FromTarget(string(h.State), h.Reason, h.Description, e.since), !known
	case isOurs:
		return readiness.FromTarget(string(elbv2.StateInitial), elbv2.ReasonRegistrationInProgress,
			elbv2.DescriptionRegistrationInProgress, later(e.ownedAt, e.since)), true
	}
	return j.obstacle(pod, ep.Target)
}

// waited is how long a pod has been at its gate: since its registration or, where gates are closed again, since its own was.
func (j *conditionPlanner) waited(pod *corev1.Pod, e entry) time.Duration {
	since := e.waitsSince()
	if c := readiness.Condition(pod, j.gate); j.policy.TwoWay && c != nil {
		since = later(since, c.LastTransitionTime.Time)
	}
	return j.now.Sub(since)
}

// unattached reports whether no load balancer checks the target, by its own words and by settings that were read after
// them. A zone that is not enabled has the same reason and is another matter: there the pod gets no traffic, and waits.
func (j *conditionPlanner) unattached(e entry, h elbv2.Health) bool {
	return j.policy.ReadyWhenUnattached && notInUse(h) &&
		j.facts != nil && j.facts.LoadBalancers == 0 && !j.factsAt.Before(e.since)
}

func notInUse(h elbv2.Health) bool {
	return h.Reason == elbv2.ReasonNotInUse && !strings.Contains(h.Description, "Availability Zone")
}

// detachedHealth is what a gate has to say whose pod is not among the endpoints of the Service, or not any more.
func (j *conditionPlanner) detachedHealth(pod *corev1.Pod) (readiness.Health, bool) {
	health, cause, ok := j.detachment(pod)
	if !ok {
		return readiness.Health{}, false
	}
	if !j.lasts(pod, cause) {
		return readiness.Health{}, false
	}
	if health.Reason == readiness.ReasonNoEndpoint && (j.unlisted == "" || health.Message < j.unlisted) {
		j.unlisted = health.Message
	}
	return health, true
}

// detachment is why the pod is no endpoint, and what its gate says when the hold-off is over. It is nothing while the pod has
// no address, or its containers are not ready: its EndpointSlice and its gate wait for that first.
func (j *conditionPlanner) detachment(pod *corev1.Pod) (readiness.Health, cause, bool) {
	service := j.resolution.Service
	switch {
	case j.resolution.Missing != "":
		return readiness.Released(readiness.ReasonBackendNotFound, j.resolution.Missing), noBackend, true
	case !endpoints.Selects(service, pod):
		why := fmt.Sprintf("Service %q does not select the pod", service.Name)
		return readiness.Released(readiness.ReasonNotSelected, why), notSelected, true
	case len(pod.Status.PodIPs) == 0 || !endpoints.ContainersReady(pod):
		return readiness.Health{}, 0, false
	}
	why, lasting := j.why(pod)
	switch {
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		return readiness.Released(readiness.ReasonNoEndpoint, why), unlistable, true
	case lasting:
		return readiness.NoEndpoint(why), unlistable, true
	default:
		return readiness.NoEndpoint(why), unlisted, true
	}
}

// nextRelease is when to look again because a gate may be opened by then or told more, 0 when there is none. It leaves out
// gates that were closed again: their targets are read every few seconds anyway.
func (g *group) nextRelease(awaited map[elbv2.Target]entry, policy Policy, now time.Time) time.Duration {
	var wait time.Duration
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, d := range g.detached {
		if left := d.holdOff(policy) - now.Sub(d.since); left > 0 {
			wait = soonest(wait, left)
		}
	}
	for _, e := range awaited {
		wait = soonest(wait, e.brief(now))
		if left := policy.ReadinessTimeout - now.Sub(e.waitsSince()); left > 0 {
			wait = soonest(wait, left)
		}
	}
	return wait
}

func (g *group) currentDetached() map[types.UID]detachment {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.detached)
}

// obstacles are the targets that cannot be registered now, and why. Before the first reading nothing is registered.
func (g *group) obstacles(p plan, listed map[elbv2.Target]endpoints.Endpoint, policy Policy) map[elbv2.Target]readiness.Health {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := map[elbv2.Target]readiness.Health{}
	if err := g.reading.lasting(); err != nil && g.readAt.IsZero() {
		for target, ep := range listed {
			if ep.State == endpoints.Desired {
				out[target] = readiness.RegistrationFailed(cut(awserr.Message(err)))
			}
		}
	}
	if err := g.claims.lasting(); err != nil {
		for target := range p.adopt {
			out[target] = readiness.RegistrationFailed(cut(err.Error()))
		}
	}
	for target := range p.register {
		if why := g.refusalOf(target); why != "" {
			out[target] = readiness.RegistrationFailed(cut(why))
		}
	}
	for target := range p.leftOut {
		out[target] = readiness.TargetGroupFull(groupFull(policy))
	}
	return out
}

// refusalOf is why a target that is due is not registered, empty when nothing is known to be in the way. The caller holds the lock.
func (g *group) refusalOf(target elbv2.Target) string {
	if o, aside := g.registration.aside[target]; aside {
		return o.refusal
	}
	if err := g.registration.err; err != nil {
		return awserr.Message(err)
	}
	if err := g.claims.lasting(); err != nil {
		return err.Error()
	}
	if e, known := g.entries[target]; known {
		return e.refusal
	}
	return ""
}
