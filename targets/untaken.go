// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/events"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Reasons why a binding is not to be ours.
const (
	noLabel  = "its namespace does not have the label " + ownership.RegisterLabel + "=" + ownership.Enabled
	noRecord = "multiClusterTargetGroup needs the right to ConfigMaps, which targetgate does not have. " +
		"Set sharedTargetGroups=true in the chart's values"
)

// whyNot says why the binding should not be ours, empty when it should: its namespace has the label, the policy keeps the incumbent from
// it, something can be done for it, and the incumbent has no other binding of its target group.
func (b *beside) whyNot(ctx context.Context, binding *v1beta1.TargetGroupBinding, duplicates []v1beta1.TargetGroupBinding) (string, error) {
	switch registered, err := b.isRegistered(ctx, binding.Namespace); {
	case err != nil:
		return "", err
	case !registered:
		return noLabel, nil
	}
	if why := ownership.Left(binding); why != "" {
		return why, nil
	}
	for i := range duplicates {
		other := &duplicates[i]
		if b.mode.Holds(other) {
			continue
		}
		registered, err := b.isRegistered(ctx, other.Namespace)
		if err != nil {
			return "", err
		}
		if why := ownership.Left(other); !registered || why != "" {
			return hasTheOther(other, registered, why), nil
		}
	}
	return "", nil
}

// hasTheOther says that the incumbent has another binding of the target group, and what to do.
func hasTheOther(other *v1beta1.TargetGroupBinding, registered bool, why string) string {
	has := fmt.Sprintf("aws-load-balancer-controller has TargetGroupBinding %s/%s of the same target group", other.Namespace, other.Name)
	if registered {
		return has + ", which targetgate leaves to it: " + why
	}
	return has + fmt.Sprintf(". Label its namespace, too (kubectl label namespace %s %s=%s), or remove the label from this one",
		other.Namespace, ownership.RegisterLabel, ownership.Enabled)
}

// tell records an event for a binding that stays with the incumbent in spite of its namespace's label, once for each reason.
func (b *beside) tell(binding *v1beta1.TargetGroupBinding, why string) {
	key := client.ObjectKeyFromObject(binding)
	if why == "" || why == noLabel || !binding.DeletionTimestamp.IsZero() {
		b.untaken.forget(key)
		return
	}
	if b.untaken.isNew(key, why) {
		e := events.Warning("NotTaken", "Take", "targetgate does not register the targets of this binding, although its namespace has the label "+
			"%s: %s", ownership.RegisterLabel, why)
		e.Note = events.Cut(e.Note)
		b.reporter.event(binding, e)
	}
}

// untaken remembers what has been told of bindings that stay with the incumbent in spite of their namespaces' labels. Safe for concurrent
// use.
type untaken struct {
	mu   sync.Mutex
	told map[types.NamespacedName]string
}

// isNew reports whether something else, or nothing, was told before.
func (u *untaken) isNew(key types.NamespacedName, why string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.told == nil {
		u.told = map[types.NamespacedName]string{}
	}
	isNew := u.told[key] != why
	u.told[key] = why
	return isNew
}

func (u *untaken) forget(key types.NamespacedName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.told, key)
}
