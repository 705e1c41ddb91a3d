// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/frontend"
	"github.com/targetgate/targetgate/balancers/owners"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// holdRefused are the active members, those held to whom AWS has refused something: others of their group go on without them, and they
// keep what they have.
func (p *pass) holdRefused() []frontend.Member {
	members := slices.Clone(p.members.Active)
	for i, member := range members {
		if note, left := p.memory.refusalOf(member.Object, p.Frontend.SaysTheSame, p.Clock.Now()); left > 0 && member.Fault == nil {
			members[i].Fault = &fault.Fault{Member: member.Name, Kind: fault.Refused, Reason: note}
			p.soon(left)
		}
	}
	return members
}

// heldSoon is when a pass follows one in which AWS has refused something to a member: the others wait for it.
const heldSoon = time.Second

// tellFailures tells members what has failed: that for which one member is to blame to that one, who is held from now on, all else to
// all. Its error is for what has no member to hold. Nobody is held for a web ACL: others would be served without it.
func (p teller) tellFailures() (errs error) {
	for _, failure := range p.result.Failures {
		what := steps.LogText(failure.Step.Change)
		note := what + ": " + awserr.Message(failure.Err)
		member := p.member(owners.Of(failure, p.wanted, p.seen))
		if _, guards := steps.Guarded(failure.Step.Change); guards && member != nil {
			p.warnAll(reasonDeploy, deployFailed, fmt.Sprintf("%s (asked for by %s)", note, frontend.NameOf(member)))
		} else if member != nil {
			p.warn(member, reasonDeploy, deployFailed, note)
			if isHoldable(failure, p.seen) {
				p.memory.refuse(member, note, p.Clock.Now(), pausesOf(failure.Err))
				p.soon(heldSoon)
				continue
			}
		} else {
			p.warnAll(reasonDeploy, deployFailed, note)
		}
		errs = errors.Join(errs, fmt.Errorf("%s: %w", what, failure.Err))
	}
	return errs
}

// isHoldable reports whether what was asked for is refused, and not for a reason that concerns everybody. Policies may deny it for the tags
// or the resources of one member.
func isHoldable(failure apply.Failure, seen stack.Stack) bool {
	forward := steps.ActionOf(failure.Step.Change).Forward
	return apply.IsRefusal(failure.Err) || awserr.IsDenied(failure.Err) ||
		forward != nil && awserr.HasCode(failure.Err, "TargetGroupNotFound") && slices.ContainsFunc(forward.Groups, func(w stack.Weighted) bool {
			isSeen := func(g stack.TargetGroup) bool { return g.ARN == w.Group.ID }
			return w.Group.ID != "" && !slices.ContainsFunc(seen.TargetGroups, isSeen)
		})
}

// isMereSetting reports whether all that is refused is a setting: the rest was made, and serves without it. A web ACL is more than that.
func isMereSetting(failure apply.Failure, seen stack.Stack) bool {
	_, guards := steps.Guarded(failure.Step.Change)
	return failure.Step.Change.Effect() == steps.Sets && !guards && isHoldable(failure, seen)
}
