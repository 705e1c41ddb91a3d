// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"net/http"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/targets/consent"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/webhook/bindings"
	"github.com/targetgate/targetgate/webhook/ingresses"
	"github.com/targetgate/targetgate/webhook/pods"
	"github.com/targetgate/targetgate/webhook/review"
)

// Options is what the handlers need besides the manager.
type Options struct {
	Clients bindings.Clients
	// OwnVPC finds the ID of the VPC that the cluster is in.
	OwnVPC func(context.Context) (string, error)
	// Namespaces are the watched ones; empty means all.
	Namespaces []string
	// InjectGates adds gates to pods; if false, pods are admitted as they are.
	InjectGates bool
	// Consent is the cluster's consent policy for bindings.
	Consent consent.Policy
	// MakesRules says that the inbound rules of spec.networking are made.
	MakesRules bool
	// Termination is the termination delay of pods with a gate.
	Termination pods.Termination
	// Mode says whether the incumbent has its own webhooks for bindings, which then do without ours.
	Mode ownership.Mode
	// Ingresses says how Ingresses are reviewed; nil when load balancers are made by somebody else.
	Ingresses *ingresses.Options
}

// +kubebuilder:webhookconfiguration:mutating=true,name=targetgate-webhook
// +kubebuilder:webhookconfiguration:mutating=false,name=targetgate-webhook

// Setup registers the handlers with the manager's webhook server. They work on every replica, leader or not.
// The manager's cache must have ownership's indexes.
func Setup(ctx context.Context, mgr ctrl.Manager, opts Options) error {
	gates, protection, err := pods.New(ctx, mgr, pods.Options{
		Namespaces: opts.Namespaces, InjectGates: opts.InjectGates, Termination: opts.Termination,
	})
	if err != nil {
		return err
	}
	handlers := map[string]http.Handler{pods.Path: gates}
	review.BeginCounting(review.MutationFailures, pods.Path)
	if opts.Mode == ownership.Beside {
		handlers[pods.ProtectPath] = protection
		review.BeginCounting(review.MutationFailures, pods.ProtectPath)
	} else {
		settings := bindings.Options{
			Clients: opts.Clients, OwnVPC: opts.OwnVPC, Namespaces: opts.Namespaces, Consent: opts.Consent, MakesRules: opts.MakesRules,
		}
		if opts.Ingresses != nil {
			settings.Own = mgr.GetClient()
		}
		handlers[bindings.MutatePath], handlers[bindings.ValidatePath] = bindings.New(mgr.GetClient(), settings)
	}
	if opts.Ingresses != nil {
		handlers[ingresses.Path], handlers[ingresses.ParamsPath] = ingresses.New(mgr.GetClient(), mgr.GetAPIReader(), *opts.Ingresses)
		handlers[ingresses.MutateParamsPath] = ingresses.NewBeforeCRD()
	}
	for path, hook := range handlers {
		mgr.GetWebhookServer().Register(path, review.Timed(path, hook))
	}
	return nil
}
