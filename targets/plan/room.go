// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/targetgroup"
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
	slices.SortFunc(added, byName)
	for _, target := range added[min(max(room, 0), len(added)):] {
		delete(p.Register, target)
		p.LeftOut[target] = struct{}{}
	}
	p.makeRoom(in)
}

func byName(a, b elbv2.Target) int { return strings.Compare(a.String(), b.String()) }

// noRoom is how many targets were left out and find no room when others have gone.
func (p *Plan) noRoom(in Input) int {
	missing := len(p.LeftOut)
	for target, t := range in.Group.Targets {
		d, leaves := p.Deregister[target]
		if t.MayBeIn() && (leaves && !d.Stays || t.Deregistering) {
			missing--
		}
	}
	return max(0, missing)
}

// makeRoom has as many of the targets go that stay till they are replaced as were left out and find no room when others have gone: those
// may be what they wait for.
func (p *Plan) makeRoom(in Input) {
	var stay []elbv2.Target
	for target, d := range p.Deregister {
		if d.Stays {
			stay = append(stay, target)
		}
	}
	slices.SortFunc(stay, p.byDeadline)
	for _, target := range stay[:min(len(stay), p.noRoom(in))] {
		p.keep(target, false)
	}
}

// roomMakers are those of the targets, which wait for others to serve, that go before to make room for them: first those that the load
// balancer does not send to, and then as many as are not needed for half of what is wanted in the group. So a full group is replaced step
// by step, as the new ones become healthy. Nodes that others are to replace make no room.
func (p *Plan) roomMakers(in Input, targets map[elbv2.Target]endpoints.Endpoint, others replacements) map[elbv2.Target]bool {
	missing := p.noRoom(in)
	if missing == 0 {
		return nil
	}
	var idle, busy []elbv2.Target
	for target, ep := range targets {
		switch {
		case in.toReplace(ep):
		case others.mayServe(in.Group.Targets[target]):
			busy = append(busy, target)
		default:
			idle = append(idle, target)
		}
	}
	slices.SortFunc(idle, byName)
	slices.SortFunc(busy, byName)
	ready, wanted, serving := p.countServing(in, others)
	places := ready - missing + len(targets) // of the group: other targets leave none
	needed := (min(wanted, places) + 1) / 2
	goes := append(idle, busy[:min(len(busy), max(0, serving-needed))]...)
	out := map[elbv2.Target]bool{}
	for _, target := range goes[:min(len(goes), missing)] {
		out[target] = true
	}
	return out
}

// countServing is how many targets are ready to be in the group, how many are wanted there with those that are not ready yet, and how many
// of the ready ones, and of those that wait for others, stay and were found to serve by a reading since these wait.
func (p *Plan) countServing(in Input, others replacements) (ready, wanted, serving int) {
	for target, ep := range in.Endpoints {
		t, health := in.Group.Targets[target], elbv2.Health{}
		_, leaves := p.Deregister[target]
		switch {
		case ep.State == endpoints.Desired:
			ready++
			wanted++
			health = t.HealthOf(ep.UID)
		case ep.State == endpoints.NotReady, ep.State == endpoints.Undetermined:
			wanted++
		case ep.State == endpoints.Unselected && t.Presence == targetgroup.Registered:
			health = t.Health
		}
		stays := !leaves && !t.Deregistering && !ep.NodeLeaves
		if stays && others.serves(health.State) && !t.ReadAt.Before(others.since) {
			serving++
		}
	}
	return ready, wanted, serving
}

// serves reports whether the load balancer sends to targets in that state.
func (r replacements) serves(state elbv2.State) bool {
	return state == elbv2.StateHealthy || r.failsOpen && state == elbv2.StateUnhealthy
}
