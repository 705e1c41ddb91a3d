// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"cmp"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// group is the memory of one binding's target group. The mutex guards what is below it, but for what only passes touch, and is
// never held across a call.
type group struct {
	uid types.UID // of the binding
	arn string

	status *statusLane

	mu      sync.Mutex
	retired bool // the target group is another binding's: nothing is sent any more
	entries map[elbv2.Target]*entry
	readAt  time.Time                 // when the last successful reading was started, zero before the first
	newTill time.Time                 // readings until then may show targets that an earlier binding has just deregistered
	gone    error                     // AWS's word that there is no such target group, nil once a reading has found it
	invalid error                     // AWS's refusal of the group's ARN at the last reading, nil once one has found it
	facts   *v1beta1.TargetGroupFacts // nil before they were read
	factsAt time.Time

	delayDenied error // AWS's word that we may not read the deregistration delay, nil when there is none

	detached map[types.UID]detachment   // pods at their gates that are not among the endpoints
	said     map[types.UID]pendingWrite // to pods, lately
	turns    int                        // writes handed over, ever

	toRegister   registrations // due now, as of the last pass
	unclaimed    bool          // others would be due if they were claimed
	toDeregister departures
	unanswered   departures     // of the last deregistration, if that failed
	queued       queued         // the reading that waits for its token
	refusesNames bool           // AWS has refused a reading of single targets: the whole group is asked for
	watched      []elbv2.Target // somebody waits for their health, as of the last pass; nil asks for the whole group

	claims                       lane   // of writes to the API server
	claimedFrom                  string // the version of the binding that we last put our finalizer on, or took it off
	approval                     approval
	reading, inspection          lane
	registration, deregistration sender

	gatheringSince time.Time // since when deregistrations wait for others, zero when none does

	valve           valve
	vpc             string                  // the group's, by ID; empty is the cluster's own
	subnets         *subnets                // of all VPCs
	abroad          bool                    // the group is in another account than targetgate, as of the last registration
	wantsZoneOfNode bool                    // AWS does, for addresses outside the VPC, as cross-zone load balancing is off
	zoneTurn        turn                    // of wantsZoneOfNode
	nodeZones       map[elbv2.Target]string // of what is to be registered
	record          record                  // of a shared group, nil before it was read
	recordWritten   bool                    // there is a ConfigMap that says the same
	lost            []elbv2.Target          // were registered and are not any more, by nobody we know; until a pass reports them

	// Only passes touch these, and there is one at a time.
	notices map[string]bool // told in the last pass

	failed string // the reason of the event about the last change of finalizers, empty after a success; of claims
}

// registrations are targets to register, and for which pod.
type registrations map[elbv2.Target]types.UID

// departures are targets to deregister.
type departures map[elbv2.Target]departure

// departure is why a target has to be deregistered.
type departure struct {
	why   string    // in an operator's words
	since time.Time // the moment its pod was deleted; zero when that is not why, or not known
}

// Why targets are deregistered, as the log says it.
const (
	whyTerminating = "terminating"
	whyReused      = "its address is another pod's now"
	whyNotReady    = "not ready"
	whyNodeDown    = "its node is down"
	whyUnselected  = "no longer selected"
	whyTimedOut    = "no longer selected, and what replaces it is not healthy in time"
	whyPodGone     = "its pod is gone"
	whyUnknown     = "nothing in the cluster explains it"
	whyDeleted     = "the binding is deleted"
)

// session is what the calls of one pass share.
type session struct {
	key    types.NamespacedName // of the binding
	group  *group
	client *elbv2.Client
}

// newGroup remembers nothing but the facts in the binding's status, which count as read now.
func newGroup(binding *v1beta1.TargetGroupBinding, subnets *subnets, now time.Time) *group {
	g := &group{
		uid: binding.UID, arn: binding.Spec.TargetGroupARN,
		entries:        map[elbv2.Target]*entry{},
		facts:          binding.Status.TargetGroup,
		factsAt:        now,
		claims:         lane{maxBackoff: maxUrgentBackoff, calls: kubernetesFailure},
		reading:        lane{maxBackoff: maxUrgentBackoff},
		inspection:     lane{maxBackoff: maxCallBackoff},
		approval:       approval{lane: lane{maxBackoff: maxCallBackoff}},
		registration:   newSender(maxCallBackoff),
		deregistration: newSender(maxUrgentBackoff),
		vpc:            binding.Spec.VpcID,
		subnets:        subnets,
		said:           map[types.UID]pendingWrite{},
		status:         &statusLane{},
	}
	if !controllerutil.ContainsFinalizer(binding, v1beta1.Finalizer) {
		g.newTill = now.Add(settleTime)
	}
	return g
}

// recallWritten takes over what has been told of the same binding.
func (g *group) recallWritten(before *group) {
	if before != nil && before.uid == g.uid {
		g.status, g.notices = before.status, before.notices
		g.recallRefused(before)
	}
}

