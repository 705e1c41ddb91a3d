// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonapi

import (
	"cmp"
	"slices"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/waf"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

var wafService = call.Service{
	Version:     "AWSWAF_20190729",
	Prefix:      "wafv2",
	ContentType: jsonContentType,
	Permissions: call.OwnPermission,
	Resources:   wafResources,
	Further:     wafOnBalancer,
	Denied:      call.Denied,
	Bucket:      wafBucket,
	Overload:    refusal.Error{Code: "ThrottlingException", Message: "Rate exceeded"},
	Answer:      jsonAnswer,
	Refusal:     jsonRefusal,
	Actions: map[string]call.Action{
		"AssociateWebACL":      call.Only(associateWebACL, "WebACLArn", "ResourceArn"),
		"DisassociateWebACL":   call.Only(disassociateWebACL, "ResourceArn"),
		"GetWebACLForResource": call.Only(getWebACLForResource, "ResourceArn"),
		"GetWebACL":            call.Only(getWebACL, "ARN", "Id", "Name", "Scope"),
		"ListWebACLs":          call.Only(listWebACLs, "Scope", "Limit", "NextMarker"),
	},
}

func wafBucket(q *call.Request) (name string, limit call.Limit) {
	name = q.Service.Prefix + " " + q.Operation
	switch q.Operation {
	case "AssociateWebACL", "DisassociateWebACL":
		return name, call.WAFAssociate
	case "GetWebACLForResource":
		return name, call.WAFLookup
	}
	return name, call.WAFRead
}

// wafOnBalancer has a change of a load balancer's Web ACL need the load balancer's own action for that, too.
func wafOnBalancer(q *call.Request) error {
	if q.Operation != "AssociateWebACL" && q.Operation != "DisassociateWebACL" {
		return nil
	}
	arn := q.Text("ResourceArn")
	return q.Permit("elasticloadbalancing:SetWebAcl", arn, q.Keys(arn))
}

func wafResources(q *call.Request) []string {
	var named []string
	if arn := q.Text("ResourceArn"); arn != "" {
		named = append(named, arn)
	}
	if arn := q.Text("WebACLArn"); arn != "" {
		named = append(named, arn)
	}
	if q.Operation == "GetWebACL" {
		acl, _ := webACL(q) // what is not there has no ARN
		named = append(named, cmp.Or(acl.ARN, q.Text("ARN"), "*"))
	}
	if len(named) == 0 {
		named = []string{"*"}
	}
	return named
}

func associateWebACL(q *call.Request) (any, error) {
	return struct{}{}, q.Cloud.WAF.Associate(q.Caller.Account, q.Text("WebACLArn"), q.Text("ResourceArn"))
}

func disassociateWebACL(q *call.Request) (any, error) {
	return struct{}{}, q.Cloud.WAF.Disassociate(q.Caller.Account, q.Text("ResourceArn"))
}

type webACLSummary struct {
	ARN, Name string
	ID        string `json:"Id"`
}

type webACLAnswer struct {
	WebACL *webACLSummary `json:",omitempty"`
}

func summaryOf(a waf.WebACL) webACLSummary {
	return webACLSummary{ARN: a.ARN, Name: a.Name, ID: a.ID}
}

// getWebACLForResource answers nothing for a load balancer without a Web ACL.
func getWebACLForResource(q *call.Request) (any, error) {
	acl, ok, err := q.Cloud.WAF.Of(q.Caller.Account, q.Text("ResourceArn"))
	if err != nil || !ok {
		return webACLAnswer{}, err
	}
	summary := summaryOf(acl)
	return webACLAnswer{&summary}, nil
}

func getWebACL(q *call.Request) (any, error) {
	acl, ok := webACL(q)
	if !ok {
		return nil, refusal.New("WAFNonexistentItemException", "AWS WAF couldn’t perform the operation because your resource doesn’t exist.")
	}
	summary := summaryOf(acl)
	return webACLAnswer{&summary}, nil
}

// webACL is the one that a call names by its ARN, or by name, id and scope.
func webACL(q *call.Request) (waf.WebACL, bool) {
	account := q.Caller.Account
	all := slices.Concat(q.Cloud.WAF.WebACLs(account, waf.ScopeRegional), q.Cloud.WAF.WebACLs(account, waf.ScopeCloudFront))
	i := slices.IndexFunc(all, func(a waf.WebACL) bool {
		return a.ARN == q.Text("ARN") || a.Name == q.Text("Name") && a.ID == q.Text("Id") && a.Scope == q.Text("Scope")
	})
	if i < 0 {
		return waf.WebACL{}, false
	}
	return all[i], true
}

type webACLList struct {
	WebACLs    []webACLSummary
	NextMarker string `json:",omitempty"`
}

const largestWebACLPage = 100

func listWebACLs(q *call.Request) (any, error) {
	scope := q.Text("Scope")
	size, err := q.Number("Limit")
	if err != nil {
		return nil, err
	}
	if scope != waf.ScopeRegional && scope != waf.ScopeCloudFront {
		return nil, refusal.New("WAFInvalidParameterException",
			"Error reason: The scope is not valid., field: SCOPE_VALUE, parameter: %s", scope)
	}
	acls, next, err := numberedPage(q.Cloud.WAF.WebACLs(q.Caller.Account, scope), cmp.Or(size, largestWebACLPage), q.Text("NextMarker"),
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
