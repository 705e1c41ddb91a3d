// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"context"
	"slices"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/balancers/stack"
)

// keepCertificates requests the certificates that members ask for, and deletes the group's others once no listener has them. What fails
// concerns the member that asks for it; it is tried again when the member is built again, as it is held until then.
func (p *pass) keepCertificates(ctx context.Context) error {
	if p.Issuer == nil || !p.built {
		return nil
	}
	kept := p.Issuer.Keep(ctx, p.id, p.wanted.Certificates, p.uses)
	for member, err := range kept.Failures {
		if of := p.member(member); of != nil {
			teller{p}.warn(of, reasonDeploy, deployFailed, awserr.Message(err))
		}
	}
	for arn, err := range kept.InUse {
		p.lingering["delete certificate "+arn] = err
	}
	return kept.Err
}

// uses reports whether a listener has the certificate, or may have it, as listeners were not read.
func (p *pass) uses(arn string) bool {
	return !p.hasMembers() && hasLoadBalancer(&p.seen) || slices.ContainsFunc(p.seen.All(), func(s *stack.Stack) bool {
		return slices.ContainsFunc(s.LoadBalancers, func(b stack.LoadBalancer) bool {
			return slices.ContainsFunc(b.Listeners, func(l stack.Listener) bool { return slices.Contains(l.Certificates, arn) })
		})
	})
}
