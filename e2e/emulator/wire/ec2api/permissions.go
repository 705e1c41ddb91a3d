// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2api

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

// prefix is that of EC2's actions in policies.
const prefix = "ec2"

// tagging has a call that creates with tags need CreateTags, too, on what it creates. Conditions may ask which call it is.
func tagging(q *call.Request) error {
	tags, _ := tagsOf(q) // what is wrong with them is answered by the operation
	if q.Operation != "CreateSecurityGroup" || len(tags) == 0 {
		return nil
	}
	resource := arnOf(q, "security-group", "*")
	keys := q.Keys(resource)
	keys[prefix+":CreateAction"] = q.Operation
	return q.Permit(prefix+":CreateTags", resource, keys)
}

func arnOf(q *call.Request, kind, id string) string {
	return q.Cloud.Region.ARN("ec2", q.Caller.Account, kind+"/"+id)
}

// resources are those that a call changes. What is created has no id yet; a security group is created in a VPC, too.
func resources(q *call.Request) []string {
	if strings.HasPrefix(q.Operation, "Describe") {
		return []string{"*"}
	}
	switch q.Operation {
	case "CreateSecurityGroup":
		return []string{arnOf(q, "security-group", "*"), arnOf(q, "vpc", vpc(q))}
	case "CreateTags", "DeleteTags":
		var named []string
		for _, id := range q.Texts("ResourceId") {
			named = append(named, arnOf(q, kindOf(id), id))
		}
		return named
	}
	return []string{arnOf(q, "security-group", q.Text("GroupId"))}
}

func kindOf(id string) string {
	if strings.HasPrefix(id, "subnet-") {
		return "subnet"
	}
	return "security-group"
}

// vpc is the one that a security group is created in.
func vpc(q *call.Request) string {
	if id := q.Text("VpcId"); id != "" {
		return id
	}
	return q.Cloud.EC2.FirstVPC().ID
}

// tagsOf reads the tags of CreateTags and DeleteTags, or of CreateSecurityGroup.
func tagsOf(q *call.Request) (map[string]string, error) {
	entries := q.List("Tag")
	for _, specification := range q.List("TagSpecification") {
		if kind := specification.Text("ResourceType"); kind != "security-group" {
			return nil, invalidParameter("'%s' is not a valid taggable resource type for this operation.", kind)
		}
		entries = append(entries, specification.List("Tag")...)
	}
	tags := map[string]string{}
	for _, t := range entries {
		if _, twice := tags[t.Text("Key")]; twice {
			return nil, invalidParameter("Duplicate tag key '%s' specified.", t.Text("Key"))
		}
		tags[t.Text("Key")] = t.Text("Value")
	}
	return tags, ec2.CheckTags(tags)
}

// unauthorized has a part that is different for each call.
func unauthorized(q *call.Request, action, resource string, explicit bool) error {
	encoded := base64.RawURLEncoding.EncodeToString(slices.Repeat([]byte(q.ID), 12))
	return refusal.New("UnauthorizedOperation",
		"You are not authorized to perform this operation. %s. Encoded authorization failure message: %s",
		call.NotAuthorized(q, action, resource, explicit), encoded)
}
