// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/consent"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// The owner of a target group may have a say in who binds it (package consent). Where that is required, a binding without
// consent registers nothing. What is registered already stays as long as its pod: consent may be withdrawn by accident, and a
// group that serves is never emptied for that. Of the targets that no pod explains only those go that we have seen with one:
// whose the others are nobody knows. The gates of pods that are not let in wait as for a Service that is gone, as the
// tag may come back, and open then.
//
// The tag is read with the group's settings and in a lane of its own. While it cannot be read, what it said last holds; where it has
// never been read, nothing is registered.

// approval is what the group's tag says of its binding.
type approval struct {
	lane
	readAt  time.Time // when the last successful reading was started, zero before the first
	refusal string    // by that reading, empty when the binding may have the group
}

// nextAt is when the tag is due to be read: soon again where somebody is asked to change it.
func (a *approval) nextAt(drift time.Duration) time.Time {
	switch {
	case a.readAt.IsZero():
		return a.retryAt
	case a.refusal != "":
		return later(a.readAt.Add(min(refusalRecheck, drift)), a.retryAt)
	default:
		return later(a.readAt.Add(drift), a.retryAt)
	}
}

// hold is what lack of consent keeps from happening; the zero value is nothing.
type hold struct {
	comings bool   // nothing is registered
	reason  string // of a condition, empty while there is nothing to say
	message string
}

// final reports whether there is no consent, and not only no answer.
func (h hold) final() bool { return h.comings && h.reason == v1beta1.ReasonConsentMissing }

// undecided reports whether the tag is being read for the first time.
func (h hold) undecided() bool { return h.comings && h.reason == "" }

func (r *Registrar) holdOf(g *group) hold {
	if !r.Consent.Mode.Asks() || g.arn == "" {
		return hold{}
	}
	required := r.Consent.Mode == consent.Require
	g.mu.Lock()
	defer g.mu.Unlock()
	switch a := &g.approval; {
	case a.refusal != "" && required:
		return hold{true, v1beta1.ReasonConsentMissing,
			"No target is registered (--target-group-consent=require), those that are stay until their pods go: " + a.refusal}
	case a.refusal != "":
		return hold{false, v1beta1.ReasonConsentMissing, "With --target-group-consent=require no target would be registered: " + a.refusal}
	case !required || !a.readAt.IsZero():
		return hold{}
	case a.err != nil:
		return hold{true, v1beta1.ReasonConsentUnknown,
			"No target is registered until the target group's tags have been read (--target-group-consent=require): " + awserr.Message(a.err)}
	default:
		return hold{comings: true}
	}
}

// askConsent has the tag read if that is due, and says when it will be; 0 when it is being read. Pods may wait for the first
// answer.
func (r *Registrar) askConsent(s session) time.Duration {
	if !r.Consent.Mode.Asks() || s.group.arn == "" {
		return 0
	}
	now := r.Clock.Now()
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	a := &s.group.approval
	if a.busy {
		return 0
	}
	if wait := a.nextAt(r.DriftInterval).Sub(now); wait > 0 {
		return wait
	}
	class := budget.ClassOther
	if a.readAt.IsZero() && a.failures == 0 {
		class = budget.ClassWaitingHealth
	}
	a.begin()
	go r.readConsent(s, class)
	return 0
}

func (r *Registrar) readConsent(s session, class budget.Class) {
	started, refusal := r.Clock.Now(), ""
	value, tagged, err := s.client.Tag(r.lanes, class, s.group.arn, consent.TagKey)
	if err == nil {
		refusal = r.Consent.Binder(s.key.Namespace, s.key.Name).Refusal(value, tagged)
	}
	s.group.consentRead(started, r.Clock.Now(), refusal, err)
	r.wake(s.key)
}

// consentRead takes the end of a reading that was started at started. One that has failed says nothing.
func (g *group) consentRead(started, now time.Time, refusal string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.approval.end(now, err)
	if err == nil {
		g.approval.readAt, g.approval.refusal = started, refusal
	}
}

// withhold leaves a group without consent as it is: nothing comes in, and what goes has gone with its pod.
func (p *plan) withhold(w planInput) {
	for target := range p.register {
		p.withheld[target] = struct{}{}
	}
	clear(p.register)
	p.addStrangers(w)
}

// removable says which targets go with a binding that is deleted: all of its group, and without consent those of its own pods.
func (r *Registrar) removable(ctx context.Context, s session, binding *v1beta1.TargetGroupBinding, entries map[elbv2.Target]entry) (
	func(elbv2.Target) bool, error,
) {
	mine, err := r.mine(ctx, s, binding, nil, entries)
	if err != nil || !r.holdOf(s.group).comings {
		return mine, err
	}
	res, err := r.resolver.ForPass().Resolve(ctx, binding, trackedTargets(entries))
	if err != nil {
		return nil, err
	}
	return func(target elbv2.Target) bool {
		_, explained := res.Endpoints[target]
		return mine(target) && (explained || entries[target].owner != "")
	}, nil
}

// keepOut has the gates of the pods whose targets are withheld say why.
func (h hold) keepOut(obstacles map[elbv2.Target]readiness.Health, withheld map[elbv2.Target]struct{}) {
	if h.message == "" {
		return
	}
	for target := range withheld {
		obstacles[target] = readiness.RegistrationFailed(cut(h.message))
	}
}

// obstacle is what a gate has to say whose pod's target is not registered.
func (j *conditionPlanner) obstacle(pod *corev1.Pod, target elbv2.Target) (readiness.Health, bool) {
	if _, withheld := j.withheld[target]; withheld && j.hold.final() && j.lasts(pod, notAllowed) {
		return readiness.Released(readiness.ReasonConsentMissing, cut(j.hold.message)), true
	}
	obstacle, ok := j.obstacles[target]
	return obstacle, ok
}

// recallRefused takes over since when pods are kept from a group by a refusal.
func (g *group) recallRefused(before *group) {
	g.detached = before.currentDetached()
	maps.DeleteFunc(g.detached, func(_ types.UID, d detachment) bool { return d.cause != notAllowed })
}
