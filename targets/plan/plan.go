// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/targetgroup"
)

// Policy is how the registrar weighs one good against another.
type Policy struct {
	// MinReadyPercent of a binding's pods must be healthy for unready ones to be deregistered; 0 to 100.
	MinReadyPercent int
	// ReplacementTimeout bounds how long targets that are no longer wanted wait for others to become healthy.
	ReplacementTimeout time.Duration
	// MaxTargets is how many targets a group holds at most; 0 is no limit.
	MaxTargets int
	// ReadyWhenUnattached opens the gates of a target group that is attached to no load balancer.
	ReadyWhenUnattached bool
	// ReadinessTimeout opens a gate this long after the registration, healthy or not; 0 never does.
	ReadinessTimeout time.Duration
	// TwoWay closes the gates of pods that become unhealthy, while MinReadyPercent of the pods are healthy.
	TwoWay bool
	// Lead is how long before a pod gets SIGTERM its target must be deregistered.
	Lead Lead
	// KeepUntilReplaced keeps the targets of pods that leave and serve until as many others are healthy as before, at most until their
	// deadlines.
	KeepUntilReplaced bool
}

// GroupFull says that MaxTargets is reached.
func (p Policy) GroupFull() string {
	return fmt.Sprintf("The target group holds as many targets as --max-targets-per-target-group=%d allows", p.MaxTargets)
}

// Input is all that a plan is made from.
type Input struct {
	Endpoints   map[elbv2.Target]endpoints.Endpoint
	Group       targetgroup.Snapshot
	Nodes       bool                     // the endpoints are nodes
	Gate        corev1.PodConditionType  // of the binding
	Workloads   map[string][]*corev1.Pod // of pods that are being deleted: what lives of each
	Shared      bool                     // others register targets in the group, too, and what is ours is written down
	Withheld    bool                     // there is no consent to register anything
	Mine        func(elbv2.Target) bool  // the target may be deregistered: in a shared group, it was registered for this binding
	Policy      Policy
	UnreadyKept UnreadyKept
	Leaving     Leaving
	Foreign     Foreign
	Elsewhere   Elsewhere
	Now         time.Time
}

// UnreadyKept is whether the last pass kept unready pods registered, as it found too few healthy ones, and when a pass last found enough
// again.
type UnreadyKept struct {
	Now     bool
	EndedAt time.Time
}

// Plan is what has to be done so that the group holds what the cluster wants.
type Plan struct {
	targetgroup.Changes

	LeftOut  map[elbv2.Target]struct{} // wanted, but the group holds as many as it may
	Withheld map[elbv2.Target]struct{} // wanted, but there is no consent

	Nobodys     []elbv2.Target        // of Deregister, those that nothing in the cluster explains
	TimedOut    []elbv2.Target        // of Deregister, those whose replacements did not become healthy in time
	CutShort    []*corev1.Pod         // of Deregister, those whose deletion gives them less time than they have, and too little
	UnreadyKept UnreadyKept           // whether unready targets stay, because too few others are healthy
	Leaving     Leaving               // what the next pass has to know of pods that leave
	Foreign     Foreign               // what it has to know of targets that nothing in the cluster explains
	AsksOwner   bool                  // whose targets are has to be found out by the group's tags
	ReplacedAt  time.Time             // since when replaced targets wait for others to be found healthy, zero when none does
	Kept        map[elbv2.Target]Kept // targets of pods that get no traffic by Kubernetes' word, which stay for longer than moments
	NodesStay   int                   // nodes that are to be replaced, and that stay until as many others are healthy or they end
	NextChange  time.Duration         // when a wait ends by itself, 0 when none does
}

// Why targets are deregistered, as the log says it.
const (
	whyTerminating = "terminating"
	whyNodeLeaves  = "its node is going away"
	whyReused      = "its address is another pod's now"
	whyNotReady    = "not ready"
	whyNodeDown    = "its node is down"
	whyUnselected  = "no longer selected"
	whyMakesRoom   = ", and others need its room"          // after the one above
	whyInVain      = ", and not all others served in time" // after one of the above
	whyPodGone     = "its pod is gone"
	whyUnknown     = "nothing in the cluster explains it"
	whyDeleted     = "the binding is deleted"
)

// whyHeld is that for pods that are held back.
var whyHeld = map[endpoints.Held]string{
	endpoints.HeldByGate:   "a readiness gate of somebody else is not True",
	endpoints.HeldBySlice:  "its EndpointSlice says that it is not ready",
	endpoints.HeldByLabels: "its labels were changed",
}

