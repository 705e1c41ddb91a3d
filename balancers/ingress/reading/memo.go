// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package reading

import "github.com/targetgate/targetgate/balancers/ingress/annotation"

// memo has what was read before, by what it was read of. Many paths share annotations and Services, so each of these is read once: an
// annotation may have 256 KiB.
type memo map[any]any

// result is what was read, or why it could not be.
type result[T any] struct {
	value T
	err   error
}

// once is what read returns, which is called once for each key.
func once[T any](m memo, key any, read func() (T, error)) (T, error) {
	known, ok := m[key].(result[T])
	if !ok {
		known.value, known.err = read()
		m[key] = known
	}
	return known.value, known.err
}

// member is an annotation of a family, which goes on with that name; the name of any other is "".
type member struct {
	family *annotation.Annotation
	name   string
}

// meaning is what an annotation says.
type meaning[T any] struct {
	value T
	set   bool
}

// annotated is what one of the Ingress's annotations says, as of annotation.Key.In.
func annotated[T any](r ruleReader, family annotation.Key[T], name string) (value T, set bool, err error) {
	said, err := once(r.memo, member{family.Annotation, name}, func() (out meaning[T], err error) {
		out.value, out.set, err = family.Member(name).In(r.Annotations())
		return out, err
	})
	return said.value, said.set, err
}
