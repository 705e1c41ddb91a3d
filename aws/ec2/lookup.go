// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/aws/smithy-go"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/budget"
)

// MaxIDsPerCall is how many IDs one call names at most. EC2 documents no limit for the calls that we make; of instances whose
// status is described it takes 100.
const MaxIDsPerCall = 100

// lookup is how things of one sort are found by their IDs.
type lookup[T any] struct {
	doing   string   // as errors say it
	unknown []string // the codes of a call that names an ID of nothing, or that is none
	pages   func(ctx context.Context, ids []string) ([]T, error)
}

// find describes what the IDs name. EC2 refuses a call with one ID of nothing as a whole: then it is sent again without the IDs
// that the refusal names, or in two halves if it names none.
func find[T any](ctx context.Context, c *Client, class budget.Class, ids []string, l lookup[T]) ([]T, error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	ids = slices.DeleteFunc(ids, func(id string) bool { return id == "" || strings.ContainsFunc(id, notInID) })
	if len(ids) == 0 {
		return nil, nil // EC2 would describe all that there is
	}
	ctx, err := c.session.Prepare(ctx, class, c.tenant)
	if err != nil {
		return nil, callError(l.doing, err)
	}
	var found []T
	calls := slices.Collect(slices.Chunk(ids, MaxIDsPerCall))
	for len(calls) > 0 {
		asked := calls[0]
		calls = calls[1:]
		some, err := l.pages(ctx, asked)
		switch {
		case err == nil:
			found = append(found, some...)
		case awserr.HasCode(err, l.unknown...):
			calls = append(without(asked, err), calls...)
		default:
			return nil, callError(l.doing, err)
		}
	}
	return found, nil
}

// appendRead appends what the SDK's values say; the first that cannot be read is an error.
func appendRead[S, T any](out []T, values []S, read func(S) (T, error)) ([]T, error) {
	for _, value := range values {
		one, err := read(value)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// without are the calls instead of one that EC2 has refused because some of its IDs are of nothing. Each is smaller.
func without(ids []string, err error) [][]string {
	named := namedIn(err)
	left := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return named[id] })
	switch {
	case len(left) == 0:
		return nil
	case len(left) < len(ids):
		return [][]string{left}
	case len(ids) == 1:
		return nil
	}
	half := len(ids) / 2
	return [][]string{ids[:half], ids[half:]}
}

// notInID are the characters that no ID has. One that has them is sent in no call, as EC2's text would repeat it: its parts must not be
// taken for IDs of their own.
func notInID(r rune) bool {
	return r != '-' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r))
}

// namedIn are the words of AWS's text of which one may be an ID.
func namedIn(err error) map[string]bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return nil
	}
	named := map[string]bool{}
	for word := range strings.FieldsFuncSeq(api.ErrorMessage(), notInID) {
		named[word] = true
	}
	return named
}
