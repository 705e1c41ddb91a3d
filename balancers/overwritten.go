// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers/frontend"
	"github.com/targetgate/targetgate/balancers/owners"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
	"github.com/targetgate/targetgate/targets/contest"
)

// thing is what we write to the API server: the finalizer or the status of an Ingress, or a binding.
type thing struct {
	kind contest.Kind
	uid  types.UID            // of the Ingress
	name types.NamespacedName // of the binding
}

// written is what is known of a thing that we write.
type written struct {
	value   string    // as it was when it was right last, empty before
	version string    // of the object since our last write of that value, empty for none
	at      time.Time // when that was
	contest contest.Contest
	until   time.Time // it is not written before this, as somebody else goes on to change it
}

// cacheLag is longer than a cache is ever late.
const cacheLag = 15 * time.Second

// isRight takes in that the thing has the value.
func (m *memory) isRight(of thing, value string) { m.thing(of).value = value }

// wrote takes in that we have given the thing the value, with the version of the object since then.
func (m *memory) wrote(of thing, value, version string, now time.Time) {
	w := m.thing(of)
	w.value, w.version, w.at = value, version, now
}

func (m *memory) thing(of thing) *written {
	if m.written[of] == nil {
		m.written[of] = &written{}
	}
	return m.written[of]
}

// lacks takes in that the thing does not have the value. Late says that a cache does only not show yet that it has. Otherwise it is to be
// written after the pause; tell says that users are to be told of somebody else.
func (m *memory) lacks(of thing, value, version string, now time.Time) (pause time.Duration, late, tell bool) {
	w := m.thing(of)
	if w.value == value && now.Sub(w.at) < cacheLag && contest.IsBehind(version, w.version) {
		return 0, true, false
	}
	if w.value == value && !now.Before(w.until) {
		contest.Count(of.kind)
		pause, tell = w.contest.Lost(now)
		w.until = now.Add(pause)
	}
	w.value, w.version = "", ""
	return max(0, w.until.Sub(now)), false, tell
}

// repair says whether a thing of a member that lacks the value is to be written now. It is not while a cache is late, and while somebody
// else goes on to change it: then the pass comes back for it.
func (p *pass) repair(member client.Object, what string, of thing, value string) (due, late bool) {
	pause, late, tell := p.memory.lacks(of, value, member.GetResourceVersion(), p.Clock.Now())
	if tell {
		p.tellOverwritten(member, what)
	}
	p.soon(pause)
	return !late && pause == 0, late
}

func (p *pass) tellOverwritten(member client.Object, what string) {
	p.Recorder.Eventf(member, nil, "Warning", contest.Reason, "PutBack", "Somebody else than targetgate has changed or removed %s. It is put "+
		"back; while that goes on, after 30 s at most each time. Find who writes it (managedFields say so), such as a tool that replaces objects",
		what)
}

// withoutContested leaves out the steps to bindings that somebody else goes on to change, and notes which bindings are as wanted.
func (p *pass) withoutContested(planned steps.Plan) steps.Plan {
	kept, now := steps.Plan{}, p.Clock.Now()
	for _, step := range planned {
		binding, writes := writtenBinding(step.Change)
		if !writes {
			kept = append(kept, step)
			continue
		}
		of, value := p.thingOf(binding)
		pause, _, tell := p.memory.lacks(of, value, "", now)
		if member := p.member(owners.OfGroup(binding.Group, p.wanted, p.seen)); tell && member != nil {
			p.tellOverwritten(member, "TargetGroupBinding "+of.name.String())
		}
		if p.soon(pause); pause == 0 {
			kept = append(kept, step)
		}
	}
	for i := range p.seen.Bindings {
		seen := &p.seen.Bindings[i]
		if !slices.ContainsFunc(planned, func(s steps.Step) bool { b, writes := writtenBinding(s.Change); return writes && isSame(b, seen) }) {
			of, value := p.thingOf(seen)
			p.memory.isRight(of, value)
		}
	}
	return kept
}

func isSame(a, b *stack.Binding) bool { return a.Namespace == b.Namespace && a.Name == b.Name }

// writtenBinding is the binding that a step writes.
func writtenBinding(change steps.Change) (*stack.Binding, bool) {
	switch c := change.(type) {
	case steps.CreateBinding:
		return &c.Binding, true
	case steps.UpdateBinding:
		return &c.Binding, true
	}
	return nil, false
}

func (p *pass) thingOf(b *stack.Binding) (of thing, value string) {
	spec := b.Spec
	spec.Labels = p.Frontend.Labels(p.group)
	if spec.Networking == nil {
		spec.Peer = stack.Ref{}
	}
	spec.Peer = stack.Ref{ID: spec.Peer.ID}
	name := types.NamespacedName{Namespace: b.Namespace, Name: b.Name}
	return thing{kind: contest.Binding, name: name}, fmt.Sprintf("%s %+v", b.Group.ID, spec)
}

// finalizerOf and statusThing name things of a member.
func finalizerOf(member client.Object) thing {
	return thing{kind: contest.Finalizer, uid: member.GetUID()}
}

func statusThing(member client.Object) thing {
	return thing{kind: contest.IngressStatus, uid: member.GetUID()}
}

// isStatusDue reports whether the status is to be written now.
func (p *pass) isStatusDue(member client.Object, status frontend.Status) bool {
	of := statusThing(member)
	if p.Frontend.StatusOf(member) == status.Value {
		p.memory.isRight(of, status.Value)
		return false
	}
	due, _ := p.repair(member, "the status", of, status.Value)
	return due
}
