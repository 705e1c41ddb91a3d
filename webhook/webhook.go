// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"net/http"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/consent"
)

// The paths are the incumbent's.
const (
	podPath             = "/mutate-v1-pod"
	bindingMutatePath   = "/mutate-elbv2-k8s-aws-v1beta1-targetgroupbinding"
	bindingValidatePath = "/validate-elbv2-k8s-aws-v1beta1-targetgroupbinding"
)

// Clients returns the client that acts as a role. *elbv2.Clients implements it.
type Clients interface {
	Client(accounts.Role) *elbv2.Client
}

// Options is what the handlers need besides the manager.
type Options struct {
	Clients Clients
	// OwnVPC finds the ID of the VPC that the cluster is in.
	OwnVPC func(context.Context) (string, error)
	// Namespaces are the watched ones; empty means all.
	Namespaces []string
	// InjectGates adds gates to pods; if false, pods are admitted as they are.
	InjectGates bool
	// Consent is the cluster's consent policy for bindings.
	Consent consent.Policy
	// Termination is the termination delay of pods with a gate.
	Termination Termination
}

// +kubebuilder:webhookconfiguration:mutating=true,name=targetgate-webhook
// +kubebuilder:webhookconfiguration:mutating=false,name=targetgate-webhook

// Setup registers the three handlers with the manager's webhook server. They work on every replica, leader or not.
// The manager's cache must have ownership's indexes.
func Setup(ctx context.Context, mgr ctrl.Manager, opts Options) error {
	mutator, err := newPodMutator(ctx, mgr, opts)
	if err != nil {
		return err
	}
	facts, bindings := newFacts(opts.Clients, clock.RealClock{}), newRequestLimiter()
	facts.policy = opts.Consent
	defaulter := &bindingDefaulter{facts: facts}
	validator := &bindingValidator{
		reader: mgr.GetClient(), ownVPC: opts.OwnVPC, facts: facts, claims: newClaims(clock.RealClock{}),
	}
	for path, hook := range map[string]http.Handler{
		podPath: &podHandler{limiter: newRequestLimiter(), mutator: mutator},
		bindingMutatePath: &bindingHandler{
			failures: mutation, limiter: bindings, turns: newTurns(), namespaces: opts.Namespaces, decide: defaulter.review,
		},
		bindingValidatePath: &bindingHandler{
			failures: validation, limiter: bindings, turns: newTurns(), namespaces: opts.Namespaces, decide: validator.review,
		},
	} {
		mgr.GetWebhookServer().Register(path, timed(path, hook))
	}
	beginCounting()
	return nil
}

func newPodMutator(ctx context.Context, mgr ctrl.Manager, opts Options) (*podMutator, error) {
	mutator := &podMutator{
		index:     newBindingIndex(mgr.GetClient(), clock.RealClock{}),
		off:       !opts.InjectGates,
		protector: newProtector(opts.Termination), namespaces: opts.Namespaces,
	}
	if !mutator.protector.canSleep {
		mgr.GetLogger().Info("Pods get no preStop sleep: it needs Kubernetes 1.30", "apiServer", opts.Termination.ServerVersion)
	}
	return mutator, mutator.index.watch(ctx, mgr.GetCache())
}
