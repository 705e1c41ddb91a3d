// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"cmp"
	"slices"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

var wafService = service{
	version:     "AWSWAF_20190729",
	prefix:      "wafv2",
	contentType: jsonContentType,
	permissions: ownPermission,
	resources:   wafResources,
	further:     wafOnBalancer,
	denied:      accessDenied,
	bucket:      wafBucket,
	overload:    state.Error{Code: "ThrottlingException", Message: "Rate exceeded"},
	answer:      jsonAnswer,
	refusal:     jsonRefusal,
	actions: map[string]action{
		"AssociateWebACL":      only(associateWebACL, "WebACLArn", "ResourceArn"),
		"DisassociateWebACL":   only(disassociateWebACL, "ResourceArn"),
		"GetWebACLForResource": only(getWebACLForResource, "ResourceArn"),
		"GetWebACL":            only(getWebACL, "ARN", "Id", "Name", "Scope"),
		"ListWebACLs":          only(listWebACLs, "Scope", "Limit", "NextMarker"),
	},
}

func wafBucket(limits Limits, q *request) (kind string, limit Limit) {
	kind = q.service.prefix + " " + q.operation
	switch q.operation {
	case "AssociateWebACL", "DisassociateWebACL":
		return kind, limits.WAFAssociate
	case "GetWebACLForResource":
		return kind, limits.WAFLookup
	}
	return kind, limits.WAFRead
}

// wafOnBalancer has a change of a load balancer's Web ACL need the load balancer's own action for that, too.
func wafOnBalancer(s *Server, q *request) error {
	if q.operation != "AssociateWebACL" && q.operation != "DisassociateWebACL" {
		return nil
	}
	arn := q.text("ResourceArn")
	return s.permit(q, "elasticloadbalancing:SetWebAcl", arn, s.conditionKeys(q, arn))
}

func wafResources(s *Server, q *request) []string {
	var named []string
	if arn := q.text("ResourceArn"); arn != "" {
		named = append(named, arn)
	}
	if arn := q.text("WebACLArn"); arn != "" {
		named = append(named, arn)
	}
	if q.operation == "GetWebACL" {
		acl, _ := q.webACL(s) // what is not there has no ARN
		named = append(named, cmp.Or(acl.ARN, q.text("ARN"), "*"))
	}
	if len(named) == 0 {
		named = []string{"*"}
	}
	return named
}

func associateWebACL(s *Server, q *request) (any, error) {
	return struct{}{}, s.machine.AssociateWebACL(q.caller.account, q.text("WebACLArn"), q.text("ResourceArn"))
}

func disassociateWebACL(s *Server, q *request) (any, error) {
	return struct{}{}, s.machine.DisassociateWebACL(q.caller.account, q.text("ResourceArn"))
}

type webACLSummary struct {
	ARN, Name string
	ID        string `json:"Id"`
}

type webACLAnswer struct {
	WebACL *webACLSummary `json:",omitempty"`
}

func summaryOf(a state.WebACL) webACLSummary {
	return webACLSummary{ARN: a.ARN, Name: a.Name, ID: a.ID}
}

// getWebACLForResource answers nothing for a load balancer without a Web ACL.
func getWebACLForResource(s *Server, q *request) (any, error) {
	acl, ok, err := s.machine.WebACLOf(q.caller.account, q.text("ResourceArn"))
	if err != nil || !ok {
		return webACLAnswer{}, err
	}
	summary := summaryOf(acl)
	return webACLAnswer{&summary}, nil
}

func getWebACL(s *Server, q *request) (any, error) {
	acl, ok := q.webACL(s)
	if !ok {
		return nil, state.Refuse("WAFNonexistentItemException", "AWS WAF couldn’t perform the operation because your resource doesn’t exist.")
	}
	summary := summaryOf(acl)
	return webACLAnswer{&summary}, nil
}

// webACL is the one that a call names by its ARN, or by name, id and scope.
func (q *request) webACL(s *Server) (state.WebACL, bool) {
	account := q.caller.account
	all := slices.Concat(s.machine.WebACLs(account, state.ScopeRegional), s.machine.WebACLs(account, state.ScopeCloudFront))
	i := slices.IndexFunc(all, func(a state.WebACL) bool {
		return a.ARN == q.text("ARN") || a.Name == q.text("Name") && a.ID == q.text("Id") && a.Scope == q.text("Scope")
	})
	if i < 0 {
		return state.WebACL{}, false
	}
	return all[i], true
}

type webACLList struct {
	WebACLs    []webACLSummary
	NextMarker string `json:",omitempty"`
}

const largestWebACLPage = 100

func listWebACLs(s *Server, q *request) (any, error) {
	scope := q.text("Scope")
	size, err := q.number("Limit")
	if err != nil {
		return nil, err
	}
	if scope != state.ScopeRegional && scope != state.ScopeCloudFront {
		return nil, state.Refuse("WAFInvalidParameterException",
			"Error reason: The scope is not valid., field: SCOPE_VALUE, parameter: %s", scope)
	}
	acls, next, err := numberedPage(s.machine.WebACLs(q.caller.account, scope), cmp.Or(size, largestWebACLPage), q.text("NextMarker"),
		"WAFInvalidParameterException")
	if err != nil {
		return nil, err
	}
	answer := webACLList{WebACLs: []webACLSummary{}, NextMarker: next}
	for _, acl := range acls {
		answer.WebACLs = append(answer.WebACLs, summaryOf(acl))
	}
	return answer, nil
}
