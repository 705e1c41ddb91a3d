// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/targetgate/targetgate/balancers/ingress/membership"
)

// endings say how Ingresses went. The zero value is told of none, and believes that somebody has deleted each. Safe for concurrent use.
type endings struct {
	told bool // the watch tells; set before there are passes

	mu   sync.Mutex
	ends map[types.UID]ending
}

// ending is how an Ingress went, and when that was told.
type ending struct {
	deleted bool // by somebody; else it was lost with the API server's data
	at      time.Time
}

const (
	// endingKept is for how long it is remembered how an Ingress went. Passes over its groups come at once.
	endingKept = time.Hour
	// endingPause is after which it is asked again: the watch is about to tell.
	endingPause = time.Second
)

// notes passes all events, and remembers how Ingresses go.
func (e *endings) notes(clk clock.PassiveClock) predicate.Funcs {
	e.told = true
	return predicate.Funcs{
		DeleteFunc: func(gone event.DeleteEvent) bool {
			e.note(gone.Object, gone.DeleteStateUnknown, clk.Now())
			return true
		},
		UpdateFunc: func(change event.UpdateEvent) bool { // after a pause in which it was deleted and created again
			if change.ObjectOld.GetUID() != change.ObjectNew.GetUID() {
				e.note(change.ObjectOld, true, clk.Now())
			}
			return true
		},
	}
}

// note takes in the last that was seen of an Ingress. Missed says that no watch has told of its end: a new list lacks it. If it had a
// finalizer of ours then, and was not being deleted, it was lost with the API server's data. A watch tells of deletions alone, and may show
// the finalizer: one that is put back while a deletion goes on does not stop that.
func (e *endings) note(last client.Object, missed bool, now time.Time) {
	held := membership.GroupsHeld(client.ObjectKeyFromObject(last), last.GetFinalizers())
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ends == nil {
		e.ends = map[types.UID]ending{}
	}
	for uid, end := range e.ends {
		if now.Sub(end.at) >= endingKept {
			delete(e.ends, uid)
		}
	}
	e.ends[last.GetUID()] = ending{!missed || last.GetDeletionTimestamp() != nil || len(held) == 0, now}
}

// of says whether somebody has deleted an Ingress that is gone, if it is known.
func (e *endings) of(uid types.UID) (deleted, known bool) {
	if !e.told {
		return true, true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	end, known := e.ends[uid]
	return end.deleted, known
}

// findVanished finds the Ingresses that earlier passes have served here and that have lost the group's finalizer, as after a tool has
// replaced the whole object: those that are gone, and those that are in another group now. They count as if they had it.
func (p *pass) findVanished(ctx context.Context, objects membership.Objects, members *membership.Members) error {
	here := map[types.UID]bool{}
	for _, member := range members.Active {
		here[member.Ingress.UID] = true
	}
	for _, member := range slices.Concat(members.Inactive, p.leaving) {
		here[member.UID] = true
	}
	for uid, last := range p.memory.held {
		if here[uid] {
			continue
		}
		now := &networkingv1.Ingress{}
		err := p.Client.Get(ctx, client.ObjectKeyFromObject(last), now)
		switch {
		case client.IgnoreNotFound(err) != nil:
			return fmt.Errorf("getting Ingress %s: %w", membership.NameOf(last), err)
		case err != nil || now.UID != uid:
			p.noteVanished(ctx, last)
		default:
			p.noteMovedAway(now, objects, members)
		}
	}
	return nil
}

func (p *pass) noteVanished(ctx context.Context, last *networkingv1.Ingress) {
	switch deleted, known := p.endings.of(last.UID); {
	case deleted:
		p.vanished = true
	case !known:
		p.soon(endingPause)
	default:
		ctrl.LoggerFrom(ctx).Info("An Ingress is gone although it had our finalizer, what was made for it stays for now",
			"ingress", membership.NameOf(last))
		p.memory.forget(last.UID)
	}
}

// noteMovedAway takes in that an Ingress has another group, or none of ours. What another controller may be working on is left alone.
func (p *pass) noteMovedAway(now *networkingv1.Ingress, objects membership.Objects, members *membership.Members) {
	objects.Ingresses = []*networkingv1.Ingress{now}
	for _, c := range membership.Classify(objects) {
		switch {
		case c.Fault != nil || c.Ours && c.Group == p.group:
		case c.Ours:
			p.elsewhere[now.UID] = true
			p.leaving = append(p.leaving, now)
		case !isMentioned(p.group, objects.Ingresses):
			members.Inactive = append(members.Inactive, now)
		}
	}
}

// mayVanish reports whether what is remembered of the group is needed: it has a load balancer, and Ingresses for which that was made may be
// about to be gone, as when the API server knows it and the cache does not.
func (p *pass) mayVanish() bool { return len(p.memory.held) > 0 && hasLoadBalancer(&p.seen) }

// hold remembers the members that have the group's finalizer: if they lose it, they count all the same. While others ask for something,
// nothing of those that are gone needs them.
func (p *pass) hold() {
	if len(p.members.Active) > 0 {
		here := map[types.UID]bool{}
		for _, member := range slices.Concat(p.members.Inactive, p.leaving) {
			here[member.UID] = true
		}
		maps.DeleteFunc(p.memory.held, func(uid types.UID, _ *networkingv1.Ingress) bool { return !here[uid] })
	}
	for _, member := range p.members.Active {
		if uid := member.Ingress.UID; !p.unclaimed[uid] && member.Uninvited == nil {
			p.memory.held[uid] = member.Ingress
		}
	}
}
