// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/xml"
	"regexp"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

type groupIDAnswerXML struct {
	XMLName xml.Name `xml:"groupId"`
	ID      string   `xml:",chardata"`
}

// groupText is what the name and the description of a security group may be.
var groupText = regexp.MustCompile(`^[a-zA-Z0-9 ._\-:/()#,@\[\]+=&;{}!$*]{1,255}$`)

func createSecurityGroup(s *Server, q *request) (any, error) {
	tags, err := q.ec2Tags()
	if err != nil {
		return nil, err
	}
	name, description := q.text("GroupName"), q.text("GroupDescription")
	switch {
	case description == "":
		return nil, state.Refuse("MissingParameter", "The request must contain the parameter GroupDescription")
	case name != "" && (!groupText.MatchString(name) || name[:min(3, len(name))] == "sg-"):
		return nil, invalidParameter("Invalid security group name '%s'", name)
	case !groupText.MatchString(description):
		return nil, invalidParameter("Invalid security group description '%s'", description)
	}
	vpc := q.vpc(s)
	if _, err := s.machine.VPCs(q.caller.account, vpc); err != nil {
		return nil, err
	}
	g, err := s.machine.CreateSecurityGroup(q.caller.account, state.SecurityGroupSpec{
		Name: name, Description: description, VPC: vpc, Tags: tags,
	})
	if err != nil {
		return nil, err
	}
	q.log.SecurityGroups = []string{g.ID}
	answer := []any{groupIDAnswerXML{ID: g.ID}}
	if len(tags) > 0 {
		answer = append(answer, setXML[tagItemXML]{xml.Name{Local: "tagSet"}, items[tagItemXML]{tagItems(tags)}})
	}
	return answer, nil
}

func deleteSecurityGroup(s *Server, q *request) (any, error) {
	id := q.text("GroupId")
	if id == "" {
		return nil, state.Refuse("MissingParameter", "The request must contain the parameter GroupName or GroupId")
	}
	g, err := s.machine.SecurityGroup(id)
	if err == nil && g.Account != q.caller.account {
		err = state.Refuse("InvalidGroup.NotFound", "The security group '%s' does not exist", id)
	}
	if err != nil {
		return nil, err
	}
	return returnXML{Value: true}, s.machine.DeleteSecurityGroup(id)
}

func createTags(s *Server, q *request) (any, error) {
	tags, err := q.ec2Tags()
	if err != nil {
		return nil, err
	}
	ids := q.texts("ResourceId")
	if len(ids) == 0 || len(tags) == 0 {
		return nil, state.Refuse("MissingParameter", "The request must contain the parameters ResourceId and Tag")
	}
	return returnXML{Value: true}, s.machine.TagResources(q.caller.account, ids, tags)
}

func deleteTags(s *Server, q *request) (any, error) {
	ids := q.texts("ResourceId")
	if len(ids) == 0 {
		return nil, state.Refuse("MissingParameter", "The request must contain the parameter ResourceId")
	}
	var tags []state.TagFilter
	for _, entry := range q.list("Tag") {
		tag := state.TagFilter{Key: entry.text("Key")}
		if value := entry.at("Value"); value != nil {
			tag.Value = &value.value
		}
		tags = append(tags, tag)
	}
	return returnXML{Value: true}, s.machine.UntagResources(q.caller.account, ids, tags...)
}
