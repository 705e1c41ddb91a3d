// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"cmp"
	"slices"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Mode says who else works on the bindings of the cluster, and so by which finalizer a binding is ours. The zero Mode is Alone.
type Mode int

const (
	// Alone is where nobody else does. The finalizer has the incumbent's name, so that either controller can finish what the other
	// began; one that Beside has left is ours, too.
	Alone Mode = iota
	// Beside is where the incumbent does, but for the bindings of namespaces with the label RegisterLabel. Its first act on a binding is
	// to add its finalizer, and a policy of the API servers keeps it from that there. So our finalizer has a name of our own.
	Beside
)

// The labels of namespaces that Beside goes by, each with the value Enabled.
const (
	// RegisterLabel has targetgate register the targets of the namespace's bindings.
	RegisterLabel = "targetgate.dev/register"
	// ProtectLabel has admission give pods a termination delay, while the incumbent registers them.
	ProtectLabel = "targetgate.dev/protect"
	// Enabled is what either label must say.
	Enabled = "enabled"
)

// BesideLease is the default name of the lease beside the incumbent, which has its own.
const BesideLease = "targetgate-leader"

// finalizers are the one that is put on bindings, and the one that it replaces.
func (m Mode) finalizers() (ours, replaced string) {
	if m == Beside {
		return v1beta1.BesideFinalizer, v1beta1.Finalizer
	}
	return v1beta1.Finalizer, v1beta1.BesideFinalizer
}

// Holds reports whether the binding has a finalizer of ours: its targets are ours to register and to deregister.
func (m Mode) Holds(binding *v1beta1.TargetGroupBinding) bool {
	ours, _ := m.finalizers()
	return controllerutil.ContainsFinalizer(binding, ours) || m == Alone && binding.IsHeld()
}

// IsClaimed reports whether Claim has nothing to change.
func (m Mode) IsClaimed(binding *v1beta1.TargetGroupBinding) bool {
	ours, replaced := m.finalizers()
	return controllerutil.ContainsFinalizer(binding, ours) && !controllerutil.ContainsFinalizer(binding, replaced) &&
		(m == Beside || !hasCheckpoint(binding))
}

// Claim replaces the other mode's finalizer by ours, and reports whether the binding was not ours before. Alone it removes the incumbent's
// checkpoints. Beside the incumbent it changes nothing else: the incumbent would put back what its own objects do not ask for.
func (m Mode) Claim(binding *v1beta1.TargetGroupBinding) (isNew bool) {
	isNew = !m.Holds(binding)
	ours, replaced := m.finalizers()
	controllerutil.RemoveFinalizer(binding, replaced)
	controllerutil.AddFinalizer(binding, ours)
	if m == Alone {
		delete(binding.Annotations, v1beta1.CheckpointAnnotation)
		delete(binding.Annotations, v1beta1.CheckpointTimestampAnnotation)
	}
	return isNew
}

// Release removes our finalizer from a binding that is being deleted.
func (m Mode) Release(binding *v1beta1.TargetGroupBinding) {
	ours, replaced := m.finalizers()
	controllerutil.RemoveFinalizer(binding, ours)
	if m == Alone {
		controllerutil.RemoveFinalizer(binding, replaced)
	}
}

// GiveBack is the reverse of Beside's Claim. The incumbent begins with an empty checkpoint: its next pass reads the target group.
// A binding that is being deleted cannot be given back, as it takes no new finalizer.
func GiveBack(binding *v1beta1.TargetGroupBinding) {
	controllerutil.RemoveFinalizer(binding, v1beta1.BesideFinalizer)
	controllerutil.AddFinalizer(binding, v1beta1.Finalizer)
	if binding.Annotations == nil {
		binding.Annotations = map[string]string{}
	}
	binding.Annotations[v1beta1.CheckpointAnnotation] = ""
}

func hasCheckpoint(binding *v1beta1.TargetGroupBinding) bool {
	_, checkpoint := binding.Annotations[v1beta1.CheckpointAnnotation]
	_, timestamp := binding.Annotations[v1beta1.CheckpointTimestampAnnotation]
	return checkpoint || timestamp
}

// Unfenced says why the policy of Beside leaves the binding to the incumbent, and so must we; empty when it does not. The chart's
// policy says the same in CEL.
func Unfenced(spec *v1beta1.TargetGroupBindingSpec) string {
	protocol := ptr.Deref(spec.TargetGroupProtocol, "")
	switch {
	case spec.TargetType == nil:
		return "spec.targetType is not set"
	case spec.TargetGroupARN == "":
		return "spec.targetGroupARN is not set"
	case protocol.HasServerIDs():
		return "targets of protocol " + string(protocol) + " need QUIC server IDs"
	default:
		return ""
	}
}

// LeftToIncumbent says why Beside leaves the binding to the incumbent though its namespace has the label, empty when it does not: the
// policy does so, or nothing could be done for it.
func LeftToIncumbent(binding *v1beta1.TargetGroupBinding) string {
	return cmp.Or(Unfenced(&binding.Spec), unworkable(binding))
}

// IsRegistered reports whether a namespace with these labels is one whose bindings Beside registers.
func IsRegistered(labels map[string]string) bool { return labels[RegisterLabel] == Enabled }

// IsProtected reports whether a namespace with these labels is one whose pods Beside protects, while the incumbent registers them.
func IsProtected(labels map[string]string) bool {
	return labels[ProtectLabel] == Enabled && !IsRegistered(labels)
}

// HasBoth reports whether the incumbent's finalizer stands beside Beside's: then no policy keeps the incumbent away.
func HasBoth(binding *v1beta1.TargetGroupBinding) bool {
	return slices.Contains(binding.Finalizers, v1beta1.Finalizer) && slices.Contains(binding.Finalizers, v1beta1.BesideFinalizer)
}
