// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonapi

import (
	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

var wafClassicService = call.Service{
	Version:     "AWSWAF_Regional_20161128",
	Prefix:      "waf-regional",
	ContentType: jsonContentType,
	Permissions: call.OwnPermission,
	Resources:   wafClassicResources,
	Further:     wafOnBalancer,
	Denied:      call.Denied,
	Bucket:      wafBucket,
	Overload:    refusal.Error{Code: "ThrottlingException", Message: "Rate exceeded"},
	Answer:      jsonAnswer,
	Refusal:     jsonRefusal,
	Actions: map[string]call.Action{
		"AssociateWebACL":      call.Only(associateClassicWebACL, "WebACLId", "ResourceArn"),
		"DisassociateWebACL":   call.Only(disassociateClassicWebACL, "ResourceArn"),
		"GetWebACLForResource": call.Only(getClassicWebACLForResource, "ResourceArn"),
		"GetWebACL":            call.Only(getClassicWebACL, "WebACLId"),
	},
}

func wafClassicResources(q *call.Request) []string {
	var named []string
	if arn := q.Text("ResourceArn"); arn != "" {
		named = append(named, arn)
	}
	if id := q.Text("WebACLId"); id != "" {
		named = append(named, q.Cloud.Region.ARN("waf-regional", q.Caller.Account, "webacl/"+id))
	}
	return named
}

func associateClassicWebACL(q *call.Request) (any, error) {
	return struct{}{}, q.Cloud.WAF.AssociateClassic(q.Caller.Account, q.Text("WebACLId"), q.Text("ResourceArn"))
}

func disassociateClassicWebACL(q *call.Request) (any, error) {
	return struct{}{}, q.Cloud.WAF.DisassociateClassic(q.Caller.Account, q.Text("ResourceArn"))
}

type classicACL struct {
	WebACL classicSummary
}

func getClassicWebACL(q *call.Request) (any, error) {
	acl, ok := q.Cloud.WAF.ClassicWebACL(q.Caller.Account, q.Text("WebACLId"))
	if !ok {
		return nil, refusal.New("WAFNonexistentItemException", "The referenced item does not exist.")
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
func getClassicWebACLForResource(q *call.Request) (any, error) {
	acl, ok, err := q.Cloud.WAF.ClassicOf(q.Caller.Account, q.Text("ResourceArn"))
	if err != nil || !ok {
		return classicAnswer{}, err
	}
	return classicAnswer{&classicSummary{acl.Name, acl.ID}}, nil
}
