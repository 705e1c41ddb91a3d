// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2api

import (
	"encoding/base64"
	"encoding/xml"
	"slices"
	"strconv"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
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
func (l listing[T, X]) page(q *call.Request, resources []T) (any, error) {
	resources, err := filtered(q, resources, l.has)
	if err != nil {
		return nil, err
	}
	resources, next, err := pageOf(q, resources, l.id)
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
	smallestPage = 5
	largestPage  = 1000
)

// pageOf cuts a page out of resources in order of their ids, which id gives. The token says where the next one begins; ""
// is none.
func pageOf[T any](q *call.Request, resources []T, id func(T) string) (page []T, token string, err error) {
	after, err := base64.URLEncoding.DecodeString(q.Text("NextToken"))
	if err != nil {
		return nil, "", refusal.New("InvalidPaginationToken", "The specified pagination token is not valid")
	}
	resources = slices.DeleteFunc(resources, func(r T) bool { return id(r) <= string(after) })
	text := q.Text("MaxResults")
	if text == "" {
		return resources, "", nil
	}
	size, err := strconv.Atoi(text)
	switch {
	case err != nil || size < smallestPage:
		return nil, "", invalidParameter("Value ( %s ) for parameter maxResults is invalid. Expecting a value greater than %d.",
			text, smallestPage)
	case size > largestPage:
		return nil, "", invalidParameter("Value ( %s ) for parameter maxResults is invalid. Expecting a value less than %d.",
			text, largestPage)
	case size >= len(resources):
		return resources, "", nil
	}
	return resources[:size], base64.URLEncoding.EncodeToString([]byte(id(resources[size-1]))), nil
}

// eitherIDs refuses ids together with pages, for operations that do not take both.
func eitherIDs(q *call.Request, parameter string) error {
	if q.Text("MaxResults") != "" && len(q.Texts(parameter)) > 0 {
		return refusal.New("InvalidParameterCombination", "The parameter %s cannot be used with the parameter MaxResults", parameter)
	}
	return nil
}
