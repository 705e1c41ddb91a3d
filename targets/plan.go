// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
)

// Policy is how the registrar weighs one good against another.
type Policy struct {
	// MinReadyPercent of a binding's pods must be healthy for unready ones to be deregistered; 0 to 100.
	MinReadyPercent int
	// ReplacementTimeout bounds how long targets that are not asked for any more wait for others to be healthy.
	ReplacementTimeout time.Duration
	// MaxTargets is how many targets a group holds at most; 0 is no limit.
	MaxTargets int
	// ReadyWhenUnattached opens the gates of a target group that is attached to no load balancer.
	ReadyWhenUnattached bool
	// ReadinessTimeout opens a gate so long after the registration, healthy or not; 0 never does.
	ReadinessTimeout time.Duration
	// TwoWay closes the gates of pods that become unhealthy, while MinReadyPercent of the pods are healthy.
	TwoWay bool
}

// planInput is all that a plan is made from.
type planInput struct {
	endpoints map[elbv2.Target]endpoints.Endpoint
	entries   map[elbv2.Target]entry
	complete  bool                    // the group has been read
	gone      bool                    // AWS says that there is no such group
	nodes     bool                    // the endpoints are nodes
	withheld  bool                    // there is no consent to register anything
	mine      func(elbv2.Target) bool // the target may be deregistered: in a shared group, it was registered for this binding
	policy    Policy
	valve     valve
	now       time.Time
}

// valve is whether the last pass found too few healthy pods to let unready ones go, and when one last found enough again.
type valve struct {
	engaged    bool
	releasedAt time.Time
}

// plan is what has to be done so that the group holds what the cluster wants.
type plan struct {
	generation int64                   // of the spec that it was made for, 0 when not all is known that it needs
	register   registrations           // and for which pod
	nodeZones  map[elbv2.Target]string // of register, the Availability Zones that the nodes are in, as far as known
	deregister departures
	adopt      registrations                    // registered before our time, or for another pod there, and now this one's
	adoptFrom  map[elbv2.Target]types.UID       // of adopt, those that were registered for another pod, and which
	shared     map[elbv2.Target]struct{}        // several pods live at the address
	suspects   map[elbv2.Target]struct{}        // nobody explains them: they go if a later reading shows them still
	lingering  map[elbv2.Target]endpoints.State // in the group although unready or replaced
	leftOut    map[elbv2.Target]struct{}        // wanted, but the group holds as many as it may
	withheld   map[elbv2.Target]struct{}        // wanted, but there is no consent

	strangers  []elbv2.Target // of deregister, those that nobody explains
	timedOut   []elbv2.Target // of deregister, those whose replacements did not become healthy in time
	valve      bool           // unready targets stay, because too few others are healthy
	handover   time.Time      // since when replaced targets wait for others to be found healthy, zero when none does
	nextChange time.Duration  // when a wait ends by itself, 0 when none does
}

// makePlan compares what should be there with what is there. Before the first reading it only lets pods leave: what is
// already registered is not known yet.
func makePlan(w planInput) plan {
	p := plan{
		register:   registrations{},
		nodeZones:  map[elbv2.Target]string{},
		deregister: departures{},
		adopt:      registrations{},
		adoptFrom:  map[elbv2.Target]types.UID{},
		shared:     map[elbv2.Target]struct{}{},
		suspects:   map[elbv2.Target]struct{}{},
		lingering:  map[elbv2.Target]endpoints.State{},
		leftOut:    map[elbv2.Target]struct{}{},
		withheld:   map[elbv2.Target]struct{}{},
	}
	if !w.gone {
		p.addLeaving(w)
	}
	if !w.complete {
		return p
	}
	p.addWanted(w)
	p.addReused(w)
	if w.withheld {
		p.withhold(w)
		return p
	}
	p.limit(w)
	for target := range p.register {
		if zone := w.endpoints[target].Zone; zone != "" {
			p.nodeZones[target] = zone
		}
	}
	p.addUnready(w)
	p.addReplaced(w)
	p.addStrangers(w)
	return p
}

