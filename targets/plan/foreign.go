// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"time"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Foreign is what passes remember of targets that nothing explains. Its maps are not to be changed.
type Foreign struct {
	fresh bool // no pass has decided about all that was in the group before the binding
	began bool // a pass has judged a reading
	shown bool // readings have shown all that was in the group at first: one may leave a target out

	others  map[elbv2.Target]other // foreign ones
	kin     map[elbv2.Target]bool  // in the group, and a pass has found a pod or node of this cluster there, or an earlier binding's
	first   map[elbv2.Target]bool  // not explained, and shown by the first reading
	early   map[elbv2.Target]bool  // not explained, and in the group at first
	leaving map[elbv2.Target]bool  // to be deregistered as nobody's
	removed map[elbv2.Target]bool  // deregistered as nobody's, by this process
}

// other is a foreign target.
type other struct {
	reason   string
	absentAt time.Time // the first reading of the group that did not show it, zero while readings do
}

// Elsewhere is what the cluster knows of targets that no endpoint of the binding explains.
type Elsewhere struct {
	// InCluster are the IDs of targets that are addresses of this cluster's: a pod has it, or a node, or a node gives it to pods.
	InCluster map[string]bool
	// OtherVPC says that the group is in another VPC than the cluster.
	OtherVPC bool
}

// mostRemoved bounds Foreign.removed.
const mostRemoved = 1000

// HasBegun reports whether a pass has judged a reading.
func (f Foreign) HasBegun() bool { return f.began }

// Count is how many foreign targets there are.
func (f Foreign) Count() int { return len(f.others) }

// Has reports whether the target is foreign.
func (f Foreign) Has(target elbv2.Target) bool { return f.others[target].reason != "" }

// Inherit takes the targets that an earlier binding of the group has had: they are this cluster's.
func (f Foreign) Inherit(ours map[elbv2.Target]bool) Foreign {
	kin := maps.Clone(f.kin)
	if kin == nil {
		kin = map[elbv2.Target]bool{}
	}
	maps.Copy(kin, ours)
	f.kin = kin
	return f
}

// Unexplained are the targets in the group that neither an endpoint explains nor this process has registered, and that are not known to
// be foreign.
func (in Input) Unexplained() (out []elbv2.Target) {
	for target, t := range in.Group.Targets {
		if in.isStranger(target, t) && !in.Foreign.Has(target) {
			out = append(out, target)
		}
	}
	return out
}

// isStranger reports whether the target is in the group, and neither an endpoint explains it nor this process has registered it.
func (in Input) isStranger(target elbv2.Target, t targetgroup.Target) bool {
	_, explained := in.Endpoints[target]
	return !explained && t.IsIn() && t.Owner == "" && !t.UnderWay()
}

// addUnexplained deregisters targets that no pod explains, unless they are foreign. One that we registered ourselves had a pod that is
// gone now; any other must be confirmed by a later reading, as the caches may be behind what an earlier targetgate has seen.
func (p *Plan) addUnexplained(in Input) {
	for target, t := range in.Group.Targets {
		if _, explained := in.Endpoints[target]; !explained && t.Owner != "" && t.IsIn() && !t.UnderWay() && in.Mine(target) {
			p.Deregister[target] = targetgroup.Deregistration{Why: whyPodGone}
		}
	}
	if !in.Withheld { // it may be anybody's
		p.judge(in, false)
	}
}

// judge decides about the targets that are neither explained nor registered by us, and says what the next pass has to know. Removed is for
// a binding that is deleted.
func (p *Plan) judge(in Input, removed bool) {
	j := judgement{Input: in, removed: removed}
	j.ours, j.networkTells = in.network()
	p.Foreign = in.Foreign.next(in)
	late, waiting := p.sortOut(&j)
	p.addLate(late, waiting)
	p.AsksOwner = j.asksOwner
	p.Foreign.shown = in.Foreign.shown || in.Group.ReadAt.Sub(in.Group.FirstReadAt) >= elbv2.OmissionTime
	p.Foreign.fresh = in.Foreign.fresh && (waiting > 0 || !p.Foreign.shown || in.Group.ReadAt.Before(in.Group.NewTill))
	for target := range p.Unexplained {
		if p.Deregister[target].Why == whyUnknown {
			p.Nobodys = append(p.Nobodys, target)
			p.Foreign.leaving[target] = true
		}
	}
	if in.Shared { // by the record: what is not in it becomes foreign when the binding has the group for itself
		p.Foreign = Foreign{fresh: true}
	}
}

