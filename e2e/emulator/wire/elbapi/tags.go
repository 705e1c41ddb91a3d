// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbapi

import (
	"maps"
	"slices"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

type tagXML struct {
	Key   string
	Value string
}

type tagDescriptionXML struct {
	ResourceArn string
	Tags        call.Members[tagXML]
}

type tagsXML struct {
	TagDescriptions call.Members[tagDescriptionXML]
}

// mostResources is how many resources one DescribeTags may ask for.
const mostResources = 20

func addTags(q *call.Request) (any, error) {
	tags, err := call.Tags(q)
	if err != nil {
		return nil, err
	}
	for _, arn := range q.Texts("ResourceArns.member") {
		if err := q.Cloud.ELB.AddTags(arn, tags); err != nil {
			return nil, err
		}
	}
	return struct{}{}, nil
}

func removeTags(q *call.Request) (any, error) {
	for _, arn := range q.Texts("ResourceArns.member") {
		if err := q.Cloud.ELB.RemoveTags(arn, q.Texts("TagKeys.member")...); err != nil {
			return nil, err
		}
	}
	return struct{}{}, nil
}

func describeTags(q *call.Request) (any, error) {
	arns := q.Texts("ResourceArns.member")
	if len(arns) > mostResources {
		return nil, refusal.Unfit("resourceArns", arns, "have length less than or equal to 20")
	}
	all, err := q.Cloud.ELB.DescribeTags(arns...)
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
