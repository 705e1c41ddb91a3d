// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// refusalRecheck is how often a binding that is not managed is looked at again: the other binding of its group may have
// gone.
const refusalRecheck = 30 * time.Second

// unmanageable says why targetgate must leave the binding alone, empty when it need not.
func (r *Registrar) unmanageable(ctx context.Context, binding *v1beta1.TargetGroupBinding) (why string, err error) {
	const created = " is not set: was the binding created while the webhook was not installed? Create it again"
	spec := binding.Spec
	switch {
	case spec.TargetType == nil:
		return "spec.targetType" + created, nil
	case spec.TargetGroupARN == "":
		return "spec.targetGroupARN" + created, nil
	}
	if _, err := metav1.LabelSelectorAsSelector(spec.NodeSelector); err != nil {
		return fmt.Sprintf("spec.nodeSelector: %v", err), nil
	}
	return r.rival(ctx, binding)
}

// rival names an older binding of the same target group, unless both share it knowingly. Admission refuses a second one,
// but of two that are created at once each may be admitted without a look at the other; both managing the group would
// deregister each other's targets.
func (r *Registrar) rival(ctx context.Context, binding *v1beta1.TargetGroupBinding) (string, error) {
	var list v1beta1.TargetGroupBindingList
	err := r.Client.List(ctx, &list, client.UnsafeDisableDeepCopy, client.MatchingFields{indexBindingGroup: binding.Spec.TargetGroupARN})
	if err != nil {
		return "", fmt.Errorf("listing bindings of the target group: %w", err)
	}
	for i := range list.Items {
		other := &list.Items[i]
		shared := other.Spec.MultiClusterTargetGroup && binding.Spec.MultiClusterTargetGroup
		if other.UID != binding.UID && !shared && older(other, binding) {
			return fmt.Sprintf("spec.targetGroupARN: TargetGroupBinding %s/%s has this target group already", other.Namespace, other.Name), nil
		}
	}
	return "", nil
}

func older(a, b *v1beta1.TargetGroupBinding) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.UID < b.UID
}

// refuse says in the status why the binding is left alone, and lets its pods through: nobody will check their health.
func (r *Registrar) refuse(ctx context.Context, s session, binding *v1beta1.TargetGroupBinding, why string) (ctrl.Result, error) {
	gateErr := r.openGates(ctx, s.key, readiness.NotManaged(why))
	_, statusErr := r.writeStatus(ctx, s, binding, view{generation: binding.Generation, unsupported: why})
	return ctrl.Result{RequeueAfter: r.soonestRetry(ctx, errors.Join(gateErr, statusErr), refusalRecheck)}, nil
}
