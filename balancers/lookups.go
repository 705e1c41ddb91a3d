// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers/frontend"
	"github.com/targetgate/targetgate/balancers/owners"
)

// lookups find members of a pass, of which there may be thousands. They are made when they are asked for, and dropped when the pass has
// changed what they are made of.
type lookups struct {
	active  map[string]client.Object // by name
	leaving map[types.UID]bool
	undone  map[string]bool // names of those for whom the load balancer does not do what they ask for
}

// member is the active one of that name, nil for none.
func (p *pass) member(name string) client.Object {
	if p.lookups.active == nil {
		p.lookups.active = make(map[string]client.Object, len(p.members.Active))
		for _, member := range p.members.Active {
			p.lookups.active[member.Name] = member.Object
		}
	}
	return p.lookups.active[name]
}

// isLeaving reports whether another group has the member, which stays here until that one serves it.
func (p *pass) isLeaving(member client.Object) bool {
	if p.lookups.leaving == nil {
		p.lookups.leaving = make(map[types.UID]bool, len(p.members.Leaving))
		for _, other := range p.members.Leaving {
			p.lookups.leaving[other.GetUID()] = true
		}
	}
	return p.lookups.leaving[member.GetUID()]
}

// isUndone reports whether the load balancer does not do what the member asks for.
func (p *pass) isUndone(member client.Object) bool {
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
	return p.lookups.undone[frontend.NameOf(member)]
}
