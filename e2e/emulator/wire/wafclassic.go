// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import "github.com/targetgate/targetgate/e2e/emulator/state"

var wafClassicService = service{
	version:     "AWSWAF_Regional_20161128",
	prefix:      "waf-regional",
	contentType: jsonContentType,
	permissions: ownPermission,
	resources:   wafClassicResources,
	further:     wafOnBalancer,
	denied:      accessDenied,
	bucket:      wafBucket,
	overload:    state.Error{Code: "ThrottlingException", Message: "Rate exceeded"},
	answer:      jsonAnswer,
	refusal:     jsonRefusal,
	actions: map[string]action{
		"AssociateWebACL":      only(associateClassicWebACL, "WebACLId", "ResourceArn"),
		"DisassociateWebACL":   only(disassociateClassicWebACL, "ResourceArn"),
		"GetWebACLForResource": only(getClassicWebACLForResource, "ResourceArn"),
		"GetWebACL":            only(getClassicWebACL, "WebACLId"),
	},
}

func wafClassicResources(s *Server, q *request) []string {
	var named []string
	if arn := q.text("ResourceArn"); arn != "" {
		named = append(named, arn)
	}
	if id := q.text("WebACLId"); id != "" {
		named = append(named, "arn:aws:waf-regional:"+s.machine.Options().Region+":"+q.caller.account+":webacl/"+id)
	}
	return named
}

func associateClassicWebACL(s *Server, q *request) (any, error) {
	return struct{}{}, s.machine.AssociateClassicWebACL(q.caller.account, q.text("WebACLId"), q.text("ResourceArn"))
}

func disassociateClassicWebACL(s *Server, q *request) (any, error) {
	return struct{}{}, s.machine.DisassociateClassicWebACL(q.caller.account, q.text("ResourceArn"))
}

type classicACL struct {
	WebACL classicSummary
}

func getClassicWebACL(s *Server, q *request) (any, error) {
	acl, ok := s.machine.ClassicWebACL(q.caller.account, q.text("WebACLId"))
	if !ok {
		return nil, state.Refuse("WAFNonexistentItemException", "The referenced item does not exist.")
	}
	return classicACL{classicSummary{acl.Name, acl.ID}}, nil
}

type classicSummary struct {
	Name, WebACLId string
}

type classicAnswer struct {
	WebACLSummary *classicSummary `json:",omitempty"`
}

// getClassicWebACLForResource answers nothing for a load balancer without a Web ACL.
func getClassicWebACLForResource(s *Server, q *request) (any, error) {
	acl, ok, err := s.machine.ClassicWebACLOf(q.caller.account, q.text("ResourceArn"))
	if err != nil || !ok {
		return classicAnswer{}, err
	}
	return classicAnswer{&classicSummary{acl.Name, acl.ID}}, nil
}
