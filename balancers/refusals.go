// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/ingress/reading"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// holdRefused are the active members, those held to whom AWS has refused something: others of their group go on without them, and they
// keep what they have.
func (p *pass) holdRefused() []membership.Member {
	members := slices.Clone(p.members.Active)
	for i, member := range members {
		if note, left := p.memory.refusalOf(member.Ingress, p.Clock.Now()); left > 0 && member.Fault == nil {
			members[i].Fault = &annotation.Fault{Member: nameOf(member.Ingress), Reason: refused + note}
			p.soon(left)
		}
	}
	return members
}

// refused begins the fault of a member that is held because of AWS.
const refused = "AWS has refused it: "

// heldSoon is when a pass follows one in which AWS has refused something to a member: the others wait for it.
const heldSoon = time.Second

// tellFailures tells members what has failed: that for which one member is to blame to that one, who is held from now on, all else to
// all. Its error is for what has no member to hold.
func (p *pass) tellFailures() (errs error) {
	for _, failure := range p.result.Failures {
		note := fmt.Sprintf("%s: %s", failure.Step, awserr.Message(failure.Err))
		if member := p.member(ownerOf(failure, p.wanted, p.seen)); member != nil {
			teller{p}.warn(member, reasonDeploy, deployFailed, note)
			if isHoldable(failure, p.seen) {
				p.memory.refuse(member, note, p.Clock.Now())
				p.soon(heldSoon)
				continue
			}
		} else {
			teller{p}.warnAll(reasonDeploy, deployFailed, note)
		}
		errs = join(errs, fmt.Errorf("%s: %w", failure.Step, failure.Err))
	}
	return errs
}

// isHoldable reports whether what was asked for is refused, and not for a reason that concerns everybody.
func isHoldable(failure apply.Failure, seen stack.Stack) bool {
	forward := steps.ActionOf(failure.Step.Change).Forward
	return apply.IsRefusal(failure.Err) || forward != nil && slices.ContainsFunc(forward.Groups, func(w stack.Weighted) bool {
		isSeen := func(g stack.TargetGroup) bool { return g.ARN == w.Group.ID }
		isOthers := w.Group.ID != "" && !slices.ContainsFunc(seen.TargetGroups, isSeen)
		return isOthers && (awserr.HasCode(failure.Err, "TargetGroupNotFound") ||
			awserr.IsPermission(failure.Err) && strings.Contains(failure.Err.Error(), w.Group.ID))
	})
}

func (p *pass) member(name string) *networkingv1.Ingress {
	for _, member := range p.members.Active {
		if nameOf(member.Ingress) == name {
			return member.Ingress
		}
	}
	return nil
}

// ownerOf is the name of the member that wants what has failed, "" when it is not that of one alone.
func ownerOf(failure apply.Failure, wanted, seen stack.Stack) string {
	switch c := failure.Step.Change.(type) {
	case steps.CreateTargetGroup:
		return c.Group.Owner
	case steps.SetHealthCheck:
		return ownerOfGroup(c.Group, wanted, seen)
	case steps.SetTargetGroupAttributes:
		return ownerOfGroup(c.Group, wanted, seen)
	case steps.CreateBinding:
		return ownerOfGroup(c.Binding.Group, wanted, seen)
	case steps.UpdateBinding:
		return ownerOfGroup(c.Binding.Group, wanted, seen)
	}
	return cmp.Or(ownerOfAccess(failure, wanted), ownerOfRoute(failure, wanted))
}

// ownerOfRoute is ownerOf what is in a listener.
func ownerOfRoute(failure apply.Failure, wanted stack.Stack) string {
	switch c := failure.Step.Change.(type) {
	case steps.CreateListener:
		return ownerOfListener(c.Listener.Port, failure.Err, wanted)
	case steps.ModifyListener:
		return ownerOfListener(c.To.Port, failure.Err, wanted)
	case steps.AddCertificate:
		return ownerOfCertificate(c.Certificate, wanted)
	case steps.CreateRule:
		return c.Rule.Owner
	case steps.ModifyRule:
		return c.To.Owner
	}
	return ""
}

