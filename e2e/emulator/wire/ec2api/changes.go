// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2api

import (
	"encoding/xml"
	"regexp"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

type groupIDAnswerXML struct {
	XMLName xml.Name `xml:"groupId"`
	ID      string   `xml:",chardata"`
}

// groupText is what the name and the description of a security group may be.
var groupText = regexp.MustCompile(`^[a-zA-Z0-9 ._\-:/()#,@\[\]+=&;{}!$*]{1,255}$`)

func createSecurityGroup(q *call.Request) (any, error) {
	tags, err := tagsOf(q)
	if err != nil {
		return nil, err
	}
	name, description := q.Text("GroupName"), q.Text("GroupDescription")
	switch {
	case description == "":
		return nil, refusal.New("MissingParameter", "The request must contain the parameter GroupDescription")
	case name != "" && (!groupText.MatchString(name) || name[:min(3, len(name))] == "sg-"):
		return nil, invalidParameter("Invalid security group name '%s'", name)
	case !groupText.MatchString(description):
		return nil, invalidParameter("Invalid security group description '%s'", description)
	}
	vpc := vpc(q)
	if _, err := q.Cloud.EC2.VPCs(q.Caller.Account, vpc); err != nil {
		return nil, err
	}
	g, err := q.Cloud.EC2.CreateSecurityGroup(q.Caller.Account, ec2.SecurityGroupSpec{
		Name: name, Description: description, VPC: vpc, Tags: tags,
	})
	if err != nil {
		return nil, err
	}
	q.SecurityGroups = []string{g.ID}
	answer := []any{groupIDAnswerXML{ID: g.ID}}
	if len(tags) > 0 {
		answer = append(answer, setXML[tagItemXML]{xml.Name{Local: "tagSet"}, items[tagItemXML]{tagItems(tags)}})
	}
	return answer, nil
}

func deleteSecurityGroup(q *call.Request) (any, error) {
	id := q.Text("GroupId")
	if id == "" {
		return nil, refusal.New("MissingParameter", "The request must contain the parameter GroupName or GroupId")
	}
	g, err := q.Cloud.EC2.SecurityGroup(id)
	if err == nil && g.Account != q.Caller.Account {
		err = refusal.New("InvalidGroup.NotFound", "The security group '%s' does not exist", id)
	}
	if err != nil {
		return nil, err
	}
	return returnXML{Value: true}, q.Cloud.EC2.DeleteSecurityGroup(id)
}

func createTags(q *call.Request) (any, error) {
	tags, err := tagsOf(q)
	if err != nil {
		return nil, err
	}
	ids := q.Texts("ResourceId")
	if len(ids) == 0 || len(tags) == 0 {
		return nil, refusal.New("MissingParameter", "The request must contain the parameters ResourceId and Tag")
	}
	return returnXML{Value: true}, q.Cloud.EC2.TagResources(q.Caller.Account, ids, tags)
}

func deleteTags(q *call.Request) (any, error) {
	ids := q.Texts("ResourceId")
	if len(ids) == 0 {
		return nil, refusal.New("MissingParameter", "The request must contain the parameter ResourceId")
	}
	var tags []ec2.TagFilter
	for _, entry := range q.List("Tag") {
		tag := ec2.TagFilter{Key: entry.Text("Key")}
		if value := entry.At("Value"); value != nil {
			tag.Value = &value.Value
		}
		tags = append(tags, tag)
	}
	return returnXML{Value: true}, q.Cloud.EC2.UntagResources(q.Caller.Account, ids, tags...)
}
