// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/targetgate/targetgate/e2e/emulator/iam"
	"github.com/targetgate/targetgate/e2e/emulator/state"
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
	for _, action := range q.service.permissions(q) {
		for _, resource := range q.service.resources(s, q) {
			if err := s.permit(q, action, resource, s.conditionKeys(q, resource)); err != nil {
				return err
			}
		}
	}
	if q.service.further == nil {
		return nil
	}
	return q.service.further(s, q)
}

// permit refuses an action on a resource that the caller's policies do not allow.
func (s *Server) permit(q *request, action, resource string, keys map[string]string) error {
	decision := s.permissions.evaluate(q.caller.name, iam.Call{Action: action, Resource: resource, Context: keys})
	if decision.Allowed {
		return nil
	}
	q.log.Unauthorized, q.log.Resource = true, resource
	return q.service.denied(q, action, resource, decision.Denied)
}

// ownPermission is that of the operation's name.
func ownPermission(q *request) []string { return []string{q.service.prefix + ":" + q.operation} }

// stsPermissions are none for GetCallerIdentity, which everybody may call.
func stsPermissions(q *request) []string {
	switch {
	case q.operation != "AssumeRole":
		return nil
	case len(q.list("Tags.member")) > 0:
		return []string{"sts:AssumeRole", "sts:TagSession"}
	}
	return []string{"sts:AssumeRole"}
}

func stsResources(_ *Server, q *request) []string { return []string{q.text("RoleArn")} }

// conditionKeys are what conditions may ask about: the tags of the resource and those in the call.
func (s *Server) conditionKeys(q *request, resource string) map[string]string {
	keys := map[string]string{}
	for key, value := range s.resourceTags(q, resource) {
		keys["aws:ResourceTag/"+key] = value
	}
	for key, value := range q.requestTags() {
		keys["aws:RequestTag/"+key] = value
	}
	if action := q.text("ChangeAction"); q.service.prefix == route53Prefix && action != "" {
		keys["route53:changeresourcerecordsetsactions"] = action
		keys["route53:changeresourcerecordsetsrecordtypes"] = q.text("RecordType")
	}
	return keys
}

// requestTags are those of a call; what is wrong with them is answered by the operation.
func (q *request) requestTags() map[string]string {
	switch q.service.prefix {
	case ec2Prefix:
		tags, _ := q.ec2Tags()
		return tags
	case acmService.prefix:
		return q.certificateTags()
	}
	tags, _ := q.tagParams()
	return tags
}

// resourceTags are the tags of what an ARN names, none of what has none here.
func (s *Server) resourceTags(q *request, arn string) map[string]string {
	if strings.HasPrefix(arn, "arn:aws:ec2:") {
		return s.machine.ResourceTags(q.caller.account, arn[strings.LastIndex(arn, "/")+1:])
	}
	tags, _ := s.machine.Tags(arn) // what is not there has no tags
	return tags
}

// because is the end of AWS's texts.
func because(action string, explicit bool) string {
	if explicit {
		return " with an explicit deny in an identity-based policy"
	}
	return " because no identity-based policy allows the " + action + " action"
}

func accessDenied(q *request, action, resource string, explicit bool) error {
	on := ""
	if resource != "*" {
		on = " on resource: " + resource
	}
	return state.Refuse("AccessDenied", "User: %s is not authorized to perform: %s%s%s", q.caller.arn, action, on, because(action, explicit))
}

// unauthorized has a part that is different for each call, as EC2's does.
func unauthorized(q *request, action, resource string, explicit bool) error {
	denied := asError(accessDenied(q, action, resource, explicit))
	encoded := base64.RawURLEncoding.EncodeToString(slices.Repeat([]byte(q.log.RequestID), 12))
	return state.Refuse("UnauthorizedOperation",
		"You are not authorized to perform this operation. %s. Encoded authorization failure message: %s", denied.Message, encoded)
}
