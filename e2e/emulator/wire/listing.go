// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/base64"
	"encoding/xml"
	"slices"
	"strconv"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// listing is how EC2 lists one kind of resource: T is the resource, X its element.
type listing[T, X any] struct {
	set    string // the element around them
	id     func(T) string
	has    fields[T]
	answer func(T) X
}

type setXML[X any] struct {
	XMLName xml.Name
	items[X]
}

type nextTokenXML struct {
	XMLName xml.Name `xml:"nextToken"`
	Token   string   `xml:",chardata"`
}

// page answers a call with those of the resources, in order of their ids, that its filters pick and its page holds.
func (l listing[T, X]) page(q *request, resources []T) (any, error) {
	resources, err := filtered(q, resources, l.has)
	if err != nil {
		return nil, err
	}
	resources, next, err := ec2Page(q, resources, l.id)
	if err != nil {
		return nil, err
	}
	set := setXML[X]{XMLName: xml.Name{Local: l.set}}
	for _, r := range resources {
		set.Items = append(set.Items, l.answer(r))
	}
	if next == "" {
		return set, nil
	}
	return []any{set, nextTokenXML{Token: next}}, nil
}

// The least and the most that MaxResults may be.
const (
	smallestPage   = 5
	largestEC2Page = 1000
)

// ec2Page cuts a page out of resources in order of their ids, which id gives. The token says where the next one begins; ""
// is none.
func ec2Page[T any](q *request, resources []T, id func(T) string) (page []T, token string, err error) {
	after, err := base64.URLEncoding.DecodeString(q.text("NextToken"))
	if err != nil {
		return nil, "", state.Refuse("InvalidPaginationToken", "The specified pagination token is not valid")
	}
	resources = slices.DeleteFunc(resources, func(r T) bool { return id(r) <= string(after) })
	text := q.text("MaxResults")
	if text == "" {
		return resources, "", nil
	}
	size, err := strconv.Atoi(text)
	switch {
	case err != nil || size < smallestPage:
		return nil, "", invalidParameter("Value ( %s ) for parameter maxResults is invalid. Expecting a value greater than %d.",
			text, smallestPage)
	case size > largestEC2Page:
		return nil, "", invalidParameter("Value ( %s ) for parameter maxResults is invalid. Expecting a value less than %d.",
			text, largestEC2Page)
	case size >= len(resources):
		return resources, "", nil
	}
	return resources[:size], base64.URLEncoding.EncodeToString([]byte(id(resources[size-1]))), nil
}

// eitherIDs refuses ids together with pages, for operations that do not take both.
func (q *request) eitherIDs(parameter string) error {
	if q.text("MaxResults") != "" && len(q.texts(parameter)) > 0 {
		return state.Refuse("InvalidParameterCombination", "The parameter %s cannot be used with the parameter MaxResults", parameter)
	}
	return nil
}
