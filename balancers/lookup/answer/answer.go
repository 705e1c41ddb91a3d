// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package answer answers what groups need to know of the AWS account before their stacks are built: the questions and answers of package
// lookup. It asks a reader of package account, or package issue for certificates that ACM was asked for, and decides nothing.
package answer

import (
	"context"
	"errors"
	"time"

	"github.com/targetgate/targetgate/aws/acm"
	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/wafclassic"
	"github.com/targetgate/targetgate/balancers/account"
	"github.com/targetgate/targetgate/balancers/issue"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
)

var errSlow = errors.New("AWS takes long to answer for all names of the group")

// Answerer answers what groups need to know of the account.
type Answerer struct {
	Network      *account.Network
	Certificates *account.Issued
	// Issuer is nil when certificates are issued for nobody.
	Issuer *issue.Issuer
}

// Answer has the answers to what a group needs. That subnets, certificates, or what users name, are not known is no error: it concerns the
// members that need them alone.
func (a *Answerer) Answer(ctx context.Context, id stack.ID, needs lookup.Needs) (out lookup.Answers, err error) {
	if needs.Subnets {
		a.subnets(ctx, &out)
	}
	if len(needs.Hosts) > 0 {
		a.certificates(ctx, &out)
	}
	if needs.Own && a.Issuer != nil {
		a.own(ctx, id, &out)
	}
	within, cancel := context.WithTimeoutCause(ctx, namesTime, errSlow)
	defer cancel()
	a.securityGroups(within, needs.SecurityGroups, &out)
	a.guards(within, needs, &out)
	out.TargetGroups = arns(a.Network.TargetGroupsNamed(within, needs.TargetGroups))
	out.TrustStores = arns(a.Network.TrustStoresNamed(within, needs.TrustStores))
	a.owners(within, needs, &out)
	return out, ctx.Err()
}

// securityGroups are those of these names. Those that could not be looked up concern those who name them alone.
func (a *Answerer) securityGroups(ctx context.Context, names []string, out *lookup.Answers) {
	answers := a.Network.SecurityGroupsNamed(ctx, names)
	out.SecurityGroups, out.NoSecurityGroups = answers.Found, map[string]string{}
	for name, err := range answers.Failed {
		out.SecurityGroups[name], out.NoSecurityGroups[name] = nil, awserr.Message(err)
	}
}

// owners are the tags of target groups by which their owners consent.
func (a *Answerer) owners(ctx context.Context, needs lookup.Needs, out *lookup.Answers) {
	asked := needs.Owned
	for _, found := range out.TargetGroups {
		if needs.Owners && found.ARN != "" {
			asked = append(asked, found.ARN)
		}
	}
	answers := a.Network.TargetGroupTags(ctx, lookup.Unique(asked))
	out.Owned = map[string]lookup.Owned{}
	for arn, tags := range answers.Found {
		out.Owned[arn] = lookup.Owned{Tags: tags}
	}
	for arn, err := range answers.Failed {
		out.Owned[arn] = lookup.Owned{Reason: awserr.Message(err)}
	}
}

// namesTime is for how long a pass waits for the names that its group looks up: after it they are not known. Whoever is asked goes on, so
// that a later pass finds the answer.
const namesTime = 20 * time.Second

// arns are those of what users name.
func arns(answers account.Answers[string]) map[string]lookup.Named {
	out := map[string]lookup.Named{}
	for name, arn := range answers.Found {
		out[name] = lookup.Named{ARN: arn}
	}
	for name, err := range answers.Failed {
		out[name] = lookup.Named{Reason: awserr.Message(err)}
	}
	return out
}

// guards finds out what can guard load balancers.
func (a *Answerer) guards(ctx context.Context, needs lookup.Needs, out *lookup.Answers) {
	if needs.Shield && a.Network.Shield != nil {
		out.NoShield = noShield(a.Network.ShieldSubscribed(ctx))
	}
	if a.Network.WAFClassic != nil {
		out.ClassicACLs, out.NoClassicACLs = a.classicACLs(ctx, needs.ClassicACLs)
	}
	out.WebACLs = named(ctx, needs.WebACLs, a.Network.WebACL)
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
func (a *Answerer) classicACLs(ctx context.Context, ids []string) (found map[string]lookup.Named, none string) {
	absent := false
	found = named(ctx, ids, func(ctx context.Context, id string) (string, error) {
		id, err := a.Network.ClassicACL(ctx, id)
		absent = absent || errors.Is(err, wafclassic.ErrNoService)
		return id, err
	})
	if absent {
		return nil, wafclassic.ErrNoService.Error()
	}
	return found, ""
}

// named looks up what users name. What could not be looked up concerns those who name it alone.
func named(ctx context.Context, names []string, find func(context.Context, string) (string, error)) map[string]lookup.Named {
	out := map[string]lookup.Named{}
	for _, name := range names {
		arn, err := find(ctx, name)
		if out[name] = (lookup.Named{ARN: arn}); err != nil {
			out[name] = lookup.Named{Reason: awserr.Message(err)}
		}
	}
	return out
}

func (a *Answerer) subnets(ctx context.Context, out *lookup.Answers) {
	subnets, err := a.Network.Subnets(ctx)
	if err != nil {
		out.NoSubnets = awserr.Message(err)
	}
	for _, subnet := range subnets {
		out.Subnets = append(out.Subnets, lookup.Subnet(subnet))
	}
}

func (a *Answerer) certificates(ctx context.Context, out *lookup.Answers) {
	issued, err := a.Certificates.Certificates(ctx)
	var marked map[string]bool
	if err == nil && a.Issuer != nil {
		marked, err = a.Issuer.Marked(ctx)
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

func certificate(c acm.Certificate) lookup.Certificate {
	return lookup.Certificate{ARN: c.ARN, Domains: c.Domains, CA: c.CA, NotAfter: c.NotAfter}
}

func (a *Answerer) own(ctx context.Context, id stack.ID, out *lookup.Answers) {
	own, err := a.Issuer.Of(ctx, id)
	if err != nil {
		out.NoOwn = awserr.Message(err)
	}
	for _, c := range own {
		out.Own = append(out.Own, lookup.OwnCertificate{Certificate: certificate(c), Waiting: issue.Waiting(c)})
	}
}
