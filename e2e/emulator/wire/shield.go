// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import "github.com/targetgate/targetgate/e2e/emulator/state"

// shieldService is Shield Advanced, which AWS has at one endpoint for all regions. It has no limits here.
var shieldService = service{
	version:     "AWSShield_20160616",
	prefix:      "shield",
	contentType: jsonContentType,
	permissions: ownPermission,
	resources:   shieldResources,
	denied:      accessDenied,
	answer:      jsonAnswer,
	refusal:     jsonRefusal,
	actions: map[string]action{
		"GetSubscriptionState": only(getSubscriptionState),
		"CreateProtection":     only(createProtection, "Name", "ResourceArn"),
		"DescribeProtection":   only(describeProtection, "ProtectionId", "ResourceArn"),
		"DeleteProtection":     only(deleteProtection, "ProtectionId"),
	},
}

// shieldResources are protections; one that is to be made, or that is not there, has no id yet.
func shieldResources(s *Server, q *request) []string {
	if q.operation == "GetSubscriptionState" {
		return []string{"*"}
	}
	p, err := s.machine.Protection(q.caller.account, q.text("ProtectionId"), q.text("ResourceArn"))
	if err != nil || q.operation == "CreateProtection" {
		p = state.Protection{ID: "*", Account: q.caller.account}
	}
	return []string{protectionARN(p)}
}

func protectionARN(p state.Protection) string {
	return "arn:aws:shield::" + p.Account + ":protection/" + p.ID
}

type subscriptionAnswer struct{ SubscriptionState string }

func getSubscriptionState(s *Server, q *request) (any, error) {
	if s.machine.ShieldSubscribed(q.caller.account) {
		return subscriptionAnswer{"ACTIVE"}, nil
	}
	return subscriptionAnswer{"INACTIVE"}, nil
}

type createdProtection struct {
	ID string `json:"ProtectionId"`
}

func createProtection(s *Server, q *request) (any, error) {
	p, err := s.machine.Protect(q.caller.account, q.text("Name"), q.text("ResourceArn"))
	return createdProtection{p.ID}, err
}

type protectionDetail struct {
	ID            string `json:"Id"`
	Name          string
	ProtectionArn string
	ResourceArn   string
}

type protectionAnswer struct{ Protection protectionDetail }

func describeProtection(s *Server, q *request) (any, error) {
	id, resource := q.text("ProtectionId"), q.text("ResourceArn")
	if (id == "") == (resource == "") {
		return nil, state.Refuse("InvalidParameterException", "Either the protection ID or the resource ARN must be specified, but not both.")
	}
	p, err := s.machine.Protection(q.caller.account, id, resource)
	return protectionAnswer{protectionDetail{p.ID, p.Name, protectionARN(p), p.Resource}}, err
}

func deleteProtection(s *Server, q *request) (any, error) {
	return struct{}{}, s.machine.Unprotect(q.caller.account, q.text("ProtectionId"))
}
