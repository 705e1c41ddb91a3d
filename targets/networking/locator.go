// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/ec2"
)

const (
	// maxCacheAge is for how long the security group of a member is believed; in a drift check, for much less.
	maxCacheAge = 10 * time.Minute
	// maxCached is more than the pods and nodes of the largest clusters' bindings.
	maxCached = 100_000
)

// locator finds the security groups of members and remembers them by the member's UID. What was not found is looked for again.
// Safe for concurrent use.
type locator struct {
	ec2    EC2
	vpc    func(context.Context) (string, error)
	choice choice
	clock  clock.PassiveClock

	mu    sync.Mutex
	cache map[types.UID]cached
}

// cached is a place without an error.
type cached struct {
	place
	at time.Time
}

// locate is the place of each member, by its index; what is remembered is at most as old as maxAge.
func (l *locator) locate(ctx context.Context, class budget.Class, members []Member, maxAge time.Duration) []place {
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

func (l *locator) remembered(members []Member, maxAge time.Duration) (places []place, missing []int) {
	now := l.clock.Now()
	places = make([]place, len(members))
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, m := range members {
		known, ok := l.cache[m.UID]
		if !ok || m.UID == "" || now.Sub(known.at) >= maxAge {
			missing = append(missing, i)
			continue
		}
		places[i] = known.place
	}
	return places, missing
}

// choose sets the security group of each place with an interface. Only groups of interfaces that have several are read.
func (l *locator) choose(ctx context.Context, class budget.Class, places []place) {
	groups, err := l.ambiguous(ctx, class, places)
	for i := range places {
		p := &places[i]
		switch {
		case p.err != nil || p.eni.ID == "":
		case err != nil && len(p.eni.Groups) > 1:
			p.err = failedRead("security groups", err)
		default:
			p.group, p.err = l.choice.of(p.eni, groups)
		}
	}
}

// ambiguous reads the security groups of interfaces that have several.
func (l *locator) ambiguous(ctx context.Context, class budget.Class, places []place) (map[string]ec2.SecurityGroup, error) {
	var ids []string
	for _, p := range places {
		if p.err == nil && len(p.eni.Groups) > 1 {
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

func (l *locator) remember(members []Member, places []place, at []int, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cache == nil {
		l.cache = map[types.UID]cached{}
	}
	if len(l.cache)+len(at) > maxCached {
		maps.DeleteFunc(l.cache, func(_ types.UID, c cached) bool { return now.Sub(c.at) >= maxCacheAge })
	}
	for _, i := range at {
		delete(l.cache, members[i].UID)
		if places[i].err == nil && members[i].UID != "" && len(l.cache) < maxCached {
			l.cache[members[i].UID] = cached{place: place{group: places[i].group}, at: now}
		}
	}
}
