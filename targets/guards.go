// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/guards"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// newAnswerer returns what answers the node guards.
func newAnswerer(r *Registrar) *guards.Answerer {
	return guards.NewAnswerer(guards.Settings{
		Namespace: r.Namespace, Nodes: r.Client, Left: remaining{r}.instances, Pods: r.Writer, Clock: r.Clock,
	})
}

// remaining knows which instances are still in the target groups of bindings.
type remaining struct{ registrar *Registrar }

// instances says which of the instances, of nodes that leave, are still in the target group of a binding that is ours, or may be, and
// names the first such binding of each. When some were not asked for before, a pass over each of these bindings says when to read its
// group to find that they have drained.
func (l remaining) instances(ctx context.Context, instances map[string]bool, isNew bool) (map[string]string, error) {
	if len(instances) == 0 {
		return nil, nil
	}
	var list v1beta1.TargetGroupBindingList
	err := l.registrar.Client.List(ctx, &list, client.UnsafeDisableDeepCopy,
		client.MatchingFields{indexBindingType: string(v1beta1.TargetTypeInstance)})
	if err != nil {
		return nil, fmt.Errorf("listing the bindings of type instance: %w", err)
	}
	out := map[string]string{}
	for i := range list.Items {
		key := client.ObjectKeyFromObject(&list.Items[i])
		left := l.instancesIn(&list.Items[i], instances)
		for id := range left {
			if first, found := out[id]; !found || key.String() < first {
				out[id] = key.String()
			}
		}
		if isNew && len(left) > 0 {
			l.registrar.requeue(key, 0)
		}
	}
	return out, nil
}

// instancesIn are those that are in the group of the binding, or may be as it has not been read yet. A binding that is not ours has
// no target of ours: nothing is registered before our finalizer is there.
func (l remaining) instancesIn(binding *v1beta1.TargetGroupBinding, instances map[string]bool) map[string]bool {
	m := l.registrar.bindings.find(client.ObjectKeyFromObject(binding))
	if m == nil || m.uid != binding.UID {
		if l.registrar.Mode.Holds(binding) {
			return instances
		}
		return nil
	}
	left, known := m.group.InstancesLeft(instances, binding.Status.Targets != nil)
	if !known {
		return instances
	}
	return left
}
