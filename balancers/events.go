// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/frontend"
	"github.com/targetgate/targetgate/balancers/owners"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// Reasons of events. They are the incumbent's. That of warnings is in the words of the front end.
const (
	reasonReconciled      = "SuccessfullyReconciled"
	reasonAddFinalizer    = "FailedAddFinalizer"
	reasonRemoveFinalizer = "FailedRemoveFinalizer"
	reasonUpdateStatus    = "FailedUpdateStatus"
	reasonBuild           = "FailedBuildModel"
	reasonDeploy          = "FailedDeployModel"
)

const (
	action       = "Reconcile"
	buildFailed  = "Failed build model due to %s"
	deployFailed = "Failed deploy model due to %s"
)

// faultPause is when a group with a fault is built again: what it lacks may have come to AWS, such as a certificate.
const faultPause = 10 * time.Second

// notice is what a member is told in a pass.
type notice struct {
	on client.Object
	told
}

// told is what a member was told: not again before it was otherwise.
type told struct {
	uid                types.UID
	kind, reason, note string
}

// teller tells members what they should know.
type teller struct{ *pass }

func (p teller) tell(member client.Object, kind, reason, format string, args ...any) {
	p.notices = append(p.notices, notice{member, told{member.GetUID(), kind, reason, fmt.Sprintf(format, args...)}})
}

func (p teller) warn(member client.Object, reason, format string, args ...any) {
	p.failing = true
	p.tell(member, corev1.EventTypeWarning, reason, format, args...)
}

// warnAll tells all members of the group, also those that are being deleted.
func (p teller) warnAll(reason, format string, args ...any) {
	p.failing = p.failing || len(p.members.Active)+len(p.members.Inactive) > 0
	p.tellAll(reason, format, args...)
}

func (p teller) tellAll(reason, format string, args ...any) {
	for _, member := range p.members.Active {
		p.tell(member.Object, corev1.EventTypeWarning, reason, format, args...)
	}
	for _, member := range p.members.Inactive {
		p.tell(member, corev1.EventTypeWarning, reason, format, args...)
	}
}

// tellEnd tells all members of an error that ended the pass.
func (p teller) tellEnd(errs, err error) error {
	reason := reasonBuild
	if p.built {
		reason = reasonDeploy
	}
	p.warnAll(reason, "Failed to work on group %s due to %s", p.group, awserr.Message(err))
	return errors.Join(errs, err)
}

// tellFaults tells each member what is wrong with it, and no other.
func (p teller) tellFaults() {
	for _, f := range p.faults {
		member := p.member(f.Member)
		switch {
		case member == nil || p.isLeaving(member) || p.unclaimed[member.GetUID()]: // who are told of that
		case f.IsWarning():
			p.tell(member, corev1.EventTypeWarning, p.words().Warning, "%s", f.Error())
		case f.Kind == fault.Refused: // which the pass that it was refused to has told
			p.warn(member, reasonDeploy, deployFailed, f.Reason)
		default:
			p.warn(member, reasonBuild, buildFailed, f.Error())
			p.soon(faultPause)
		}
	}
}

// tellOverflow tells members which of their rules the load balancer has no room for.
func (p teller) tellOverflow() {
	missing := map[string]int{}
	for _, over := range p.overflow {
		missing[over.Rule.Owner]++
	}
	for name, count := range missing {
		if member := p.member(name); member != nil {
			p.warn(member, reasonDeploy, deployFailed,
				fmt.Sprintf("%d rules do not fit into the quota of rules of a load balancer: "+
					"remove rules from the group, or raise the quota in AWS and --load-balancer-rule-quota", count))
		}
	}
}

// patience is how long a target group may take to get healthy before its member is told.
const patience = 3 * time.Minute

// tellWait tells a member whose target group does not take over because it has no healthy target, after a while.
func (p teller) tellWait() {
	part := ""
	for _, wait := range p.result.Waits {
		part = cmp.Or(part, wait.Healthy.Part)
	}
	now := p.Clock.Now()
	since := p.memory.noteWait(part, now)
	member := p.member(owners.OfGroup(stack.Ref{Part: part}, p.wanted, p.seen))
	if now.Sub(since) >= patience && member != nil {
		p.tell(member, corev1.EventTypeWarning, p.words().Warning,
			"target group %s has no healthy target: until it has one, requests are routed as before. To see why, run: "+
				"kubectl targetgate explain ingress %s", part, frontend.NameOf(member))
	}
}

// rulesPatience is how long inbound rules may take to be there before members are told what waits for them. It is well below the default of
// --replacement-timeout.
const rulesPatience = 30 * time.Second

