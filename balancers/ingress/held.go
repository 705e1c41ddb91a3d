// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"slices"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/reading"
)

// isHeld reports whether a member is held.
func (d *draft) isHeld(r *reading.Reading) bool {
	_, conflict := d.conflicts[r]
	return conflict || r.IsHeld()
}

// heldPorts are those of held members. One whose ports are not known may have any.
type heldPorts struct {
	mayBeAny bool
	ports    map[int32]bool
}

func (h *heldPorts) addPorts(r *reading.Reading) {
	if h.mayBeAny = h.mayBeAny || r.Ports == nil; h.ports == nil {
		h.ports = map[int32]bool{}
	}
	for port := range r.Ports {
		h.ports[port] = true
	}
}

// heldOn reports whether a held member has, or may have, a listener on the port.
func (h *heldPorts) heldOn(port int32) bool { return h.mayBeAny || h.ports[port] }

// keep has settings stay as they are seen of which held members alone speak, or may speak.
func (d *draft) keep() {
	for setting, vote := range d.seen {
		if _, ok := d.Votes[setting]; ok || setting == annotation.Subnets.Name || setting == annotation.LoadBalancerNameKey.Name {
			continue
		}
		if slices.ContainsFunc(d.held, func(r *reading.Reading) bool { return r.MaySay(setting) }) {
			d.Votes[setting] = vote
		}
	}
}
