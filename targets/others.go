// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// others finds the other bindings of a binding's target group, and what they ask for.
type others struct {
	reader   client.Reader
	resolver *endpoints.Resolver
}

// mine says which targets may be deregistered for the binding: of a shared group those that its record lists and that no other
// binding in the cluster asks for. Whoever may write ConfigMaps in the namespace may list there what they like, and bindings that
// share a group may have a pod in common. Listed are the binding's own, nil when it goes.
func (o others) mine(ctx context.Context, binding *v1beta1.TargetGroupBinding, ours ownership.Record,
	listed map[elbv2.Target]endpoints.Endpoint, group targetgroup.Targets,
) (func(elbv2.Target) bool, error) {
	if !binding.Spec.MultiClusterTargetGroup {
		return func(elbv2.Target) bool { return true }, nil
	}
	var doubtful []elbv2.Target // the others are living endpoints of the binding
	for target := range ours {
		ep, explained := listed[target]
		_, known := group[target]
		if explained && (ep.State == endpoints.Terminating || ep.State == endpoints.Unselected) || !explained && known {
			doubtful = append(doubtful, target)
		}
	}
	theirs, err := o.askedFor(ctx, binding, doubtful)
	if err != nil {
		return nil, err
	}
	return func(target elbv2.Target) bool {
		_, listed := ours[target]
		return listed && !theirs[target]
	}, nil
}

// askedFor are those of the targets that other bindings of the target group want, or will when they are ready: these take
// care of them from now on. Of a pod or node that is leaving each binding takes care. A binding that is deleted asks for nothing.
func (o others) askedFor(ctx context.Context, binding *v1beta1.TargetGroupBinding, doubtful []elbv2.Target,
) (map[elbv2.Target]bool, error) {
	if len(doubtful) == 0 {
		return nil, nil
	}
	bindings, err := o.sharing(ctx, binding)
	if err != nil {
		return nil, err
	}
	return o.resolver.AskedFor(ctx, bindings, doubtful)
}

// sharing are the other bindings of the binding's target group that are there to stay; read only.
func (o others) sharing(ctx context.Context, binding *v1beta1.TargetGroupBinding) ([]*v1beta1.TargetGroupBinding, error) {
	var list v1beta1.TargetGroupBindingList
	err := o.reader.List(ctx, &list, client.UnsafeDisableDeepCopy, client.MatchingFields{ownership.IndexGroup: binding.Spec.TargetGroupARN})
	if err != nil {
		return nil, fmt.Errorf("listing bindings of the target group: %w", err)
	}
	var out []*v1beta1.TargetGroupBinding
	for i := range list.Items {
		other := &list.Items[i]
		sameKind := other.Spec.IsIP() == binding.Spec.IsIP()
		if other.UID != binding.UID && other.DeletionTimestamp.IsZero() && sameKind && ownership.Incomplete(&other.Spec) == "" {
			out = append(out, other)
		}
	}
	return out, nil
}
