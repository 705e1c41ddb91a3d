// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/owners"
)

// lookups find members of a pass, of which there may be thousands. They are made when they are asked for, and dropped when the pass has
// changed what they are made of.
type lookups struct {
	active  map[string]*networkingv1.Ingress // by name
	leaving map[types.UID]bool
	undone  map[string]bool // names of those for whom the load balancer does not do what they ask for
}

// member is the active one of that name, nil for none.
func (p *pass) member(name string) *networkingv1.Ingress {
	if p.lookups.active == nil {
		p.lookups.active = make(map[string]*networkingv1.Ingress, len(p.members.Active))
		for _, member := range p.members.Active {
			p.lookups.active[membership.NameOf(member.Ingress)] = member.Ingress
		}
	}
	return p.lookups.active[name]
}

// isLeaving reports whether another group has the member, which stays here until that one serves it.
func (p *pass) isLeaving(member *networkingv1.Ingress) bool {
	if p.lookups.leaving == nil {
		p.lookups.leaving = make(map[types.UID]bool, len(p.leaving))
		for _, other := range p.leaving {
			p.lookups.leaving[other.UID] = true
		}
	}
	return p.lookups.leaving[member.UID]
}

// isUndone reports whether the load balancer does not do what the member asks for.
func (p *pass) isUndone(member *networkingv1.Ingress) bool {
	if p.lookups.undone == nil {
		p.lookups.undone = map[string]bool{}
		for _, m := range p.wanted.Members {
			if m.Held {
				p.lookups.undone[m.Name] = true
			}
		}
		for _, over := range p.overflow {
			p.lookups.undone[over.Rule.Owner] = true
		}
		for _, failure := range p.result.Failures {
			if !isMereSetting(failure, p.seen) {
				p.lookups.undone[owners.Of(failure, p.wanted, p.seen)] = true
			}
		}
	}
	return p.lookups.undone[membership.NameOf(member)]
}
