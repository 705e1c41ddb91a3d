// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// ec2Prefix is that of EC2's actions in policies.
const ec2Prefix = "ec2"

// ec2Tagging has a call that creates with tags need CreateTags, too, on what it creates. Conditions may ask which call it is.
func ec2Tagging(s *Server, q *request) error {
	tags, _ := q.ec2Tags() // what is wrong with them is answered by the operation
	if q.operation != "CreateSecurityGroup" || len(tags) == 0 {
		return nil
	}
	resource := q.ec2ARN(s, "security-group", "*")
	keys := s.conditionKeys(q, resource)
	keys[ec2Prefix+":CreateAction"] = q.operation
	return s.permit(q, ec2Prefix+":CreateTags", resource, keys)
}

func (q *request) ec2ARN(s *Server, kind, id string) string {
	return "arn:aws:ec2:" + s.machine.Options().Region + ":" + q.caller.account + ":" + kind + "/" + id
}

// ec2Resources are those that a call changes. What is created has no id yet; a security group is created in a VPC, too.
func ec2Resources(s *Server, q *request) []string {
	if strings.HasPrefix(q.operation, "Describe") {
		return []string{"*"}
	}
	switch q.operation {
	case "CreateSecurityGroup":
		return []string{q.ec2ARN(s, "security-group", "*"), q.ec2ARN(s, "vpc", q.vpc(s))}
	case "CreateTags", "DeleteTags":
		var named []string
		for _, id := range q.texts("ResourceId") {
			named = append(named, q.ec2ARN(s, kindOf(id), id))
		}
		return named
	}
	return []string{q.ec2ARN(s, "security-group", q.text("GroupId"))}
}

func kindOf(id string) string {
	if strings.HasPrefix(id, "subnet-") {
		return "subnet"
	}
	return "security-group"
}

// vpc is the one that a security group is created in.
func (q *request) vpc(s *Server) string {
	if id := q.text("VpcId"); id != "" {
		return id
	}
	return s.machine.Options().VPCs[0].ID
}

// ec2Tags reads the tags of CreateTags and DeleteTags, or of CreateSecurityGroup.
func (q *request) ec2Tags() (map[string]string, error) {
	entries := q.list("Tag")
	for _, specification := range q.list("TagSpecification") {
		if kind := specification.text("ResourceType"); kind != "security-group" {
			return nil, invalidParameter("'%s' is not a valid taggable resource type for this operation.", kind)
		}
		entries = append(entries, specification.list("Tag")...)
	}
	tags := map[string]string{}
	for _, t := range entries {
		if _, twice := tags[t.text("Key")]; twice {
			return nil, invalidParameter("Duplicate tag key '%s' specified.", t.text("Key"))
		}
		tags[t.text("Key")] = t.text("Value")
	}
	return tags, state.CheckResourceTags(tags)
}
