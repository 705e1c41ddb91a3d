// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"slices"
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/iam"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// mostFilterValues is how many values the filters of a call may have in all.
const mostFilterValues = 200

func invalidParameter(format string, args ...any) error {
	return state.Refuse("InvalidParameterValue", format, args...)
}

// fields gives what a resource has for a filter; false is a filter that is not known.
type fields[T any] func(resource T, filter string) (values []string, known bool)

// filtered keeps the resources that all filters of a call pick. A filter picks those that have one of its values, where *
// and ? stand for any text and any character.
func filtered[T any](q *request, resources []T, has fields[T]) ([]T, error) {
	total := 0
	for _, filter := range q.list("Filter") {
		name, wanted := filter.text("Name"), filter.texts("Value")
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
		return nil, state.Refuse("FilterLimitExceeded",
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

// only refuses a call with other parameters, which would otherwise be ignored: a DryRun would act.
func only(act action, parameters ...string) action {
	return func(s *Server, q *request) (any, error) {
		for name := range q.kids {
			if name != "Action" && name != "Version" && !slices.Contains(parameters, name) {
				return nil, state.Refuse("UnknownParameter", "The parameter %s is not emulated", name)
			}
		}
		return act(s, q)
	}
}

// securityGroups are the ids of security groups that a call names.
func (q *request) securityGroups() []string {
	ids := q.texts("GroupId")
	if id := q.text("GroupId"); id != "" {
		ids = append(ids, id)
	}
	for _, filter := range q.list("Filter") {
		if filter.text("Name") == "group-id" {
			ids = append(ids, filter.texts("Value")...)
		}
	}
	return ids
}
