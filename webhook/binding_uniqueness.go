// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

// One target group has one binding in the cluster, unless all of its bindings share it knowingly. Three things see to that:
//
//   - taken refuses a second binding by the cache, as soon as it shows the first one.
//   - claims refuse it in the moments before that, on the replica that let the first one in.
//   - Two replicas that let one in each at the same moment see nothing of each other, and a lock that they could see would
//     be a side effect of admission. There the registrar decides (package targets): it works for the older of the two,
//     by creation and then by UID, and the other one's conditions name it. When the older one goes, the other takes over.
//
// A binding that is being deleted is in nobody's way: the registrar hands its group, with all targets in it, to the new
// one. One that cannot be finished, as AWS is out of reach, locks no group.

// others are the bindings that the cache shows for the same target group.
func (v *bindingValidator) others(ctx context.Context, binding *v1beta1.TargetGroupBinding) ([]v1beta1.TargetGroupBinding, error) {
	arn := binding.Spec.TargetGroupARN
	if arn == "" {
		return nil, nil
	}
	var list v1beta1.TargetGroupBindingList
	if err := v.reader.List(ctx, &list, client.UnsafeDisableDeepCopy, client.MatchingFields{indexBindingARN: arn}); err != nil {
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

// taken is the fault of a spec whose target group is another binding's already.
func taken(spec *v1beta1.TargetGroupBindingSpec, others []v1beta1.TargetGroupBinding) field.ErrorList {
	for i := range others {
		other := &others[i]
		shared := other.Spec.MultiClusterTargetGroup && spec.MultiClusterTargetGroup
		if !shared && other.DeletionTimestamp.IsZero() {
			return field.ErrorList{field.Invalid(specPath.Child("targetGroupARN"), spec.TargetGroupARN,
				fmt.Sprintf("TargetGroupBinding %s/%s has this target group already", other.Namespace, other.Name))}
		}
	}
	return nil
}

// claim keeps others from the group of a binding that is let in, but for dry runs, which reserve nothing.
func (v *bindingValidator) claim(
	ctx context.Context, binding *v1beta1.TargetGroupBinding, others []v1beta1.TargetGroupBinding,
) error {
	req, err := admission.RequestFromContext(ctx)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	dryRun := req.DryRun != nil && *req.DryRun
	return asInvalid(binding, v.claims.take(binding, others, !dryRun))
}

// claimLife is how long a binding that was let in keeps others from its group, seen or not: longer than the cache is
// behind, and short enough to wait for where the creation has failed after us.
const claimLife = 5 * time.Second

// claimPause is how long after a claim the same namespace has no other one on the same group, or it could keep the group from
// its rightful binding for ever with creations that fail after us, at a quota say. Without a claim the registrar decides.
const claimPause = time.Minute

// claims are the target groups of the bindings that were let in lately, by ARN. They are safe for concurrent use.
type claims struct {
	clock clock.PassiveClock

	mu     sync.Mutex
	held   map[string]map[types.NamespacedName]claim
	paused map[claimant]time.Time // until when
}

// claimant is a namespace that claims a group.
type claimant struct{ arn, namespace string }

type claim struct {
	uid    types.UID // of the binding: API servers give it before they ask
	shared bool
	until  time.Time
}

func newClaims(clk clock.PassiveClock) *claims {
	return &claims{clock: clk, held: map[string]map[types.NamespacedName]claim{}, paused: map[claimant]time.Time{}}
}

// take claims the binding's group if keep says so, and is the fault if another binding has claimed it. A claim is void
// once the cache shows its binding, which then speaks for itself. One that had the name before does not.
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

// keep holds the claim unless its namespace had one on the group lately, which is neither replaced nor made longer. The caller
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

// sweep drops what is over, so that no more is held than was let in lately. The caller holds the lock.
func (c *claims) sweep(now time.Time) {
	maps.DeleteFunc(c.paused, func(_ claimant, until time.Time) bool { return !now.Before(until) })
	for arn, held := range c.held {
		maps.DeleteFunc(held, func(_ types.NamespacedName, claim claim) bool { return !now.Before(claim.until) })
		if len(held) == 0 {
			delete(c.held, arn)
		}
	}
}