// sortOut notes what becomes of each target, but for those that came late and seem to be nobody's, and counts those that wait.
func (p *Plan) sortOut(j *judgement) (late targetgroup.Deregistrations, waiting int) {
	late = targetgroup.Deregistrations{}
	for target, t := range j.Group.Targets {
		if !j.isStranger(target, t) || !j.Mine(target) {
			continue
		}
		p.Unexplained[target] = struct{}{} // until it has gone
		switch v, reason := j.on(target, t); {
		case v == stays:
			p.Foreign.others[target] = other{reason: reason}
			delete(p.Unexplained, target)
		case v == waits:
			waiting++
		case j.Foreign.isLate(target):
			late[target] = targetgroup.Deregistration{Why: reason}
		default:
			p.Deregister[target] = targetgroup.Deregistration{Why: reason}
		}
	}
	return late, waiting
}

// addLate deregisters what came while we looked, and seems to be nobody's: unless what came beside it is somebody's, or may be.
func (p *Plan) addLate(late targetgroup.Deregistrations, waiting int) {
	for target, d := range late {
		switch {
		case len(p.Foreign.others) > 0:
			p.Foreign.others[target] = other{reason: v1beta1.ReasonOtherOwner}
			delete(p.Unexplained, target)
		case waiting == 0:
			p.Deregister[target] = d
		}
	}
}

// next is what is remembered, as far as the targets are still in the group.
func (f Foreign) next(in Input) Foreign {
	out := Foreign{
		fresh: f.fresh, began: true, others: f.stillThere(in), kin: map[elbv2.Target]bool{}, early: map[elbv2.Target]bool{},
		leaving: map[elbv2.Target]bool{}, removed: f.removed, first: f.first,
	}
	for target, t := range in.Group.Targets {
		switch {
		case !t.MayBeIn() || t.Owner != "":
		case in.hasPod(target), f.kin[target]:
			out.kin[target] = true
		case !f.shown || f.early[target]:
			out.early[target] = true
		}
	}
	if !f.began {
		out.first = out.early
	}
	for target := range f.leaving {
		out.follow(target, in.Group.Targets[target])
	}
	return out
}

// follow takes over what has become of a target that was to be deregistered as nobody's.
func (f *Foreign) follow(target elbv2.Target, t targetgroup.Target) {
	switch {
	case t.UnderWay():
		f.leaving[target] = true
	case !t.MayBeIn() && len(f.removed) < mostRemoved:
		f.removed = with(f.removed, target)
	}
}

// with is a copy of the set with one more.
func with(set map[elbv2.Target]bool, more elbv2.Target) map[elbv2.Target]bool {
	out := map[elbv2.Target]bool{more: true}
	maps.Copy(out, set)
	return out
}

// hasPod reports whether a pod or node of this cluster is known at the target, or a slice refers to one there.
func (in Input) hasPod(target elbv2.Target) bool {
	ep, explained := in.Endpoints[target]
	return explained && (ep.UID != "" || ep.Named)
}

// stillThere are the foreign targets that are in the group, or that only one reading has left out.
func (f Foreign) stillThere(in Input) map[elbv2.Target]other {
	out := map[elbv2.Target]other{}
	for target, o := range f.others {
		t, known := in.Group.Targets[target]
		switch {
		case in.hasPod(target):
			continue
		case known && t.IsIn():
			o.absentAt = time.Time{}
		case known && t.Presence == targetgroup.Draining:
			continue
		case o.absentAt.IsZero():
			o.absentAt = in.Group.ReadAt
		case in.Group.ReadAt.Sub(o.absentAt) >= elbv2.OmissionTime:
			continue
		}
		out[target] = o
	}
	return out
}
