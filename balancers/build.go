// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"context"
	"slices"
	"time"

	"github.com/targetgate/targetgate/balancers/frontend"
	"github.com/targetgate/targetgate/balancers/parts"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// build makes the stack that is wanted. Without members that needs nothing, so that it never fails.
func (p *pass) build(ctx context.Context) error {
	p.wanted.ID = p.id
	in := frontend.Input{Group: p.group, Seen: p.seen}
	if len(p.members.Active) == 0 {
		p.Frontend.Begin(ctx, in)
		p.built = true
		return nil
	}
	in.Members, in.Rediscover = p.holdRefused(), p.memory.mayRediscover(p.Clock.Now(), p.DriftInterval)
	building := p.Frontend.Begin(ctx, in)
	answers, err := p.Lookup(ctx, p.id, building.Needs())
	if err != nil {
		return err
	}
	p.expiries = map[string]time.Time{}
	for _, c := range answers.Certificates {
		p.expiries[c.ARN] = c.NotAfter
	}
	for _, c := range answers.Own {
		p.expiries[c.ARN] = c.NotAfter
	}
	p.wanted, p.faults, err = building.Build(ctx, answers)
	p.built, p.lookups = err == nil, lookups{}
	return err
}

// freeName is the name of what a step creates if the holder, which is somebody else's by its tags, has the wanted one. It is found again by
// its own. There is none beside what serves and has lost its tags, nor for the security group that all groups share, of which two groups
// could make one each.
func (p *pass) freeName(change steps.Change, holder steps.Made) string {
	if len(p.members.Active) == 0 {
		return ""
	}
	uid := p.members.Active[0].UID()
	switch c := change.(type) {
	case steps.CreateLoadBalancer:
		if (statuses{p}).isKnown(stack.LoadBalancer{DNSName: holder.DNSName}) {
			return ""
		}
		name := parts.FreeLoadBalancerName(p.Cluster, p.group, c.LoadBalancer.Scheme, uid)
		if c.LoadBalancer.Network {
			name = stack.FrontName(name)
		}
		return name
	case steps.CreateSecurityGroup:
		isServing := slices.ContainsFunc(p.seen.LoadBalancers, func(b stack.LoadBalancer) bool {
			return slices.ContainsFunc(b.SecurityGroups, func(ref stack.Ref) bool { return ref.ID == holder.ID })
		})
		if !c.Group.Shared && !isServing {
			return parts.FreeSecurityGroupName(p.Cluster, p.group, uid)
		}
	}
	return ""
}
