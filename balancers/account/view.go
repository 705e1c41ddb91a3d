// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/balancers/stack"
)

// View is what is known of the stacks of one cluster in one VPC. One sweep reads them all, once in an interval; our own steps keep it true
// in between. It is safe for concurrent use; of one stack, steps must not be done while it is asked for.
type View struct {
	ELB ELB
	EC2 SecurityGroups
	// WAF, WAFClassic and Shield are nil when web ACLs and protections are nobody's business.
	WAF, WAFClassic WebACLs
	Shield          Protections
	Clock           clock.PassiveClock
	Cluster         string
	VPC             string
	// Interval is how old a sweep may be.
	Interval time.Duration

	flights singleflight.Group

	mu      sync.Mutex
	tick    int // counts what was noted and forgotten
	swept   time.Time
	entries map[stack.ID]*entry
	shared  []stack.SecurityGroup
	// forgotten are the stacks that are no longer known, with the tick of that.
	forgotten map[stack.ID]int
	// tags are those of all load balancers and target groups of the VPC, by ARN; nil of those that are not the cluster's.
	tags map[string]map[string]string
	// made and gone are the ARNs and IDs of what we have made and deleted a short time ago: AWS may not show it yet.
	made map[string]made
	gone map[string]time.Time
	// awaited are the names of what is there and not shown, with the time since when.
	awaited map[string]time.Time
}

// entry is what is known of a stack. Whoever changes it holds the lock.
type entry struct {
	seen     stack.Stack
	detailed bool // listeners and attributes have been read
	changed  int  // tick of the last step that was noted
	looked   time.Time
}

// made is something that we have made: its tags, if sweeps list it, and when.
type made struct {
	tags map[string]string
	at   time.Time
}

// lag is for how long AWS may not show what we have made, its tags, or that we have deleted something.
const lag = 5 * time.Minute

// newFor is for how long AWS may say of what we have made that there is no such thing.
const newFor = time.Minute

// statePause is how old the state of a load balancer may be that is not active yet.
const statePause = 5 * time.Second

// Stack is what is seen of a stack, without bindings. The caller may change it. Web ACLs and the attributes of target groups are
// nil unless Complete has read them.
func (v *View) Stack(ctx context.Context, id stack.ID) (stack.Stack, error) {
	for {
		if err := v.refresh(ctx, id); err != nil {
			return stack.Stack{}, err
		}
		seen, e, changed := v.look(id)
		switch {
		case e == nil:
			return seen, nil
		case !e.detailed:
			if err := (detailReader{v}).readDetails(ctx, &seen); err != nil {
				v.forgetIfGone(id, err)
				return stack.Stack{}, err
			}
		case v.isWaiting(seen, e.looked):
			if err := (detailReader{v}).readStates(ctx, &seen); err != nil {
				return stack.Stack{}, err
			}
		default:
			return v.withShared(seen), nil
		}
		v.keep(id, seen, changed)
	}
}

// Parts is Stack without what is read of a single stack: listeners, attributes, the targets of groups in front.
func (v *View) Parts(ctx context.Context, id stack.ID) (stack.Stack, error) {
	if err := v.refresh(ctx, id); err != nil {
		return stack.Stack{}, err
	}
	seen, e, _ := v.look(id)
	if e == nil {
		return seen, nil
	}
	return v.withShared(seen), nil
}

// Stacks are the IDs of all stacks that have a part in AWS.
func (v *View) Stacks(ctx context.Context) ([]stack.ID, error) {
	if err := v.refresh(ctx, stack.ID{}); err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Collect(maps.Keys(v.entries)), nil
}

// look is a copy of what is known of a stack, as of that tick; the entry is a copy, too, nil when there is nothing of the stack.
func (v *View) look(id stack.ID) (stack.Stack, *entry, int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	e := v.entries[id]
	if e == nil {
		return stack.Stack{ID: id, SecurityGroups: stack.Copy(v.shared)}, nil, 0
	}
	copied := *e
	return stack.Copy(e.seen), &copied, e.changed
}

// keep takes in what was read of a stack, unless something else was noted or swept meanwhile.
func (v *View) keep(id stack.ID, seen stack.Stack, changed int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if e := v.entries[id]; e != nil && e.changed == changed {
		e.seen, e.detailed, e.looked = seen, true, v.Clock.Now()
	}
}

func (v *View) withShared(seen stack.Stack) stack.Stack {
	v.mu.Lock()
	defer v.mu.Unlock()
	seen.SecurityGroups = append(seen.SecurityGroups, stack.Copy(v.shared)...)
	return seen
}

// isWaiting reports whether a load balancer may have become active since.
func (v *View) isWaiting(seen stack.Stack, looked time.Time) bool {
	return v.Clock.Since(looked) >= statePause && slices.ContainsFunc(seen.All(), func(s *stack.Stack) bool {
		return slices.ContainsFunc(s.LoadBalancers, func(lb stack.LoadBalancer) bool { return !lb.Active })
	})
}

// Exists reports whether a load balancer or target group, of whatever owner, was there at the last sweep or was made since.
func (v *View) Exists(arn string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, known := v.tags[arn]
	return known
}

// IsNew reports whether we have made something so short a time ago that AWS may say that there is no such thing.
func (v *View) IsNew(id string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.Clock.Since(v.made[id].at) < newFor
}

// IsGone reports whether we have deleted something so short a time ago that AWS may show it still.
func (v *View) IsGone(id string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.Clock.Since(v.gone[id]) < lag
}

// Await reports whether AWS may soon show what it says has a name: it has been awaited for less than a minute.
func (v *View) Await(name string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.awaited[name].IsZero() {
		v.awaited = put(v.awaited, name, v.Clock.Now())
	}
	return v.Clock.Since(v.awaited[name]) < newFor
}

// isUnshown reports whether AWS says only because it is new that there is no such thing.
func (v *View) isUnshown(err error, id string) bool { return awserr.IsGone(err) && v.IsNew(id) }

// Forget has this stack alone read again, as it is no longer certain what there is of it.
func (v *View) Forget(id stack.ID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.forgotten == nil {
		v.forgotten = map[stack.ID]int{}
	}
	v.tick++
	v.forgotten[id] = v.tick
}

func (v *View) forgetIfGone(id stack.ID, err error) {
	if awserr.IsGone(err) {
		v.Forget(id)
	}
}

// refresh has the account swept if the last sweep is too old, or began before the stack was forgotten. All who wait share one sweep, which
// goes on when one of them gives up.
func (v *View) refresh(ctx context.Context, id stack.ID) error {
	for v.isOld(id) {
		_, err := readShared(ctx, &v.flights, "sweep", sweepTimeout, func(ctx context.Context) (none struct{}, _ error) {
			if !v.isOld(id) {
				return none, nil // a sweep has ended since it was asked for
			}
			return none, sweeper{v}.sweep(ctx)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *View) isOld(id stack.ID) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.isDue() || v.forgotten[id] > 0
}

// isDue reports whether all must be swept. The caller holds the lock.
func (v *View) isDue() bool { return v.swept.IsZero() || v.Clock.Since(v.swept) >= v.Interval }

// Fresh is for how long no sweep is due. What somebody changes in AWS a pass sees that comes then, at the latest an interval after it.
func (v *View) Fresh() time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.swept.IsZero() {
		return v.Interval
	}
	return max(0, v.Interval-v.Clock.Since(v.swept))
}
