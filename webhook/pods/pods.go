// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"net/http"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/webhook/review"
)

// Path is the incumbent's.
const Path = "/mutate-v1-pod"

// Options is what the handler needs besides the manager.
type Options struct {
	// Namespaces are the watched ones; empty means all.
	Namespaces []string
	// InjectGates adds gates to pods; if false, pods are admitted as they are.
	InjectGates bool
	// Termination is the termination delay of pods with a gate.
	Termination Termination
}

// New returns the handler of reviews of pods. It reads the manager's cache.
func New(ctx context.Context, mgr ctrl.Manager, opts Options) (http.Handler, error) {
	m := &mutator{
		index:     newBindingIndex(mgr.GetClient(), clock.RealClock{}),
		off:       !opts.InjectGates,
		protector: newProtector(opts.Termination), namespaces: opts.Namespaces,
	}
	if !m.protector.canSleep {
		mgr.GetLogger().Info("Pods get no preStop sleep: it needs Kubernetes 1.30", "apiServer", opts.Termination.ServerVersion)
	}
	review.BeginCounting(review.MutationFailures, Path)
	return &handler{limiter: review.NewLimiter(), mutator: m}, m.index.watch(ctx, mgr.GetCache())
}
