// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"

	"github.com/targetgate/targetgate/aws/elbv2"
)

// limit leaves out what would exceed MaxTargets, in an order that does not change from pass to pass.
func (p *Plan) limit(in Input) {
	if in.Policy.MaxTargets == 0 {
		return
	}
	room := in.Policy.MaxTargets
	for _, t := range in.Group.Targets {
		if t.MayBeIn() || t.Registering {
			room--
		}
	}
	var added []elbv2.Target
	for target := range p.Register {
		if !in.Group.Targets[target].MayBeIn() {
			added = append(added, target)
		}
	}
	slices.SortFunc(added, func(a, b elbv2.Target) int { return strings.Compare(a.String(), b.String()) })
	for _, target := range added[min(max(room, 0), len(added)):] {
		delete(p.Register, target)
		p.LeftOut[target] = struct{}{}
	}
	p.makeRoom(in)
}

// makeRoom has as many of the targets go that stay till they are replaced as were left out and find no room when others have gone: those
// may be what they wait for.
func (p *Plan) makeRoom(in Input) {
	missing := len(p.LeftOut)
	var stay []elbv2.Target
	for target, t := range in.Group.Targets {
		d, leaves := p.Deregister[target]
		switch {
		case leaves && d.Stays:
			stay = append(stay, target)
		case t.MayBeIn() && (leaves || t.Deregistering):
			missing--
		}
	}
	slices.SortFunc(stay, p.byDeadline)
	for _, target := range stay[:min(len(stay), max(0, missing))] {
		p.keep(target, false)
	}
}
