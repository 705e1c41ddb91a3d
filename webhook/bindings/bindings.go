// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"context"
	"net/http"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/config/crd"
	"github.com/targetgate/targetgate/targets/consent"
	"github.com/targetgate/targetgate/webhook/review"
	"github.com/targetgate/targetgate/webhook/schema"
)

// The paths are the incumbent's.
const (
	MutatePath   = "/mutate-elbv2-k8s-aws-v1beta1-targetgroupbinding"
	ValidatePath = "/validate-elbv2-k8s-aws-v1beta1-targetgroupbinding"
)

// Clients returns the client that acts as a role. *elbv2.Clients implements it.
type Clients interface {
	Client(accounts.Role) *elbv2.Client
}

// Options is what the handlers need besides a cache.
type Options struct {
	Clients Clients
	// OwnVPC finds the ID of the VPC that the cluster is in.
	OwnVPC func(context.Context) (string, error)
	// Namespaces are the watched ones; empty means all.
	Namespaces []string
	// Consent is the cluster's consent policy for bindings.
	Consent consent.Policy
	// MakesRules says that the inbound rules of spec.networking are made.
	MakesRules bool
	// Own is the API server of a targetgate that creates bindings itself: these are not compared with AWS. It is nil for none.
	Own client.Writer
}

// New returns the two handlers of reviews of bindings. They share memory and what AWS has answered. The reader is a cache
// with ownership's indexes.
func New(reader client.Reader, opts Options) (mutating, validating http.Handler) {
	facts, limiter := newFacts(opts.Clients, clock.RealClock{}), review.NewLimiter()
	facts.policy, facts.own.api = opts.Consent, opts.Own
	checks := &validator{reader: reader, ownVPC: opts.OwnVPC, facts: facts, claims: newClaims(clock.RealClock{}), rules: opts.MakesRules}
	fills := &defaulter{facts: facts, checks: checks}
	review.BeginCounting(review.MutationFailures, MutatePath)
	review.BeginCounting(review.ValidationFailures, ValidatePath)
	mutating = &handler{
		failures: review.MutationFailures, limiter: limiter, turns: newTurns(), namespaces: opts.Namespaces, decide: fills.review,
		crd: schema.MustOf(crd.TargetGroupBindings),
	}
	validating = &handler{
		failures: review.ValidationFailures, limiter: limiter, turns: newTurns(), namespaces: opts.Namespaces, decide: checks.review,
	}
	return mutating, validating
}
