// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"maps"
	"sync"

	"github.com/targetgate/targetgate/e2e/emulator/iam"
)

// permissions are the policies of principals, and what of them was used.
type permissions struct {
	mu       sync.Mutex
	policies map[string][]iam.Policy
	used     map[string]map[iam.Grant]bool
}

func newPermissions(policies map[string][]iam.Policy) *permissions {
	p := &permissions{policies: map[string][]iam.Policy{}, used: map[string]map[iam.Grant]bool{}}
	maps.Copy(p.policies, policies)
	return p
}

// SetPolicies has a principal (an access key, or the ARN of a role) do only what these policies allow. With none, it may do
// everything again.
func (s *Server) SetPolicies(principal string, policies ...iam.Policy) {
	p := s.permissions
	p.mu.Lock()
	defer p.mu.Unlock()
	p.policies[principal] = policies
}

// UnusedGrants are those of a principal's policies that no call has needed, in their order. Of several that allow the same
// call, only the first counts as needed.
func (s *Server) UnusedGrants(principal string) []iam.Grant {
	p := s.permissions
	p.mu.Lock()
	defer p.mu.Unlock()
	var unused []iam.Grant
	for _, policy := range p.policies[principal] {
		for _, grant := range policy.Grants() {
			if !p.used[principal][grant] {
				unused = append(unused, grant)
			}
		}
	}
	return unused
}

// evaluate decides by a principal's policies, and remembers what was used.
func (p *permissions) evaluate(principal string, call iam.Call) iam.Decision {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.policies[principal]) == 0 {
		return iam.Decision{Allowed: true}
	}
	decision := iam.Evaluate(p.policies[principal], call)
	if decision.Allowed {
		if p.used[principal] == nil {
			p.used[principal] = map[iam.Grant]bool{}
		}
		p.used[principal][decision.Grant] = true
	}
	return decision
}

// authorize refuses what the caller's policies do not allow, by the first resource or action that they do not.
func (s *Server) authorize(q *request) error {
	for _, action := range q.Service.Permissions(&q.Request) {
		for _, resource := range q.Service.Resources(&q.Request) {
			if err := s.permit(q, action, resource, q.Keys(resource)); err != nil {
				return err
			}
		}
	}
	if q.Service.Further == nil {
		return nil
	}
	return q.Service.Further(&q.Request)
}

// permit refuses an action on a resource that the caller's policies do not allow.
func (s *Server) permit(q *request, action, resource string, keys map[string]string) error {
	decision := s.permissions.evaluate(q.Caller.Name, iam.Call{Action: action, Resource: resource, Context: keys})
	if decision.Allowed {
		return nil
	}
	q.log.Unauthorized, q.log.Resource = true, resource
	return q.Service.Denied(&q.Request, action, resource, decision.Denied)
}