// ownerOfAccess is ownerOf who may send to the load balancer.
func ownerOfAccess(failure apply.Failure, wanted stack.Stack) string {
	switch c := failure.Step.Change.(type) {
	case steps.Authorize:
		return ownerOfInbound(c.Rules, failure.Err, wanted)
	case steps.CreateLoadBalancer:
		if awserr.HasCode(failure.Err, "InvalidSecurityGroup") {
			return ownerOfSecurityGroups(c.LoadBalancer.Part(), wanted)
		}
	case steps.SetSecurityGroups:
		return ownerOfSecurityGroups(c.LoadBalancer.Part, wanted)
	}
	return ""
}

// ownerOfSecurityGroups is the name of the member that names those of the load balancer, or of what stands in front of it.
func ownerOfSecurityGroups(part string, wanted stack.Stack) string {
	if part == stack.FrontPart {
		return cmp.Or(wanted.Voters[annotation.FrontSecurityGroups.Name], wanted.Voters[annotation.SecurityGroups.Name])
	}
	return wanted.Voters[annotation.SecurityGroups.Name]
}

// ownerOfInbound is the name of the member that wants the source which AWS names, else of the only one that wants any of these.
func ownerOfInbound(rules []stack.Inbound, err error, wanted stack.Stack) (owner string) {
	for i, rule := range rules {
		setting := annotation.InboundCIDRs.Name
		if strings.HasPrefix(rule.Source, "pl-") {
			setting = annotation.PrefixLists.Name
		}
		voter := wanted.Voters[reading.OfPort(setting, rule.From)]
		switch {
		case strings.Contains(err.Error(), "'"+rule.Source+"'"):
			return voter
		case i > 0 && voter != owner:
			return ""
		}
		owner = voter
	}
	return owner
}

// ownerOfCertificate is the name of the first member that wants the certificate.
func ownerOfCertificate(certificate string, wanted stack.Stack) string {
	for _, listener := range wantedListeners(wanted) {
		if owner := listener.Owners[certificate]; owner != "" {
			return owner
		}
	}
	return ""
}

// ownerOfListener is the name of the member that wants what AWS names, else of the only one that has rules there.
func ownerOfListener(port int32, err error, wanted stack.Stack) (owner string) {
	all := wantedListeners(wanted)
	i := slices.IndexFunc(all, func(l stack.Listener) bool { return l.Port == port })
	if i < 0 {
		return ""
	}
	listener := all[i]
	switch {
	case awserr.HasCode(err, "CertificateNotFound", "UnsupportedCertificate") && len(listener.Certificates) > 0:
		return listener.Owners[listener.Certificates[0]]
	case awserr.HasCode(err, "SSLPolicyNotFound"):
		owner = wanted.Voters[reading.OfPort(annotation.SSLPolicy.Name, port)]
	case awserr.HasCode(err, "TrustStoreNotFound", "TrustStoreNotReady"):
		owner = wanted.Voters[reading.OfPort(annotation.MutualAuthentication.Name, port)]
	case awserr.HasCode(err, "TargetGroupNotFound"):
		owner = listener.DefaultOwner
	}
	return cmp.Or(owner, onlyOwner(listener.Rules))
}

// onlyOwner is the name of the member that all these rules are of, "" for none.
func onlyOwner(rules []stack.Rule) (owner string) {
	for _, rule := range rules {
		if owner != "" && owner != rule.Owner {
			return ""
		}
		owner = rule.Owner
	}
	return owner
}

func wantedListeners(wanted stack.Stack) (out []stack.Listener) {
	for _, balancer := range wanted.LoadBalancers {
		out = append(out, balancer.Listeners...)
	}
	return out
}

// ownerOfGroup is the name of the member that wants the target group.
func ownerOfGroup(ref stack.Ref, wanted, seen stack.Stack) string {
	part := ref.Part
	for _, group := range seen.TargetGroups {
		if ref.ID != "" && group.ARN == ref.ID {
			part = group.Part
		}
	}
	for _, group := range wanted.TargetGroups {
		if part != "" && group.Part == part {
			return group.Owner
		}
	}
	return ""
}
