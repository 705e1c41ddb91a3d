// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// registrarLink says who registers the targets, where targetgate and aws-load-balancer-controller both work in the cluster: nil where
// nothing says so. Theirs is true when it is aws-load-balancer-controller, of whose work only its marks on the binding can be explained.
func (s *bindingState) registrarLink() (l *Link, theirs bool) {
	registered := ownership.IsRegistered(s.namespaceLabels())
	switch {
	case ownership.Beside.Holds(s.binding) && s.isGivenBack(registered):
		given := link("registrar", Waiting, "targetgate gives the binding back to aws-load-balancer-controller: the namespace has no label %s=%s",
			ownership.RegisterLabel, ownership.Enabled)
		return &given, true
	case ownership.Beside.Holds(s.binding):
		ours := link("registrar", OK, "targetgate registers the targets, beside aws-load-balancer-controller")
		return &ours, false
	case !s.worksBeside() && s.status(v1beta1.ConditionReady).Reason != "": // by targetgate, which works alone
		return nil, false
	case registered:
		return s.untakenLink(), true
	case ownership.IsProtected(s.namespaceLabels()):
		protected := link("registrar", OK, "aws-load-balancer-controller registers the targets: by the namespace's label %s, targetgate gives "+
			"pods a preStop sleep, and no readiness gate", ownership.ProtectLabel)
		return &protected, true
	case s.worksBeside():
		unlabelled := link("registrar", OK, "aws-load-balancer-controller registers the targets: the namespace has no label %s=%s",
			ownership.RegisterLabel, ownership.Enabled)
		return &unlabelled, true
	default:
		return nil, false
	}
}

// untakenLink is about a binding in a namespace with the label that targetgate does not have.
func (s *bindingState) untakenLink() *Link {
	l := link("registrar", Waiting, "aws-load-balancer-controller has registered the targets, and targetgate takes the binding within half "+
		"a minute")
	switch {
	case s.notTaken == "" && s.binding.Spec.MultiClusterTargetGroup:
		l = l.advise("If it does not: %s", ownership.NoRecord)
	case s.notTaken == "":
	case s.isTheirs() || ownership.Unfenced(&s.binding.Spec) != "":
		l = link("registrar", OK, "aws-load-balancer-controller registers the targets, in spite of the namespace's label: %s", s.notTaken)
	default:
		l = link("registrar", Broken, "nobody registers the targets: the namespace's label %s keeps aws-load-balancer-controller away, and "+
			"targetgate does not take the binding: %s", ownership.RegisterLabel, s.notTaken).
			advise("Correct that, or leave the namespace to that controller: kubectl label namespace %s %s-",
				s.binding.Namespace, ownership.RegisterLabel)
	}
	return &l
}

// worksBeside reports whether a targetgate runs beside the incumbent, by its lease.
func (s *bindingState) worksBeside() bool {
	gone, _ := s.beside.isGone(s.now)
	return s.beside.lease != nil && s.beside.key != s.leader.key && !gone
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
