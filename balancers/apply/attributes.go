// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"maps"
	"slices"
	"strings"
)

// AttributesError says which attributes AWS has refused. They are of one kind.
type AttributesError struct {
	Keys []string // sorted
	error
}

// Unwrap is what AWS has said.
func (e *AttributesError) Unwrap() error { return e.error }

// maxKinds is how many attributes AWS takes with one call, and so how many kinds there can be.
const maxKinds = 20

// setKinds sets attributes with one call. If AWS refuses it, a call is made for each kind alone: a bad attribute of one member keeps no
// other's out. The kind is what stands before the first dot, such as access_logs: the attributes of a kind belong together.
func setKinds(attributes map[string]string, set func(map[string]string) error) error {
	err := set(attributes)
	if err == nil || !IsRefusal(err) {
		return err
	}
	switch kinds := kindsOf(attributes); {
	case len(kinds) == 1:
		return &AttributesError{slices.Sorted(maps.Keys(attributes)), err}
	case len(kinds) == 0 || len(kinds) > maxKinds:
		return err
	default:
		return setEach(kinds, set)
	}
}

func kindsOf(attributes map[string]string) map[string]map[string]string {
	kinds := map[string]map[string]string{}
	for key, value := range attributes {
		kind, _, _ := strings.Cut(key, ".")
		if kinds[kind] == nil {
			kinds[kind] = map[string]string{}
		}
		kinds[kind][key] = value
	}
	return kinds
}

// setEach sets attributes with a call for each kind. Its error is that of the first kind that AWS refuses, or one after which no other call
// is of use.
func setEach(kinds map[string]map[string]string, set func(map[string]string) error) error {
	var refused error
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		err := set(kinds[kind])
		switch {
		case err != nil && !IsRefusal(err):
			return err
		case err != nil && refused == nil:
			refused = &AttributesError{slices.Sorted(maps.Keys(kinds[kind])), err}
		}
	}
	return refused
}
