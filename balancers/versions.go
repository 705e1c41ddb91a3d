// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// AWS shows which client a rule has, and never its secret. Rules that we have made carry the version of their secret as a tag. Those of the
// incumbent have none: it has written the secret in each of its passes, so that the version that was there first when this process saw
// it counts as theirs.

// assumeVersions fills in the versions that are not known of what is seen.
func (m *memory) assumeVersions(wanted, seen *stack.Stack) {
	eachClient(wanted, func(o *stack.OIDC) {
		if _, known := m.versions[clientOf(o)]; !known {
			m.setVersion(o)
		}
	})
	eachClient(seen, func(o *stack.OIDC) {
		if o.Version == "" {
			o.Version = m.versions[clientOf(o)]
		}
	})
}

// noteVersion takes in what a step has written.
func (m *memory) noteVersion(change steps.Change) {
	action := steps.ActionOf(change)
	if action.SecretVersion() != "" {
		m.setVersion(action.Auth.OIDC)
	}
}

func (m *memory) setVersion(o *stack.OIDC) {
	if m.versions == nil {
		m.versions = map[string]string{}
	}
	m.versions[clientOf(o)] = o.Version
}

func clientOf(o *stack.OIDC) string { return o.Issuer + " " + o.ClientID }

// eachClient calls do with each client of an OpenID Connect provider, rule by rule.
func eachClient(s *stack.Stack, do func(*stack.OIDC)) {
	of := func(action stack.Action) {
		if action.Auth != nil && action.Auth.OIDC != nil {
			do(action.Auth.OIDC)
		}
	}
	for _, balancer := range s.LoadBalancers {
		for _, listener := range balancer.Listeners {
			of(listener.Default)
			for _, rule := range listener.Rules {
				of(rule.Action)
			}
		}
	}
}

// enqueueSecretChanges requests passes over groups whose Secrets change.
func (r *Reconciler) enqueueSecretChanges(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	r.SecretChanges(ctx, func(group membership.Group) {
		queue.Add(requestOf(group))
	})
	return nil
}
