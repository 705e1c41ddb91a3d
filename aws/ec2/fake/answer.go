// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
)

// kind is what EC2 calls things of one sort when it refuses an ID of theirs.
type kind struct {
	prefix              string
	malformed, notFound string // codes
	malformedText       string // with the ID
	one, many           string // texts of notFound, with the ID or the IDs; without many, EC2 names but the first
}

// kinds are by the prefix of their IDs.
var kinds = map[string]kind{
	"sg": {
		prefix: "sg-", malformed: "InvalidGroupId.Malformed", notFound: "InvalidGroup.NotFound",
		malformedText: `Invalid id: "%s" (expecting "sg-...")`, one: "The security group '%s' does not exist",
	},
	"i": {
		prefix: "i-", malformed: "InvalidInstanceID.Malformed", notFound: "InvalidInstanceID.NotFound",
		malformedText: `Invalid id: "%s"`, one: "The instance ID '%s' does not exist", many: "The instance IDs '%s' do not exist",
	},
	"eni": {
		prefix: "eni-", malformed: "InvalidNetworkInterfaceId.Malformed", notFound: "InvalidNetworkInterfaceID.NotFound",
		malformedText: `Invalid id: "%s" (expecting "eni-...")`, one: "The networkInterface ID '%s' does not exist",
		many: "The networkInterface IDs '%s' do not exist",
	},
}

func refusal(code, text string) error {
	return &smithy.GenericAPIError{Code: code, Message: text, Fault: smithy.FaultClient}
}

// choose are those of the IDs in their order, or all. One ID that is none, or of nothing, and there is none at all.
func choose[T any](all map[string]T, ids []string, k kind) ([]T, error) {
	if len(ids) == 0 {
		return sortedBy(all), nil
	}
	var found []T
	var unknown []string
	for _, id := range ids {
		if !strings.HasPrefix(id, k.prefix) {
			return nil, refusal(k.malformed, fmt.Sprintf(k.malformedText, id))
		}
		one, ok := all[id]
		if !ok {
			unknown = append(unknown, id)
		}
		found = append(found, one)
	}
	switch {
	case len(unknown) == 0:
		return found, nil
	case len(unknown) == 1 || k.many == "":
		return nil, refusal(k.notFound, fmt.Sprintf(k.one, unknown[0]))
	}
	return nil, refusal(k.notFound, fmt.Sprintf(k.many, strings.Join(unknown, ", ")))
}

// page is the part of all that begins where the token says, and the token of the next part.
func page[T any](all []T, size int, asked *int32, token *string) ([]T, *string, error) {
	begin, err := strconv.Atoi(aws.ToString(token))
	if token != nil && (err != nil || begin < 0 || begin > len(all)) {
		return nil, nil, refusal("InvalidParameterValue", fmt.Sprintf("Unable to parse pagination token: %s", *token))
	}
	if n := int(aws.ToInt32(asked)); size == 0 || n > 0 && n < size {
		size = n
	}
	if size == 0 || begin+size >= len(all) {
		return all[begin:], nil, nil
	}
	return all[begin : begin+size], aws.String(strconv.Itoa(begin + size)), nil
}

// maxFilterValues is how many values EC2 takes in all filters of a call.
const maxFilterValues = 200

func refusedFilters(filters map[string][]string) error {
	n := 0
	for values := range maps.Values(filters) {
		n += len(values)
	}
	if n > maxFilterValues {
		return refusal("FilterLimitExceeded", "The maximum number of filter values specified on a single call is 200")
	}
	return nil
}

func describeCall(operation string, ids []string, filters []types.Filter) Call {
	call := Call{Operation: operation, IDs: slices.Sorted(slices.Values(ids))}
	for _, f := range filters {
		if call.Filters == nil {
			call.Filters = map[string][]string{}
		}
		call.Filters[aws.ToString(f.Name)] = slices.Sorted(slices.Values(f.Values))
	}
	return call
}
