// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonapi

import (
	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/shield"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

// shieldService is Shield Advanced, which AWS has at one endpoint for all regions. It has no limits here.
var shieldService = call.Service{
	Version:     "AWSShield_20160616",
	Prefix:      "shield",
	ContentType: jsonContentType,
	Permissions: call.OwnPermission,
	Resources:   shieldResources,
	Denied:      call.Denied,
	Answer:      jsonAnswer,
	Refusal:     jsonRefusal,
	Actions: map[string]call.Action{
		"GetSubscriptionState": call.Only(getSubscriptionState),
		"CreateProtection":     call.Only(createProtection, "Name", "ResourceArn"),
		"DescribeProtection":   call.Only(describeProtection, "ProtectionId", "ResourceArn"),
		"DeleteProtection":     call.Only(deleteProtection, "ProtectionId"),
	},
}

// shieldResources are protections; one that is to be made, or that is not there, has no id yet.
func shieldResources(q *call.Request) []string {
	if q.Operation == "GetSubscriptionState" {
		return []string{"*"}
	}
	p, err := q.Cloud.Shield.Protection(q.Caller.Account, q.Text("ProtectionId"), q.Text("ResourceArn"))
	if err != nil || q.Operation == "CreateProtection" {
		p = shield.Protection{ID: "*", Account: q.Caller.Account}
	}
	return []string{protectionARN(p)}
}

func protectionARN(p shield.Protection) string {
	return "arn:aws:shield::" + p.Account + ":protection/" + p.ID
}

type subscriptionAnswer struct{ SubscriptionState string }

func getSubscriptionState(q *call.Request) (any, error) {
	if q.Cloud.Shield.Subscribed(q.Caller.Account) {
		return subscriptionAnswer{"ACTIVE"}, nil
	}
	return subscriptionAnswer{"INACTIVE"}, nil
}

type createdProtection struct {
	ID string `json:"ProtectionId"`
}

func createProtection(q *call.Request) (any, error) {
	p, err := q.Cloud.Shield.Protect(q.Caller.Account, q.Text("Name"), q.Text("ResourceArn"))
	return createdProtection{p.ID}, err
}

type protectionDetail struct {
	ID            string `json:"Id"`
	Name          string
	ProtectionArn string
	ResourceArn   string
}

type protectionAnswer struct{ Protection protectionDetail }

func describeProtection(q *call.Request) (any, error) {
	id, resource := q.Text("ProtectionId"), q.Text("ResourceArn")
	if (id == "") == (resource == "") {
		return nil, refusal.New("InvalidParameterException", "Either the protection ID or the resource ARN must be specified, but not both.")
	}
	p, err := q.Cloud.Shield.Protection(q.Caller.Account, id, resource)
	return protectionAnswer{protectionDetail{p.ID, p.Name, protectionARN(p), p.Resource}}, err
}

func deleteProtection(q *call.Request) (any, error) {
	return struct{}{}, q.Cloud.Shield.Unprotect(q.Caller.Account, q.Text("ProtectionId"))
}
