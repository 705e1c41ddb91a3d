// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/frontend"
	"github.com/targetgate/targetgate/balancers/ingress"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
)

// building is the stack of a group that is being built.
type building struct {
	*Ingresses
	in    input.Input
	needs input.Needs
}

// Begin has the members of a group read.
func (f *Ingresses) Begin(ctx context.Context, in frontend.Input) frontend.Building {
	b := &building{Ingresses: f, in: input.Input{Group: in.Group, Seen: in.Seen, Options: f.Options, Rediscover: in.Rediscover}}
	for _, member := range in.Members {
		b.in.Members = append(b.in.Members, ingressOf(member))
	}
	if len(in.Members) == 0 && f.Secrets != nil {
		f.Secrets.Of(ctx, in.Group, nil)
	}
	b.in.Bound()
	b.needs = input.NeedsOf(b.in)
	return b
}

func (b *building) Needs() lookup.Needs { return b.needs.Needs }

// buildTime is how long the members of a group may take to read. Those that have room in the budget take less than a second of one core.
const buildTime = 10 * time.Second

func (b *building) Build(ctx context.Context, answers lookup.Answers) (wanted stack.Stack, faults []fault.Fault, err error) {
	b.in.AWS = answers
	b.in.Rediscover = b.in.Rediscover && answers.NoSubnets == "" // that can wait
	if b.in.Services, err = b.services(ctx, b.needs.Services); err != nil {
		return stack.Stack{ID: b.in.ID()}, nil, err
	}
	if b.Secrets != nil {
		b.in.Secrets = b.Secrets.Of(ctx, b.in.Group, input.SecretsOf(b.in))
	}
	within, cancel := context.WithTimeout(ctx, buildTime)
	defer cancel()
	wanted, faults = ingress.BuildWithin(within, b.in)
	return wanted, faults, ctx.Err()
}

func (f *Ingresses) services(ctx context.Context, keys []types.NamespacedName) (map[types.NamespacedName]*corev1.Service, error) {
	out := map[types.NamespacedName]*corev1.Service{}
	for _, key := range keys {
		service := &corev1.Service{}
		err := f.Client.Get(ctx, key, service)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("getting Service %s: %w", key, err)
		}
		if err == nil {
			out[key] = service
		}
	}
	return out, nil
}
