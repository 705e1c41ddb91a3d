// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers/ingress"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// build makes the stack that is wanted. Without members that needs nothing, so that it never fails.
func (p *pass) build(ctx context.Context) error {
	p.wanted.ID = p.id
	if len(p.members.Active) == 0 {
		p.built = true
		if p.Secrets != nil {
			p.Secrets.Of(ctx, p.group, nil)
		}
		return nil
	}
	in := input.Input{
		Group: p.group, Members: p.holdRefused(), Seen: p.seen, Options: p.Options,
		Rediscover: p.memory.mayRediscover(p.Clock.Now(), p.DriftInterval),
	}
	in.Bound()
	needs := input.NeedsOf(in)
	var err error
	if in.AWS, err = p.Lookup(ctx, p.id, needs.Needs); err != nil {
		return err
	}
	in.Rediscover = in.Rediscover && in.AWS.NoSubnets == "" // that can wait
	p.expiries = map[string]time.Time{}
	for _, c := range in.AWS.Certificates {
		p.expiries[c.ARN] = c.NotAfter
	}
	for _, c := range in.AWS.Own {
		p.expiries[c.ARN] = c.NotAfter
	}
	if in.Services, err = p.services(ctx, needs.Services); err != nil {
		return err
	}
	if p.Secrets != nil {
		in.Secrets = p.Secrets.Of(ctx, p.group, input.SecretsOf(in))
	}
	within, cancel := context.WithTimeout(ctx, buildTime)
	defer cancel()
	p.wanted, p.faults = ingress.BuildWithin(within, in)
	p.built, p.lookups = ctx.Err() == nil, lookups{}
	return ctx.Err()
}

// buildTime is how long the members of a group may take to read. Those that have room in the budget take less than a second of one core.
const buildTime = 10 * time.Second

// freeName is the name of what a step creates if the holder, which is somebody else's by its tags, has the wanted one. It is found again by
// its own. There is none beside what serves and has lost its tags, nor for the security group that all groups share, of which two groups
// could make one each.
func (p *pass) freeName(change steps.Change, holder steps.Made) string {
	if len(p.members.Active) == 0 {
		return ""
	}
	uid := p.members.Active[0].Ingress.UID
	switch c := change.(type) {
	case steps.CreateLoadBalancer:
		if (statuses{p}).isKnown(stack.LoadBalancer{DNSName: holder.DNSName}) {
			return ""
		}
		name := input.FreeLoadBalancerName(p.Options.Cluster, p.group, c.LoadBalancer.Scheme, uid)
		if c.LoadBalancer.Network {
			name = stack.FrontName(name)
		}
		return name
	case steps.CreateSecurityGroup:
		isServing := slices.ContainsFunc(p.seen.LoadBalancers, func(b stack.LoadBalancer) bool {
			return slices.ContainsFunc(b.SecurityGroups, func(ref stack.Ref) bool { return ref.ID == holder.ID })
		})
		if !c.Group.Shared && !isServing {
			return input.FreeSecurityGroupName(p.Options.Cluster, p.group, uid)
		}
	}
	return ""
}

func (p *pass) services(ctx context.Context, keys []types.NamespacedName) (map[types.NamespacedName]*corev1.Service, error) {
	out := map[types.NamespacedName]*corev1.Service{}
	for _, key := range keys {
		service := &corev1.Service{}
		err := p.Client.Get(ctx, key, service)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("getting Service %s: %w", key, err)
		}
		if err == nil {
			out[key] = service
		}
	}
	return out, nil
}
