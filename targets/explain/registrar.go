// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// registrar is what tells who registers a binding's targets, where targetgate and aws-load-balancer-controller both work in the cluster.
type registrar struct {
	marks
	namespace      *corev1.Namespace // nil when it may not be read
	leader, beside leader            // of the targetgate that has the binding, or would, and of the one beside the incumbent
	notTaken       string            // why the latter should not have it
}

func (s *bindingState) registrar() registrar {
	return registrar{marks{s.now, s.binding}, s.namespace, s.leader, s.beside, s.notTaken}
}

// link says who registers the targets: nil where nothing says so. Theirs is true when it is aws-load-balancer-controller, of whose
// work only its marks on the binding can be explained.
func (r registrar) link() (l *Link, theirs bool) {
	registered := r.isLabelled()
	switch {
	case ownership.Beside.Holds(r.binding) && r.isGivenBack(registered):
		given := link("registrar", Waiting, "targetgate gives the binding back to aws-load-balancer-controller: the namespace has no label %s=%s",
			ownership.RegisterLabel, ownership.Enabled)
		return &given, true
	case ownership.Beside.Holds(r.binding):
		ours := link("registrar", OK, "targetgate registers the targets, beside aws-load-balancer-controller")
		return &ours, false
	case !r.worksBeside() && conditionOf(r.binding, v1beta1.ConditionReady).Reason != "": // by targetgate, which works alone
		return nil, false
	case registered:
		return r.untakenLink(), true
	case ownership.IsProtected(r.namespaceLabels()):
		protected := link("registrar", OK, "aws-load-balancer-controller registers the targets: by the namespace's label %s, targetgate gives "+
			"pods a preStop sleep, and no readiness gate", ownership.ProtectLabel)
		return &protected, true
	case r.worksBeside():
		unlabelled := link("registrar", OK, "aws-load-balancer-controller registers the targets: the namespace has no label %s=%s",
			ownership.RegisterLabel, ownership.Enabled)
		return &unlabelled, true
	default:
		return r.unsureLink()
	}
}

// unsureLink is about a binding of the incumbent's where nobody may see whether targetgate works beside it.
func (r registrar) unsureLink() (l *Link, theirs bool) {
	if !r.hasBegun() || !apierrors.IsForbidden(r.beside.err) {
		return nil, false
	}
	unsure := link("registrar", Unknown, "aws-load-balancer-controller has its finalizer on the binding, and targetgate has written nothing "+
		"to it; whether targetgate works beside it is not known: %s", r.beside.unread())
	return &unsure, true
}

// untakenLink is about a binding in a namespace with the label that targetgate does not have.
func (r registrar) untakenLink() *Link {
	l := link("registrar", Waiting, "aws-load-balancer-controller has registered the targets, and targetgate takes the binding within half "+
		"a minute")
	switch {
	case r.notTaken == "" && r.binding.Spec.MultiClusterTargetGroup:
		l = l.advise("If it does not: %s", ownership.NoRecord)
	case r.notTaken == "":
	case r.hasBegun() || ownership.Unfenced(&r.binding.Spec) != "":
		l = link("registrar", OK, "aws-load-balancer-controller registers the targets, in spite of the namespace's label: %s", r.notTaken)
	default:
		l = link("registrar", Broken, "no controller registers the targets: the namespace's label %s keeps aws-load-balancer-controller away, "+
			"and targetgate does not take the binding: %s", ownership.RegisterLabel, r.notTaken).
			advise("Correct that, or leave the namespace to that controller: kubectl label namespace %s %s-",
				r.binding.Namespace, ownership.RegisterLabel)
	}
	return &l
}

// worksBeside reports whether a targetgate runs beside the incumbent, by its lease.
func (r registrar) worksBeside() bool {
	gone, _ := r.beside.isGone(r.now)
	return r.beside.lease != nil && r.beside.key != r.leader.key && !gone
}

// isLabelled reports whether the namespace has the label by which targetgate registers.
func (r registrar) isLabelled() bool { return ownership.IsRegistered(r.namespaceLabels()) }

// namespaceLabels are nil when the namespace may not be read.
func (r registrar) namespaceLabels() map[string]string {
	if r.namespace == nil {
		return nil
	}
	return r.namespace.Labels
}

// isGivenBack reports whether targetgate is to leave a binding that it has.
func (r registrar) isGivenBack(registered bool) bool {
	return r.namespace != nil && !registered && r.binding.DeletionTimestamp.IsZero()
}

// leaseOf is where the leader of those who register the binding's targets says that it lives.
func (e *Explainer) leaseOf(binding *v1beta1.TargetGroupBinding) client.ObjectKey {
	if ownership.Beside.Holds(binding) {
		return e.BesideLease
	}
	return e.Lease
}
