// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/beside"
	"github.com/targetgate/targetgate/targets/claims"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// newTaker makes the part that decides which bindings are ours. The other parts are there.
func newTaker(r *Registrar) *beside.Taker {
	return &beside.Taker{
		Mode: r.Mode, Reader: r.Client, Clock: r.Clock, Memories: remembered{r}, Claims: r.claims, Statuses: r.statuses, Reporter: r.reporter,
		Early: &beside.EarlyGates{
			Wanted: r.OpenIncumbentGates, Reader: r.Client, Resolver: r.resolver, Gates: r.gates, Subnets: r.bindings.subnets, Clock: r.Clock,
			Policy: r.Policy, Consent: r.Consent, DriftInterval: r.DriftInterval, Calls: r.callsOf,
		},
	}
}

// remembered is what the registrar remembers of bindings, as package beside needs it.
type remembered struct{ registrar *Registrar }

// Of implements beside.Memories.
func (m remembered) Of(binding *v1beta1.TargetGroupBinding) beside.Memory {
	s := m.registrar.passState(binding)
	return beside.Memory{Group: s.group, Claims: s.claims, Status: s.status, Rival: &s.rival, Foreign: s.foreign}
}

// Claims implements beside.Memories.
func (m remembered) Claims(binding *v1beta1.TargetGroupBinding) *claims.Claims {
	known := m.registrar.bindings.find(client.ObjectKeyFromObject(binding))
	if known == nil || known.uid != binding.UID {
		return nil
	}
	return known.claims
}

// Forget implements beside.Memories.
func (m remembered) Forget(key types.NamespacedName) { m.registrar.forget(key) }