// retire has nothing more sent, for good, and reports whether a call is still under way. One that still waits for its token
// will find nothing to send.
func (g *group) retire() (underWay bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.retired = true
	return g.calling()
}

// calling reports whether a registration or deregistration has been sent and not answered. The caller holds the lock.
func (g *group) calling() bool {
	for _, e := range g.entries {
		if e.registering || e.deregistering {
			return true
		}
	}
	return false
}

// usable is false for the memory of a binding that had to leave its group to another one: what it knows is out of date.
func (g *group) usable() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.retired || g.calling()
}

func (g *group) currentValve() valve {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.valve
}

// snapshot copies the entries for one pass; complete is false before the first reading.
func (g *group) snapshot() (entries map[elbv2.Target]entry, complete bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	entries = make(map[elbv2.Target]entry, len(g.entries))
	for target, e := range g.entries {
		entries[target] = *e
	}
	return entries, !g.readAt.IsZero()
}

// vanish takes AWS's word, from whichever call, that there is no such target group: nothing of ours is in it, and nothing can
// be sent to it until a reading finds it. The caller holds the lock.
func (g *group) vanish(err error) {
	if !elbv2.IsTargetGroupNotFound(err) {
		return
	}
	g.gone, g.readAt = err, time.Time{}
	maps.DeleteFunc(g.entries, func(_ elbv2.Target, e *entry) bool { return !e.registering && !e.deregistering })
}

// isGone reports whether AWS has said that there is no such target group.
func (g *group) isGone() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.gone != nil
}

// lastReading is when the last reading of the whole group was started, zero before the first.
func (g *group) lastReading() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.readAt
}

func (g *group) entry(target elbv2.Target) *entry {
	e, ok := g.entries[target]
	if !ok {
		e = &entry{}
		g.entries[target] = e
	}
	return e
}

// settleDepartures takes from a pass's plan what has to go now, and what needs no call: which targets nobody explains and
// which ones linger. What is set aside is not due; it says when the next of it will be. The caller holds the lock.
func (g *group) settleDepartures(p plan, now time.Time) (wait time.Duration) {
	for target, e := range g.entries {
		if e.deregistering {
			continue // what led to that still holds
		}
		_, suspect := p.suspects[target]
		if _, shared := p.shared[target]; shared || !e.registering { // for which of the pods is known when that is answered
			e.shared = shared
		}
		e.suspect(suspect)
		e.linger(p.lingering[target], now)
	}
	g.valve = g.valve.next(p.valve, now)
	keep(&g.deregistration.batches, p.deregister, func(e *entry) bool { return e.deregistering }, g.entries)
	g.deregistration.plan(len(p.deregister), p.generation)
	g.toDeregister, wait = due(&g.deregistration.batches, p.deregister, now)
	return wait
}

// settleRegistrations takes from a pass's plan what has to be registered now, and the owners of what is there already: of
// targets that are claimed. The rest is as for settleDepartures.
func (g *group) settleRegistrations(p plan, claimed func(elbv2.Target) bool, now time.Time) (wait time.Duration) {
	for target, uid := range p.adopt {
		if e, ok := g.entries[target]; ok && e.owner == p.adoptFrom[target] && claimed(target) {
			e.own(uid, time.Time{})
			e.adoptedAt = now
		}
	}
	keep(&g.registration.batches, p.register, func(e *entry) bool { return e.registering }, g.entries)
	g.registration.plan(len(p.register), p.generation)
	g.nodeZones = p.nodeZones
	g.toRegister, wait = due(&g.registration.batches, p.register, now)
	ready := len(g.toRegister)
	maps.DeleteFunc(g.toRegister, func(target elbv2.Target, _ types.UID) bool { return !claimed(target) })
	g.unclaimed = ready > len(g.toRegister)
	return wait
}

func (g *group) setDetached(pods map[types.UID]detachment) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.detached = pods
}

// currentFacts are the facts, nil before they were read, and since when they hold.
func (g *group) currentFacts() (*v1beta1.TargetGroupFacts, time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.facts, g.factsAt
}

// working reports whether a target is on its way in or out, or should be.
func (g *group) working() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.toRegister) > 0 || g.unclaimed || len(g.toDeregister) > 0 || g.registration.busy || g.deregistration.busy
}

// failure is the error of the most urgent lane that fails, nil when none does: of readings it takes two. That there is no such
// group explains every other error.
func (g *group) failure() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gone != nil {
		return g.reading.lasting() // which will say so soon
	}
	return cmp.Or(g.deregistration.err, g.registration.err, g.reading.lasting())
}

// refusals are the targets that AWS has refused one by one, with its words.
func (g *group) refusals() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append(g.deregistration.refusals(), g.registration.refusals()...)
}

// inspectionFailure is why the facts about the group, or its tags, cannot be read; targets are registered all the same.
func (g *group) inspectionFailure() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return cmp.Or(g.inspection.err, g.approval.err)
}
