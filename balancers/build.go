// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers/ingress"
	"github.com/targetgate/targetgate/balancers/ingress/input"
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
