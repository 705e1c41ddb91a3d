// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package beside

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/events"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// whyNot says why the binding should not be ours, empty when it should.
func (t *Taker) whyNot(ctx context.Context, binding *v1beta1.TargetGroupBinding, duplicates []v1beta1.TargetGroupBinding) (string, error) {
	return ownership.NotTaken(binding, duplicates, func(namespace string) (bool, error) { return t.IsRegistered(ctx, namespace) })
}

// tell records an event for a binding that stays with the incumbent in spite of its namespace's label, once for each reason.
func (t *Taker) tell(binding *v1beta1.TargetGroupBinding, why string) {
	key := client.ObjectKeyFromObject(binding)
	if why == "" || why == ownership.NoLabel || !binding.DeletionTimestamp.IsZero() {
		t.untaken.forget(key)
		return
	}
	if t.untaken.remember(key, why) {
		t.Reporter.Event(binding, events.Warning("NotTaken", "Take", "targetgate does not register the targets of this binding, although its "+
			"namespace has the label %s: %s", ownership.RegisterLabel, why))
	}
}

// untaken remembers the events about bindings that stay with the incumbent in spite of their namespaces' labels. Safe for concurrent
// use.
type untaken struct {
	mu      sync.Mutex
	emitted map[types.NamespacedName]string
}

// remember notes what an event says, and reports whether it is new.
func (u *untaken) remember(key types.NamespacedName, why string) (isNew bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.emitted == nil {
		u.emitted = map[types.NamespacedName]string{}
	}
	isNew = u.emitted[key] != why
	u.emitted[key] = why
	return isNew
}

func (u *untaken) forget(key types.NamespacedName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.emitted, key)
}
