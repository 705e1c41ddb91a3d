// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// A target group has one binding in the cluster, unless all its bindings are multiClusterTargetGroup. Three checks ensure it:
//
//   - taken rejects a second binding once the cache shows the first one.
//   - claims rejects it in the moments before that, on the replica that admitted the first one.
//   - If two replicas admit one binding each at the same moment, neither sees the other's, and a shared lock would be a side
//     effect of admission. Then the registrar decides (package ownership), and the conditions of the other name the owner.

// others returns the other bindings of the same target group in the cache.
func (v *validator) others(ctx context.Context, binding *v1beta1.TargetGroupBinding) ([]v1beta1.TargetGroupBinding, error) {
	arn := binding.Spec.TargetGroupARN
	if arn == "" {
		return nil, nil
	}
	var list v1beta1.TargetGroupBindingList
	if err := v.reader.List(ctx, &list, client.UnsafeDisableDeepCopy, client.MatchingFields{ownership.IndexGroup: arn}); err != nil {
		return nil, fmt.Errorf("listing bindings of %s: %w", arn, err)
	}
	var others []v1beta1.TargetGroupBinding
	for i := range list.Items {
		if client.ObjectKeyFromObject(&list.Items[i]) != client.ObjectKeyFromObject(binding) {
			others = append(others, list.Items[i])
		}
	}
	return others, nil
}

// taken returns a fault if the spec's target group already belongs to another binding.
func taken(spec *v1beta1.TargetGroupBindingSpec, others []v1beta1.TargetGroupBinding) field.ErrorList {
	why := ownership.Taken(spec, others)
	if why == "" {
		return nil
	}
	return field.ErrorList{field.Invalid(specPath.Child("targetGroupARN"), spec.TargetGroupARN, why)}
}

// claim reserves the group for an admitted binding. Dry runs check the claims, but reserve nothing.
func (v *validator) claim(req *bindingRequest, others []v1beta1.TargetGroupBinding) error {
	return forbidden(req.binding, v.claims.take(req.binding, others, !ptr.Deref(req.DryRun, false)))
}

// claimLife is how long an admitted binding reserves its group: longer than the cache lags, and short enough to wait for if
// the creation failed after us.
const claimLife = 5 * time.Second

// claimPause is how long after a claim the same namespace gets no other claim on the same group. Otherwise creations that
// fail after us, for example at a quota, could block the group forever. Without a claim, the registrar decides.
const claimPause = time.Minute

// claims holds the target groups of recently admitted bindings, by ARN. It is safe for concurrent use.
type claims struct {
	clock clock.PassiveClock

	mu     sync.Mutex
	held   map[string]map[types.NamespacedName]claim
	paused map[claimant]time.Time // until when
}

// claimant is a namespace that claims a group.
type claimant struct{ arn, namespace string }

type claim struct {
	uid    types.UID // of the binding: API servers set it before admission
	shared bool
	until  time.Time
}

func newClaims(clk clock.PassiveClock) *claims {
	return &claims{clock: clk, held: map[string]map[types.NamespacedName]claim{}, paused: map[claimant]time.Time{}}
}

// take returns a fault if another binding has claimed the group; otherwise, if keep is true, it claims the group. A claim ends
// once the cache shows its binding, with the same UID.
func (c *claims) take(binding *v1beta1.TargetGroupBinding, others []v1beta1.TargetGroupBinding, keep bool) field.ErrorList {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, arn, shared := c.clock.Now(), binding.Spec.TargetGroupARN, binding.Spec.MultiClusterTargetGroup
	c.sweep(now)
	for i := range others {
		if key := client.ObjectKeyFromObject(&others[i]); c.held[arn][key].uid == others[i].UID {
			delete(c.held[arn], key)
		}
	}
	self := client.ObjectKeyFromObject(binding)
	for key, other := range c.held[arn] {
		if key != self && (!shared || !other.shared) {
			return field.ErrorList{field.Invalid(specPath.Child("targetGroupARN"), arn, fmt.Sprintf(
				"TargetGroupBinding %s, created a moment ago, has this target group: if it does not exist, try again in %s",
				key, (other.until.Sub(now)+time.Second-1).Truncate(time.Second)))}
		}
	}
	if keep {
		c.keep(arn, self, claim{uid: binding.UID, shared: shared, until: now.Add(claimLife)}, now)
	}
	return nil
}

// keep stores the claim unless its namespace had one on the group recently, which is neither replaced nor extended. The caller
// holds the lock.
func (c *claims) keep(arn string, self types.NamespacedName, made claim, now time.Time) {
	who := claimant{arn, self.Namespace}
	if _, paused := c.paused[who]; paused {
		return
	}
	c.paused[who] = now.Add(claimPause)
	if c.held[arn] == nil {
		c.held[arn] = map[types.NamespacedName]claim{}
	}
	c.held[arn][self] = made
}

// sweep deletes expired claims and pauses, which limits memory to recent admissions. The caller holds the lock.
func (c *claims) sweep(now time.Time) {
	maps.DeleteFunc(c.paused, func(_ claimant, until time.Time) bool { return !now.Before(until) })
	for arn, held := range c.held {
		maps.DeleteFunc(held, func(_ types.NamespacedName, claim claim) bool { return !now.Before(claim.until) })
		if len(held) == 0 {
			delete(c.held, arn)
		}
	}
}
