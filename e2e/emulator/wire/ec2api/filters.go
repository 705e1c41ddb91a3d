// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2api

import (
	"slices"
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/iam"
	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

// mostFilterValues is how many values the filters of a call may have in all.
const mostFilterValues = 200

func invalidParameter(format string, args ...any) error {
	return refusal.New("InvalidParameterValue", format, args...)
}

// fields gives what a resource has for a filter; false is a filter that is not known.
type fields[T any] func(resource T, filter string) (values []string, known bool)

// filtered keeps the resources that all filters of a call pick. A filter picks those that have one of its values, where *
// and ? stand for any text and any character.
func filtered[T any](q *call.Request, resources []T, has fields[T]) ([]T, error) {
	total := 0
	for _, filter := range q.List("Filter") {
		name, wanted := filter.Text("Name"), filter.Texts("Value")
		var none T
		if _, known := has(none, name); !known {
			return nil, invalidParameter("The filter '%s' is invalid", name)
		}
		total += len(wanted)
		resources = slices.DeleteFunc(resources, func(r T) bool {
			values, _ := has(r, name)
			return !anyLike(wanted, values)
		})
	}
	if total > mostFilterValues {
		return nil, refusal.New("FilterLimitExceeded",
			"The maximum number of filter values specified on a single call is %d", mostFilterValues)
	}
	return resources, nil
}

func anyLike(patterns, values []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		return slices.ContainsFunc(values, func(value string) bool { return iam.Like(pattern, value) })
	})
}

// tagFields are the filters by tags.
func tagFields(tags map[string]string, filter string) (values []string, known bool) {
	if filter == "tag-key" {
		for key := range tags {
			values = append(values, key)
		}
		return values, true
	}
	key, known := strings.CutPrefix(filter, "tag:")
	if value, ok := tags[key]; known && ok {
		values = []string{value}
	}
	return values, known
}

// SecurityGroups are the ids of security groups that a call names.
func SecurityGroups(q *call.Request) []string {
	ids := q.Texts("GroupId")
	if id := q.Text("GroupId"); id != "" {
		ids = append(ids, id)
	}
	for _, filter := range q.List("Filter") {
		if filter.Text("Name") == "group-id" {
			ids = append(ids, filter.Texts("Value")...)
		}
	}
	return ids
}
