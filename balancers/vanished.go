// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/targetgate/targetgate/balancers/frontend"
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
func (e *endings) notes(clk clock.PassiveClock, isOurs func(client.Object) bool) predicate.Funcs {
	e.told = true
	return predicate.Funcs{
		DeleteFunc: func(gone event.DeleteEvent) bool {
			e.note(gone.Object, isOurs(gone.Object), gone.DeleteStateUnknown, clk.Now())
			return true
		},
		UpdateFunc: func(change event.UpdateEvent) bool { // after a pause in which it was deleted and created again
			if change.ObjectOld.GetUID() != change.ObjectNew.GetUID() {
				e.note(change.ObjectOld, isOurs(change.ObjectOld), true, clk.Now())
			}
			return true
		},
	}
}

// note takes in the last that was seen of an Ingress. Missed says that no watch has told of its end: a new list lacks it. If it had a
// finalizer of ours then, and was not being deleted, it was lost with the API server's data. A watch tells of deletions alone, and may show
// the finalizer: one that is put back while a deletion goes on does not stop that.
func (e *endings) note(last client.Object, isOurs, missed bool, now time.Time) {
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
	e.ends[last.GetUID()] = ending{!missed || last.GetDeletionTimestamp() != nil || !isOurs, now}
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
func (p *pass) findVanished(ctx context.Context) error {
	here := map[types.UID]bool{}
	for _, member := range p.members.Active {
		here[member.UID()] = true
	}
	for _, member := range slices.Concat(p.members.Inactive, p.members.Leaving) {
		here[member.GetUID()] = true
	}
	for uid, last := range p.memory.held {
		if here[uid] {
			continue
		}
		now, place, err := p.Frontend.Whereabouts(ctx, p.group, last)
		if err != nil {
			return err
		}
		switch place {
		case frontend.Gone:
			p.noteVanished(ctx, last)
		case frontend.Elsewhere:
			p.members.Leaving = append(p.members.Leaving, now)
		case frontend.Nowhere:
			p.members.Inactive = append(p.members.Inactive, now)
		case frontend.Here, frontend.Foreign: // what another controller may be working on is left alone
		}
	}
	return nil
}

func (p *pass) noteVanished(ctx context.Context, last client.Object) {
	switch deleted, known := p.endings.of(last.GetUID()); {
	case deleted:
		p.vanished = true
	case !known:
		p.soon(endingPause)
	default:
		ctrl.LoggerFrom(ctx).Info("An Ingress is gone although it had our finalizer, what was made for it stays for now",
			"ingress", frontend.NameOf(last))
		p.memory.forget(last.GetUID())
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
		for _, member := range slices.Concat(p.members.Inactive, p.members.Leaving) {
			here[member.GetUID()] = true
		}
		maps.DeleteFunc(p.memory.held, func(uid types.UID, _ client.Object) bool { return !here[uid] })
	}
	for _, member := range p.members.Active {
		if uid := member.UID(); !p.unclaimed[uid] && member.Uninvited == nil {
			p.memory.held[uid] = member.Object
		}
	}
}
