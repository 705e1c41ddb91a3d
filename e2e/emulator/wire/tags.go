// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"maps"
	"slices"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

type tagXML struct {
	Key   string
	Value string
}

type tagDescriptionXML struct {
	ResourceArn string
	Tags        members[tagXML]
}

type tagsXML struct {
	TagDescriptions members[tagDescriptionXML]
}

// mostResources is how many resources one DescribeTags may ask for.
const mostResources = 20

// mostTags is how many tags a resource may have.
const mostTags = 50

// tagParams reads the tags of AddTags and of calls that create.
func (q *request) tagParams() (map[string]string, error) {
	tags := map[string]string{}
	for _, t := range q.list("Tags.member") {
		if _, twice := tags[t.text("Key")]; twice {
			return nil, state.Refuse("DuplicateTagKeys", "Tag key '%s' was specified more than once", t.text("Key"))
		}
		tags[t.text("Key")] = t.text("Value")
	}
	if len(tags) > mostTags {
		return nil, state.Refuse("TooManyTags", "A resource can have at most %d tags", mostTags)
	}
	return tags, state.CheckTags(tags)
}

func addTags(s *Server, q *request) (any, error) {
	tags, err := q.tagParams()
	if err != nil {
		return nil, err
	}
	for _, arn := range q.texts("ResourceArns.member") {
		if err := s.machine.AddTags(arn, tags); err != nil {
			return nil, err
		}
	}
	return struct{}{}, nil
}

func removeTags(s *Server, q *request) (any, error) {
	for _, arn := range q.texts("ResourceArns.member") {
		if err := s.machine.RemoveTags(arn, q.texts("TagKeys.member")...); err != nil {
			return nil, err
		}
	}
	return struct{}{}, nil
}

func describeTags(s *Server, q *request) (any, error) {
	arns := q.texts("ResourceArns.member")
	if len(arns) > mostResources {
		return nil, state.Unfit("resourceArns", arns, "have length less than or equal to 20")
	}
	all, err := s.machine.DescribeTags(arns...)
	if err != nil {
		return nil, err
	}
	var answer tagsXML
	for i, arn := range arns {
		described := tagDescriptionXML{ResourceArn: arn}
		for _, key := range slices.Sorted(maps.Keys(all[i])) {
			described.Tags.Members = append(described.Tags.Members, tagXML{key, all[i][key]})
		}
		answer.TagDescriptions.Members = append(answer.TagDescriptions.Members, described)
	}
	return answer, nil
}
