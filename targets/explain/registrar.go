// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// registrarLink says who registers the targets, where targetgate and aws-load-balancer-controller both work in the cluster: nil where
// nothing says so. Theirs is true when it is aws-load-balancer-controller, of whose work there is nothing to explain.
func (s *bindingState) registrarLink() (l *Link, theirs bool) {
	is := func(state State, theirs bool, format string, args ...any) (*Link, bool) {
		l := link("registrar", state, format, args...)
		return &l, theirs
	}
	labels := s.namespaceLabels()
	ours, registered := ownership.Beside.Holds(s.binding), ownership.IsRegistered(labels)
	unfenced := ownership.Unfenced(&s.binding.Spec)
	switch {
	case ours && s.isGivenBack(registered):
		return is(Waiting, true, "targetgate gives the binding back to aws-load-balancer-controller: the namespace has no label %s=%s",
			ownership.RegisterLabel, ownership.Enabled)
	case ours:
		return is(OK, false, "targetgate registers the targets, beside aws-load-balancer-controller")
	case s.status(v1beta1.ConditionReady).Reason != "": // by targetgate, which works alone
		return nil, false
	case registered && unfenced != "":
		return is(OK, true, "aws-load-balancer-controller registers the targets, in spite of the namespace's label: %s", unfenced)
	case registered:
		return is(Waiting, true, "aws-load-balancer-controller has registered the targets, and targetgate takes the binding within half a minute")
	case labels[ownership.ProtectLabel] == ownership.Enabled:
		return is(OK, true, "aws-load-balancer-controller registers the targets; targetgate gives the pods a termination delay")
	default:
		return nil, false
	}
}

// namespaceLabels are nil when the namespace may not be read.
func (s *bindingState) namespaceLabels() map[string]string {
	if s.namespace == nil {
		return nil
	}
	return s.namespace.Labels
}

// isGivenBack reports whether targetgate is to leave a binding that it has.
func (s *bindingState) isGivenBack(registered bool) bool {
	return s.namespace != nil && !registered && s.binding.DeletionTimestamp.IsZero()
}

// leaseOf is where the leader of those who register the binding's targets says that it lives.
func (e *Explainer) leaseOf(binding *v1beta1.TargetGroupBinding) client.ObjectKey {
	if ownership.Beside.Holds(binding) {
		return e.BesideLease
	}
	return e.Lease
}