// tellClosed tells members whose targets do not let in yet the security groups that the load balancer is to have, after a while.
func (p teller) tellClosed() {
	isOpen := func(w steps.Wait) bool { return w.Open != (stack.Ref{}) }
	if !slices.ContainsFunc(p.result.Waits, isOpen) || p.Clock.Since(p.memory.closedSince) < rulesPatience {
		return
	}
	for _, binding := range p.seen.OwnBindings() {
		member := p.member(owners.OfGroup(binding.Group, p.wanted, p.seen))
		if member != nil && binding.Awaited != "" {
			p.tell(member, corev1.EventTypeWarning, p.words().Warning, "the load balancer keeps its former security groups until targets of "+
				"binding %s/%s let in the new ones, for --replacement-timeout=%s at most: %s",
				binding.Namespace, binding.Name, p.ReplacementTimeout, binding.Awaited)
		}
	}
}

// setup is for how long AWS may set a load balancer up before members are told: some 5 minutes are usual.
const setup = 10 * time.Minute

// tellInactive tells all members of a load balancer that AWS could not set up, or takes long for.
func (p teller) tellInactive() {
	now := p.Clock.Now()
	for _, s := range p.seen.All() {
		for i := range s.LoadBalancers {
			balancer := &s.LoadBalancers[i]
			left := p.memory.noteInactive(balancer, now).Add(setup).Sub(now)
			switch {
			case balancer.Active:
			case balancer.Failed != "":
				p.soon(apply.FailedPause)
				p.warnAll(reasonDeploy, deployFailed, fmt.Sprintf("load balancer %s, which AWS could not set up: %s (fix that, "+
					"then delete it in AWS: targetgate creates it again)", balancer.Name, balancer.Failed))
			case left > 0:
				p.soon(left)
			default:
				p.tellAll(p.words().Warning, "load balancer %s has not been active for %d minutes, and answers no requests until "+
					"it is: see its state in AWS", balancer.Name, int(setup.Minutes()))
			}
		}
	}
}

// tellRenamed tells all members of a load balancer that replaces another and could not get its name: they may have given it that name.
func (p teller) tellRenamed() {
	for i, wanted := range p.wanted.All() {
		if i >= len(p.seen.All()) || len(wanted.LoadBalancers) == 0 {
			continue
		}
		to, seen := wanted.LoadBalancers[0], p.seen.All()[i].LoadBalancers
		isOld := func(b stack.LoadBalancer) bool { return b.Name == to.Name && b.Scheme != to.Scheme }
		isNew := func(b stack.LoadBalancer) bool { return b.Name == to.SpareName && b.Scheme == to.Scheme }
		free := p.freeName(steps.CreateLoadBalancer{LoadBalancer: to}, steps.Made{})
		if slices.ContainsFunc(seen, func(b stack.LoadBalancer) bool { return b.Name == free }) {
			p.tellAll(p.words().Warning, "load balancer %s could not get the name %s, which a load balancer of somebody else's had, and AWS "+
				"renames none: use %s wherever you refer to it by its name", free, to.Name, free)
		}
		if old := slices.IndexFunc(seen, isOld); old >= 0 && slices.ContainsFunc(seen, isNew) {
			p.tellAll(p.words().Warning, "load balancer %s (%s) replaces %s (%s), as AWS does not change the scheme of a load balancer. It could "+
				"not get the name %s, which the other one has until it is deleted, and AWS renames none: use %s wherever you refer to it "+
				"by its name", to.SpareName, to.Scheme, to.Name, seen[old].Scheme, to.Name, to.SpareName)
		}
	}
}

// tellOthers tells all members of what has the group's tags and is somebody else's.
func (p teller) tellOthers() {
	for _, what := range p.others {
		p.tellAll(p.words().Warning, "%s has the tags of group %s, and targetgate has neither made it nor does it serve an Ingress of "+
			"the group: it is left as it is. Remove its tags %s and %s", what, p.group, stack.ClusterTag, p.id.Kind.StackTag())
	}
}

// tellSuccess tells those whose wishes are fulfilled, if there was something to do and all steps had their turn.
func (p teller) tellSuccess(planned steps.Plan, errs error) {
	r := p.result
	isOver := len(r.Done)+len(r.Failures)+len(r.Later) >= len(planned)
	if errs != nil || p.begun || len(r.Done) == 0 || !isOver {
		return
	}
	failed := map[types.UID]bool{}
	for _, notice := range p.notices {
		failed[notice.uid] = failed[notice.uid] || notice.reason != p.words().Warning
	}
	for _, member := range p.members.Active {
		if !failed[member.UID()] {
			p.tell(member.Object, corev1.EventTypeNormal, reasonReconciled, "Successfully reconciled")
		}
	}
}

// record has the events written that were not written in the pass before.
func (p teller) record() {
	now := map[told]bool{}
	for _, n := range p.notices {
		if !p.memory.told[n.told] && !now[n.told] {
			p.Recorder.Eventf(n.on, nil, n.kind, n.reason, action, "%s", n.note)
		}
		now[n.told] = n.reason != reasonReconciled
	}
	if !p.built || p.result.Interrupted { // what a whole pass would have said again is not over
		maps.Copy(now, p.memory.told)
	}
	p.memory.told = now
}
