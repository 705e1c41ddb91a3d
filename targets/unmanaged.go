// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/conditions"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// unmanageable says why targetgate must leave the binding alone, empty when it need not, and whether that is only until the
// group has been handed over to it.
func unmanageable(binding *v1beta1.TargetGroupBinding, duplicates []v1beta1.TargetGroupBinding) (why string, successor bool) {
	if why := cmp.Or(ownership.Incomplete(&binding.Spec), unrecordable(binding)); why != "" {
		return why, false
	}
	return ownership.Refusal(binding, duplicates)
}

// unrecordable says that the record of a shared group cannot be written, as its ConfigMap would have too long a name.
func unrecordable(binding *v1beta1.TargetGroupBinding) string {
	if !binding.Spec.MultiClusterTargetGroup || len(recordPrefix+binding.Name) <= validation.DNS1123SubdomainMaxLength {
		return ""
	}
	return "metadata.name is too long for the ConfigMap " + recordPrefix + "NAME, the record of a shared target group: " +
		"create the binding again with a shorter name"
}

// shortfall is what the binding asks for that it does not get, though it is worked for.
func shortfall(binding *v1beta1.TargetGroupBinding) string {
	switch protocol := binding.GroupProtocol(); {
	case protocol.HasServerIDs():
		return fmt.Sprintf("targets of a target group of protocol %s need QUIC server IDs, which are not supported: AWS refuses to register them",
			protocol)
	case binding.Spec.IsIP() && len(binding.Name) > v1beta1.MaxBindingName:
		return fmt.Sprintf("metadata.name has more than %d characters, so pods get no readiness gate: "+
			"create the binding again with a shorter name", v1beta1.MaxBindingName)
	case binding.Spec.Networking != nil:
		return "spec.networking is not supported: no security group is changed"
	default:
		return ""
	}
}

// refuse says in the status why the binding is left alone, and opens the gates of its pods: nobody will check their health. A
// successor's pods wait: a call of the other binding's is all that is still awaited. What the binding may still have had to send is
// not sent any more.
func (r *Registrar) refuse(s session, binding *v1beta1.TargetGroupBinding, why string, successor bool) ctrl.Result {
	s.group.Retire()
	var next requeue
	if successor {
		next.in(duplicatePause)
	} else {
		next.in(r.gates.Write(s.gates, conditions.OpenAll(r.gatedPods(s.key), readiness.NotManaged(why))))
		next.in(targetgroup.RecheckPause)
	}
	next.in(r.statuses.write(s, binding, statusInput{
		generation: binding.Generation, group: s.group.Snapshot(), claimFailure: s.claims.failure(), unsupported: why, successor: successor,
	}))
	return next.result()
}