// addLeaving lets go of pods on their way out. A pod may leave while its registration is under way: it is deregistered
// at once, and again when the registration has been answered, as nobody knows which of the two AWS saw first.
func (p *plan) addLeaving(w planInput) {
	for target, ep := range w.endpoints {
		if ep.State != endpoints.Terminating || !w.mine(target) {
			continue
		}
		e := w.entries[target]
		inGroup := e.mayBeIn() || e.registering || !w.complete && e.presence == absent
		if inGroup && e.leavable() {
			p.deregister[target] = departure{whyTerminating, deletedAt(ep)}
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

func (p *plan) addWanted(w planInput) {
	for target, ep := range w.endpoints {
		e := w.entries[target]
		if ep.Shared {
			p.shared[target] = struct{}{}
		}
		if ep.State != endpoints.Desired || e.registering || e.deregistering {
			continue
		}
		if e.presence != registered {
			p.register[target] = ep.UID
		} else if e.owner != ep.UID {
			p.addTaken(target, ep, e)
		}
	}
}

// addTaken decides about a wanted endpoint whose target is registered, but not known to be for it.
func (p *plan) addTaken(target elbv2.Target, ep endpoints.Endpoint, e entry) {
	switch {
	case e.owner != "" && !e.inheritable(ep): // the address was an earlier pod's: see addReused
	case ep.Unproven && e.tried != ep.UID:
		p.register[target] = ep.UID
	default:
		p.adopt[target] = ep.UID
		if e.owner != "" {
			p.adoptFrom[target] = e.owner
		}
	}
}

// addReused lets go of targets that were registered for an earlier pod at the address: its registration must end before
// another one begins.
func (p *plan) addReused(w planInput) {
	for target, ep := range w.endpoints {
		e := w.entries[target]
		reused := e.presence == registered && e.owner != "" && e.owner != ep.UID && !e.inheritable(ep)
		if reused && ep.State != endpoints.Undetermined && ep.State != endpoints.Terminating && !e.registering && e.leavable() && w.mine(target) {
			p.deregister[target] = departure{why: whyReused}
		}
	}
}

// limit leaves out what would exceed MaxTargets, in an order that does not change from pass to pass.
func (p *plan) limit(w planInput) {
	if w.policy.MaxTargets == 0 {
		return
	}
	room := w.policy.MaxTargets
	for _, e := range w.entries {
		if e.mayBeIn() || e.registering {
			room--
		}
	}
	var added []elbv2.Target
	for target := range p.register {
		if !w.entries[target].mayBeIn() {
			added = append(added, target)
		}
	}
	slices.SortFunc(added, func(a, b elbv2.Target) int { return strings.Compare(a.String(), b.String()) })
	for _, target := range added[min(max(room, 0), len(added)):] {
		delete(p.register, target)
		p.leftOut[target] = struct{}{}
	}
}

// addStrangers lets go of targets that no pod explains. One that we registered ourselves had a pod that is gone now;
// of any other a later reading has to confirm it, as the caches may be behind what an earlier targetgate has seen.
func (p *plan) addStrangers(w planInput) {
	for target, e := range w.entries {
		_, explained := w.endpoints[target]
		if explained || !e.settled() || !w.mine(target) {
			continue
		}
		confirmed := !e.suspectedAt.IsZero() && e.readAt.After(e.suspectedAt)
		switch {
		case e.owner != "":
			p.deregister[target] = departure{why: whyPodGone}
		case w.withheld: // it may be anybody's
		case confirmed:
			p.deregister[target] = departure{why: whyUnknown}
			p.strangers = append(p.strangers, target)
			p.suspects[target] = struct{}{} // until it has gone
		default:
			p.suspects[target] = struct{}{}
		}
	}
}

// inheritable reports whether the endpoint takes the target over from the pod for which it was registered, without leaving the group:
// that pod lives at the same address or did so beside another one, or the endpoint's own has been found healthy there.
func (e entry) inheritable(ep endpoints.Endpoint) bool {
	return ep.State == endpoints.Desired && (ep.BesideOwner || ep.Proven || e.shared)
}
