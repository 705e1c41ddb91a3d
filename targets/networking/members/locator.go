// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/targets/retry"
)

const (
	// maxCacheAge is for how long the security group of a member is believed; in a drift check, for much less.
	maxCacheAge = 10 * time.Minute
	// maxCached is more than the pods and nodes of the largest clusters' bindings.
	maxCached = 100_000
	// The pauses of a member that was not found.
	firstPause, maxPause = time.Second, time.Minute
)

// Locator finds the security groups of members and remembers them by the member's UID. What was not found is looked for again after
// pauses that grow, so that members that EC2 does not know cost few calls however often they are asked for. Safe for concurrent use.
type Locator struct {
	ec2    EC2
	vpc    func(context.Context) (string, error)
	choice Choice
	clock  clock.PassiveClock

	mu    sync.Mutex
	cache map[types.UID]cached
}

// cached is what was found, or that nothing was.
type cached struct {
	Place
	at time.Time
	// Of a member that was not found: what was looked for, and how often in a row.
	sought identity
	misses int
}

// identity is what a member is looked for by. It may change: an annotation or a Node comes later than the pod.
type identity struct {
	class             Class
	instance, branch  string
	address, nodeAddr netip.Addr
	fault             string
}

func identityOf(m Member) identity {
	return identity{m.Class, m.Instance, m.BranchENI, m.Address, m.NodeAddress, m.Fault}
}

// NewLocator returns a Locator for members in the VPC that vpc yields.
func NewLocator(api EC2, vpc func(context.Context) (string, error), choice Choice, now clock.PassiveClock) *Locator {
	return &Locator{ec2: api, vpc: vpc, choice: choice, clock: now}
}

// Locate is the place of each member, by its index; what is remembered of those that were found is at most as old as maxAge, and as 10
// minutes.
func (l *Locator) Locate(ctx context.Context, class budget.Class, members []Member, maxAge time.Duration) []Place {
	places, missing := l.remembered(members, maxAge)
	if len(missing) == 0 {
		return places
	}
	now := l.clock.Now() // before the reads: that is how old they are at most
	looked := make([]Member, len(missing))
	for n, i := range missing {
		looked[n] = members[i]
	}
	found := finder{ec2: l.ec2, vpc: l.vpc, class: class}.find(ctx, looked)
	l.choose(ctx, class, found)
	for n, i := range missing {
		places[i] = found[n]
	}
	l.remember(members, places, missing, now)
	return places
}

func (l *Locator) remembered(members []Member, maxAge time.Duration) (places []Place, missing []int) {
	now := l.clock.Now()
	places = make([]Place, len(members))
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, m := range members {
		known, ok := l.cache[m.UID]
		if !ok || m.UID == "" || !known.holds(m, now, maxAge) {
			missing = append(missing, i)
			continue
		}
		places[i] = known.Place
	}
	return places, missing
}

func (c cached) holds(m Member, now time.Time, maxAge time.Duration) bool {
	if c.Err != nil {
		return now.Before(c.RetryAt) && c.sought == identityOf(m)
	}
	return now.Sub(c.at) < min(maxAge, maxCacheAge)
}

// choose sets the security group of each place with an interface. Only groups of interfaces that have several are read.
func (l *Locator) choose(ctx context.Context, class budget.Class, places []Place) {
	groups, err := l.ambiguous(ctx, class, places)
	for i := range places {
		p := &places[i]
		switch {
		case p.Err != nil || p.eni.ID == "":
		case err != nil && len(p.eni.Groups) > 1:
			p.Err = FailedRead("security groups", err)
		default:
			p.Group, p.Err = l.choice.of(p.eni, groups)
		}
	}
}

// ambiguous reads the security groups of interfaces that have several.
func (l *Locator) ambiguous(ctx context.Context, class budget.Class, places []Place) (map[string]ec2.SecurityGroup, error) {
	var ids []string
	for _, p := range places {
		if p.Err == nil && len(p.eni.Groups) > 1 {
			ids = append(ids, p.eni.Groups...)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	slices.Sort(ids)
	found, err := l.ec2.SecurityGroups(ctx, class, slices.Compact(ids))
	groups := map[string]ec2.SecurityGroup{}
	for _, group := range found {
		groups[group.ID] = group
	}
	return groups, err
}

// remember keeps what was found, and what EC2 has answered of the others; a read that failed says nothing.
func (l *Locator) remember(members []Member, places []Place, at []int, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cache == nil {
		l.cache = map[types.UID]cached{}
	}
	if len(l.cache)+len(at) > maxCached {
		maps.DeleteFunc(l.cache, func(_ types.UID, c cached) bool { return now.Sub(c.at) >= maxCacheAge })
	}
	for _, i := range at {
		member, p := members[i], &places[i]
		if member.UID == "" || IsPassing(p.Err) {
			continue
		}
		known, before := l.cache[member.UID]
		if !before && len(l.cache) >= maxCached {
			continue
		}
		next := cached{Place: Place{Group: p.Group}, at: now}
		if p.Err != nil {
			if sought := identityOf(member); known.Err == nil || known.sought != sought {
				known = cached{sought: sought}
			}
			next.missed(known, p.Err)
			p.RetryAt = next.RetryAt
		}
		l.cache[member.UID] = next
	}
}

// missed notes one miss more. Times are rounded down, to half of the pause at most: members that came one after the other are looked for
// together.
func (c *cached) missed(before cached, err error) {
	pause := retry.Backoff(firstPause, before.misses, maxPause)
	c.sought, c.misses, c.Err = before.sought, before.misses+1, err
	c.RetryAt = c.at.Add(pause).Truncate(pause / 2)
}
