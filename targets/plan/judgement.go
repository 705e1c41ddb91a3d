// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// A target that nothing in the cluster explains, and that this process has not registered, is a leftover of ours, or somebody else's. The
// latter stays (foreign). Nobody can ask AWS who has registered a target, so it is judged by what is known:
//
//	a pod or node of this cluster was there, or is           a leftover
//	it is in another network than the cluster                foreign
//	the group's tags name another cluster                    foreign
//	it was there when the binding came                       foreign
//	it came later, and somebody else has targets there       foreign
//	we have deregistered it, and it is back                  foreign
//	the load balancer finds it healthy                       foreign, as it serves somebody
//	the load balancer finds it unhealthy                     a leftover
//
// The first line that holds counts. One that was there when targetgate started may be that of a pod which has ended since: it is taken for
// healthy when the load balancer has had the time to notice. What was found out is in the binding's status.

// verdict is what becomes of a target.
type verdict int

const (
	waits verdict = iota // it is not known yet whose it is
	stays                // it is foreign
	goes                 // it is this cluster's, or nobody's
)

// judgement is what a pass goes by.
type judgement struct {
	Input
	removed      bool // the binding is deleted
	ours         bool // this cluster's targets are outside the group's VPC
	networkTells bool
	asksOwner    bool // the tags are needed, and were not read
}

// on decides about one target: the reason is why it is foreign, or why it goes.
func (j *judgement) on(target elbv2.Target, t targetgroup.Target) (v verdict, reason string) {
	f := j.Foreign
	confirmed := !t.UnexplainedAt.IsZero() && t.ReadAt.After(t.UnexplainedAt)
	switch {
	case f.Has(target):
		return stays, f.others[target].reason
	case !confirmed || f.fresh && t.ReadAt.Before(j.Group.NewTill):
		return waits, ""
	case j.Shared:
		return goes, whyUnknown
	case f.kin[target]:
		return goes, whyPodGone
	case j.Elsewhere.InCluster[target.ID]:
		return goes, whyUnknown
	default:
		return j.bySigns(target, t)
	}
}

// bySigns decides about a target of which the cluster knows nothing.
func (j *judgement) bySigns(target elbv2.Target, t targetgroup.Target) (v verdict, reason string) {
	f, tag := j.Foreign, j.Group.Tag
	switch {
	case j.networkTells && t.Zone != "" && (t.Zone == elbv2.ZoneAll) != j.ours:
		return stays, v1beta1.ReasonOtherNetwork
	case !tag.IsKnown():
		j.asksOwner = true
		return waits, ""
	case tag.Owner != "":
		return stays, v1beta1.ReasonOtherCluster
	case f.fresh && f.first[target]:
		return stays, v1beta1.ReasonRegisteredBefore
	case f.removed[target], f.isLate(target) && j.removed:
		return stays, v1beta1.ReasonOtherOwner
	default:
		return j.byHealth(t, f.isLate(target))
	}
}

// isLate reports whether the target came while this process looked. It is not ours then: we know what we register.
func (f Foreign) isLate(target elbv2.Target) bool { return f.shown && !f.early[target] }

// longestDetection bounds how long a binding that is deleted waits for the load balancer to notice that a target is dead.
const longestDetection = 2 * time.Minute

// byHealth decides by what the load balancer says. Where it says nothing a target gets no requests, and may wait.
func (j *judgement) byHealth(t targetgroup.Target, late bool) (verdict, string) {
	switch state := t.Health.State; {
	case state == elbv2.StateHealthy:
		noticed := targetgroup.DetectionTime(j.Group.Settings)
		if j.removed {
			noticed = min(noticed, longestDetection)
		}
		if !late && t.ReadAt.Sub(t.UnexplainedAt) < noticed {
			return waits, ""
		}
		return stays, v1beta1.ReasonOtherOwner
	case state == elbv2.StateInitial, !j.removed && isUnchecked(t.Health):
		return waits, ""
	default:
		return goes, whyUnknown
	}
}

// isUnchecked reports whether no health check of the target runs, or none that AWS tells of.
func isUnchecked(h elbv2.Health) bool { return h.NotInUse() || h.State == elbv2.StateUnavailable }

// network says whether this cluster's targets are outside the VPC of the group, by the Availability Zones that AWS shows. Where some are
// and some are not, that tells nothing.
func (in Input) network() (outside, tells bool) {
	if in.Nodes {
		return false, false
	}
	some := map[bool]bool{}
	for target, t := range in.Group.Targets {
		if ep, explained := in.Endpoints[target]; explained && ep.UID != "" && t.IsIn() && t.Zone != "" {
			some[t.Zone == elbv2.ZoneAll] = true
		}
	}
	if len(some) == 0 { // where this cluster's would be is known only of a group of another VPC
		return true, in.Elsewhere.OtherVPC
	}
	return some[true], len(some) == 1
}
