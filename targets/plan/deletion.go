// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/targetgroup"
)

// Removal deregisters everything that is or may be in the group of a binding that is deleted, but for what is foreign. Waits reports
// whether that is not known yet of a target. Without consent only what has a pod, or was registered by this process, goes.
func Removal(in Input) (p Plan, waits bool) {
	p = Plan{
		Foreign: in.Foreign,
		Changes: targetgroup.Changes{Deregister: targetgroup.Deregistrations{}, Unexplained: map[elbv2.Target]struct{}{}},
	}
	judges := !in.Shared && !in.Withheld
	if judges && in.Group.Complete() {
		p.judge(in, true)
	}
	for target := range p.Unexplained {
		_, leaves := p.Deregister[target]
		waits = waits || !leaves
	}
	unknown := p.removeKnown(in)
	return p, waits || judges && unknown
}

// removeKnown deregisters what is this cluster's. Unknown reports whether that is not known of a target: the next reading shows it or does
// not.
func (p *Plan) removeKnown(in Input) (unknown bool) {
	for target, t := range in.Group.Targets {
		if _, judged := p.Unexplained[target]; judged || !in.Mine(target) || !t.MayBeIn() || p.Foreign.Has(target) {
			continue
		}
		switch known := in.isKnown(target, t); {
		case known && t.Leavable():
			p.Deregister[target] = targetgroup.Deregistration{Why: whyDeleted}
		case !known:
			unknown = unknown || !t.UnderWay()
		}
	}
	return unknown
}

// isKnown reports whether a target that may be in the group is this cluster's. One that no reading has shown was registered by us, if
// anybody has.
func (in Input) isKnown(target elbv2.Target, t targetgroup.Target) bool {
	_, explained := in.Endpoints[target]
	neverShown := !t.IsIn() && (t.ReadAt.IsZero() || t.Tried != "")
	return explained || t.Owner != "" || in.Shared || neverShown && !in.Withheld
}

// GoesWith reports whether a target goes with a binding that is deleted, by its Removal.
func (p *Plan) GoesWith(in Input) func(elbv2.Target) bool {
	return func(target elbv2.Target) bool {
		_, explained := in.Endpoints[target]
		mine := in.Mine(target) && !p.Foreign.Has(target)
		return mine && (!in.Withheld || in.Shared || explained || in.Group.Targets[target].Owner != "")
	}
}
