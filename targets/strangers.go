// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"maps"
	"time"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// strangers finds out what the cluster knows of targets that no endpoint of their binding explains.
type strangers struct {
	resolver *endpoints.Resolver
	bindings *memories
	vpc      string // the cluster's own, empty when not known
}

// look fills in what a plan needs to know of them.
func (o strangers) look(ctx context.Context, m *memory, binding *v1beta1.TargetGroupBinding, in *plan.Input) (err error) {
	if !m.foreign.HasBegun() {
		m.foreign = m.foreign.Inherit(o.bindings.leftIn(binding.Spec.TargetGroupARN))
	}
	in.Foreign, in.Shared = m.foreign, binding.Spec.MultiClusterTargetGroup
	in.Elsewhere.OtherVPC = o.vpc != "" && binding.Spec.VpcID != "" && binding.Spec.VpcID != o.vpc
	if binding.Spec.IsIP() && !in.Shared {
		in.Elsewhere.InCluster, err = o.resolver.InCluster(ctx, in.Unexplained())
	}
	return err
}

// leftover are the targets that a binding has left to another binding of its target group. Passes over that one know them as this
// cluster's, also when their pods have ended.
type leftover struct {
	targets map[elbv2.Target]bool
	at      time.Time
}

// leftFor is how long they are remembered: long enough for the other binding's first pass.
const leftFor = 10 * time.Minute

// leave remembers which targets of the cluster the binding leaves in its group.
func (all *memories) leave(m *memory) {
	targets, now := m.group.Owned(), all.clock.Now()
	if len(targets) == 0 {
		return
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	maps.DeleteFunc(all.left, func(_ string, l leftover) bool { return now.Sub(l.at) > leftFor })
	all.left[m.group.ARN()] = leftover{targets, now}
}

// leftIn are the targets that another binding has left in the group.
func (all *memories) leftIn(arn string) map[elbv2.Target]bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.left[arn].targets
}
