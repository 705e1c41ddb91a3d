// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// breather is how long a binding is left alone after a pass has begun. In a rollout pods, slices and targets change by the
// dozen within moments, and a pass looks at all of them anyway.
const breather = 100 * time.Millisecond

// spaced puts a breather between the passes of a binding. The first change is acted on at once.
type spaced struct {
	reconcile.Reconciler
	clock clock.PassiveClock

	mu    sync.Mutex
	begun map[types.NamespacedName]time.Time // the passes that began less than a breather ago
}

func newSpaced(inner reconcile.Reconciler, clk clock.PassiveClock) *spaced {
	return &spaced{Reconciler: inner, clock: clk, begun: map[types.NamespacedName]time.Time{}}
}

// Reconcile has a pass begun, or comes back when there may be one.
func (s *spaced) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if wait := s.wait(req.NamespacedName); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	return s.Reconciler.Reconcile(ctx, req)
}

// wait is how long the binding is still left alone; 0 begins a pass.
func (s *spaced) wait(key types.NamespacedName) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	maps.DeleteFunc(s.begun, func(_ types.NamespacedName, begun time.Time) bool { return now.Sub(begun) >= breather })
	if begun, ok := s.begun[key]; ok {
		return breather - now.Sub(begun)
	}
	s.begun[key] = now
	return 0
}
