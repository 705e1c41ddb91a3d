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

const (
	// Path is the incumbent's.
	Path = "/mutate-v1-pod"
	// ProtectPath is for pods that the incumbent registers: they get a termination delay and no gate. It ends as Path does, by which
	// reviews of pods are told from others.
	ProtectPath = "/protect" + Path
)

// Options is what the handler needs besides the manager.
type Options struct {
	// Namespaces are the watched ones; empty means all.
	Namespaces []string
	// InjectGates adds gates to pods; if false, pods are admitted as they are.
	InjectGates bool
	// Termination is the termination delay of pods with a gate.
	Termination Termination
}

// New returns the handlers of reviews of pods for Path and ProtectPath. They read the manager's cache, and share their limits.
func New(ctx context.Context, mgr ctrl.Manager, opts Options) (gates, protection http.Handler, err error) {
	index, limiter := newBindingIndex(mgr.GetClient(), clock.RealClock{}), review.NewLimiter()
	gate := &mutator{index: index, off: !opts.InjectGates, protector: newProtector(opts.Termination), namespaces: opts.Namespaces}
	protect := &mutator{index: index, protectsOnly: true, protector: newProtector(opts.Termination.late()), namespaces: opts.Namespaces}
	if !gate.protector.canSleep {
		mgr.GetLogger().Info("Pods get no preStop sleep: it needs Kubernetes 1.30", "apiServer", opts.Termination.ServerVersion)
	}
	return &handler{limiter, gate}, &handler{limiter, protect}, index.watch(ctx, mgr.GetCache())
}