// Make compares what should be in the group with what is there. Before the first reading it only lets pods leave: what is already
// registered is not known yet.
func Make(in Input) Plan {
	p := Plan{
		Leaving: in.Leaving, Foreign: in.Foreign,
		Changes: targetgroup.Changes{
			Nodes:       in.Nodes,
			Register:    targetgroup.Registrations{},
			NodeZones:   map[elbv2.Target]string{},
			Deregister:  targetgroup.Deregistrations{},
			Adopt:       targetgroup.Registrations{},
			AdoptFrom:   targetgroup.Registrations{},
			Shared:      map[elbv2.Target]struct{}{},
			Unexplained: map[elbv2.Target]struct{}{},
			Unwanted:    map[elbv2.Target]endpoints.State{},
		},
		LeftOut:  map[elbv2.Target]struct{}{},
		Withheld: map[elbv2.Target]struct{}{},
	}
	keepsUnready := p.fill(in)
	p.UnreadyKept = in.UnreadyKept.next(keepsUnready, in.Now)
	return p
}

// fill makes the plan, and reports whether unready targets stay because too few others are healthy.
func (p *Plan) fill(in Input) (keepsUnready bool) {
	if in.Group.Gone == nil {
		p.addLeaving(in)
	}
	p.addShared(in)
	if !in.Group.Complete() {
		return false
	}
	p.addWanted(in)
	p.addReused(in)
	if in.Withheld {
		p.withhold(in)
		return false
	}
	p.limit(in)
	p.RegisterBy = registerBy(in, p.Register)
	for target := range p.Register {
		if zone := in.Endpoints[target].Zone; zone != "" {
			p.NodeZones[target] = zone
		}
	}
	keepsUnready = p.addUnready(in)
	p.addReplaced(in)
	p.addUnexplained(in)
	return keepsUnready
}

// addShared notes where several pods live at one address. For which of them the target is registered is known only when that has been
// answered, and that may be before this plan is carried out: so a target stays noted until a pass has seen the answer.
func (p *Plan) addShared(in Input) {
	for target, ep := range in.Endpoints {
		if t := in.Group.Targets[target]; ep.Shared || t.Shared && t.Registering {
			p.Shared[target] = struct{}{}
		}
	}
}

// deletedAt is when somebody asked for the pod's deletion; the API server adds the grace period to its timestamp.
func deletedAt(ep endpoints.Endpoint) time.Time {
	pod := ep.Pod
	if pod == nil || pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds == nil {
		return time.Time{}
	}
	return pod.DeletionTimestamp.Add(-time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second)
}

func (p *Plan) addWanted(in Input) {
	for target, ep := range in.Endpoints {
		t := in.Group.Targets[target]
		if ep.State != endpoints.Desired || t.UnderWay() {
			continue
		}
		switch isOwn := t.Owner == ep.UID || inheritable(t, ep); {
		case !t.IsIn(), t.IsMissing() && isOwn:
			p.Register[target] = ep.UID
		case t.Owner != ep.UID:
			p.addTaken(target, ep, t)
		}
	}
}

// addTaken decides about a wanted endpoint whose target is registered, but not known to be for it.
func (p *Plan) addTaken(target elbv2.Target, ep endpoints.Endpoint, t targetgroup.Target) {
	switch {
	case t.Owner != "" && !inheritable(t, ep): // the address was an earlier pod's: see addReused
	case ep.Unproven && t.Tried != ep.UID:
		p.Register[target] = ep.UID
	default:
		p.Adopt[target] = ep.UID
		if t.Owner != "" {
			p.AdoptFrom[target] = t.Owner
		}
	}
}

// addReused deregisters targets that were registered for an earlier pod at the address: its registration must end before another one
// begins.
func (p *Plan) addReused(in Input) {
	for target, ep := range in.Endpoints {
		t := in.Group.Targets[target]
		reused := t.IsIn() && t.Owner != "" && t.Owner != ep.UID && !inheritable(t, ep)
		decided := ep.State != endpoints.Undetermined && ep.State != endpoints.Terminating
		if reused && decided && !t.Registering && t.Leavable() && in.Mine(target) {
			p.Deregister[target] = targetgroup.Deregistration{Why: whyReused}
		}
	}
}

// inheritable reports whether the endpoint takes the target over from the pod for which it was registered, without leaving the group:
// that pod lives at the same address or did so beside another one, or the endpoint's own has been found healthy there.
func inheritable(t targetgroup.Target, ep endpoints.Endpoint) bool {
	return ep.State == endpoints.Desired && (ep.BesideOwner || ep.Proven || t.Shared)
}

// withhold leaves a group without consent as it is: nothing comes in, and targets go with their pods only.
func (p *Plan) withhold(in Input) {
	for target := range p.Register {
		p.Withheld[target] = struct{}{}
	}
	clear(p.Register)
	p.addUnexplained(in)
}

// registrationWait is how long after its containers are ready a pod should be registered, at the latest.
const registrationWait = 3 * time.Second

// registerBy is the earliest moment by which one of the targets should be registered, zero for as soon as possible. A node whose clock is
// ahead gains nothing from that, and loses little.
func registerBy(in Input, targets targetgroup.Registrations) time.Time {
	var first time.Time
	for target := range targets {
		ready := in.Endpoints[target].ReadySince()
		if ready.IsZero() {
			return time.Time{}
		}
		if by := sooner(ready, in.Now).Add(registrationWait); first.IsZero() || by.Before(first) {
			first = by
		}
	}
	return first
}
