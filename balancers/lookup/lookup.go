// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"errors"
	"time"

	"github.com/targetgate/targetgate/aws/acm"
	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/wafclassic"
	"github.com/targetgate/targetgate/balancers/account"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/issue"
	"github.com/targetgate/targetgate/balancers/stack"
)

var errSlow = errors.New("AWS takes long to answer for all names of the group")

// Lookup answers what groups need to know of the account.
type Lookup struct {
	Network      *account.Network
	Certificates *account.Issued
	// Issuer is nil when certificates are issued for nobody.
	Issuer *issue.Issuer
}

// Lookup has the answers to what a group needs. That subnets, certificates, or what users name, are not known is no error: it concerns the
// members that need them alone.
func (l *Lookup) Lookup(ctx context.Context, id stack.ID, needs input.Needs) (out input.AWS, err error) {
	if needs.Subnets {
		l.subnets(ctx, &out)
	}
	if len(needs.Hosts) > 0 {
		l.certificates(ctx, &out)
	}
	if needs.Own && l.Issuer != nil {
		l.own(ctx, id, &out)
	}
	within, cancel := context.WithTimeoutCause(ctx, namesTime, errSlow)
	defer cancel()
	l.securityGroups(within, needs.SecurityGroups, &out)
	l.guards(within, needs, &out)
	out.TargetGroups = arns(l.Network.TargetGroupsNamed(within, needs.TargetGroups))
	out.TrustStores = arns(l.Network.TrustStoresNamed(within, needs.TrustStores))
	return out, ctx.Err()
}

// securityGroups are those of these names. Those that could not be looked up concern those who name them alone.
func (l *Lookup) securityGroups(ctx context.Context, names []string, out *input.AWS) {
	answers := l.Network.SecurityGroupsNamed(ctx, names)
	out.SecurityGroups, out.NoSecurityGroups = answers.Found, map[string]string{}
	for name, err := range answers.Failed {
		out.SecurityGroups[name], out.NoSecurityGroups[name] = nil, awserr.Message(err)
	}
}

// namesTime is for how long a pass waits for the names that its group looks up: after it they are not known. Whoever is asked goes on, so
// that a later pass finds the answer.
const namesTime = 20 * time.Second

// arns are those of what users name.
func arns(answers account.Answers[string]) map[string]input.Named {
	out := map[string]input.Named{}
	for name, arn := range answers.Found {
		out[name] = input.Named{ARN: arn}
	}
	for name, err := range answers.Failed {
		out[name] = input.Named{Reason: awserr.Message(err)}
	}
	return out
}

// guards finds out what can guard load balancers.
func (l *Lookup) guards(ctx context.Context, needs input.Needs, out *input.AWS) {
	if needs.Shield && l.Network.Shield != nil {
		out.NoShield = noShield(l.Network.ShieldSubscribed(ctx))
	}
	if l.Network.WAFClassic != nil {
		out.ClassicACLs, out.NoClassicACLs = l.classicACLs(ctx, needs.ClassicACLs)
	}
	out.WebACLs = named(ctx, needs.WebACLs, l.Network.WebACL)
}

func noShield(subscribed bool, err error) string {
	switch {
	case err != nil:
		return "the subscription to AWS Shield Advanced could not be read: " + awserr.Message(err)
	case !subscribed:
		return "the account has no subscription to AWS Shield Advanced"
	}
	return ""
}

// classicACLs are those of AWS WAF Classic that have the IDs, or why there can be none.
func (l *Lookup) classicACLs(ctx context.Context, ids []string) (found map[string]input.Named, none string) {
	absent := false
	found = named(ctx, ids, func(ctx context.Context, id string) (string, error) {
		id, err := l.Network.ClassicACL(ctx, id)
		absent = absent || errors.Is(err, wafclassic.ErrNoService)
		return id, err
	})
	if absent {
		return nil, wafclassic.ErrNoService.Error()
	}
	return found, ""
}

// named looks up what users name. What could not be looked up concerns those who name it alone.
func named(ctx context.Context, names []string, find func(context.Context, string) (string, error)) map[string]input.Named {
	out := map[string]input.Named{}
	for _, name := range names {
		arn, err := find(ctx, name)
		if out[name] = (input.Named{ARN: arn}); err != nil {
			out[name] = input.Named{Reason: awserr.Message(err)}
		}
	}
	return out
}

func (l *Lookup) subnets(ctx context.Context, out *input.AWS) {
	subnets, err := l.Network.Subnets(ctx)
	if err != nil {
		out.NoSubnets = awserr.Message(err)
	}
	for _, subnet := range subnets {
		out.Subnets = append(out.Subnets, input.Subnet(subnet))
	}
}

func (l *Lookup) certificates(ctx context.Context, out *input.AWS) {
	issued, err := l.Certificates.Certificates(ctx)
	var marked map[string]bool
	if err == nil && l.Issuer != nil {
		marked, err = l.Issuer.Marked(ctx)
	}
	if err != nil {
		out.NoCertificates = awserr.Message(err)
		return
	}
	for _, c := range issued {
		if !marked[c.ARN] { // whoever asked for it deletes it
			out.Certificates = append(out.Certificates, certificate(c))
		}
	}
}

func certificate(c acm.Certificate) input.Certificate {
	return input.Certificate{ARN: c.ARN, Domains: c.Domains, CA: c.CA, NotAfter: c.NotAfter}
}

func (l *Lookup) own(ctx context.Context, id stack.ID, out *input.AWS) {
	own, err := l.Issuer.Of(ctx, id)
	if err != nil {
		out.NoOwn = awserr.Message(err)
	}
	for _, c := range own {
		out.Own = append(out.Own, input.OwnCertificate{Certificate: certificate(c), Waiting: issue.Waiting(c)})
	}
}
