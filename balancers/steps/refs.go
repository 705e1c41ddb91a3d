// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"reflect"

	"github.com/targetgate/targetgate/balancers/stack"
)

// Refs are the IDs of parts that earlier steps of a plan have made.
type Refs map[string]string

// Resolve is the change with the IDs of its references filled in; it shares nothing that is written with the plan's. Missing are the parts
// that are not made.
func (r Refs) Resolve(change Change) (resolved Change, missing []string) {
	resolved = withRefs(change, func(ref *stack.Ref) {
		switch {
		case ref.ID != "" || ref.Part == "": // known, or none, as the peer of a binding without rules
		case r[ref.Part] != "":
			ref.ID = r[ref.Part]
		default:
			missing = append(missing, ref.Part)
		}
	})
	return resolved, missing
}

// IDsIn are the IDs of the parts that a change names.
func IDsIn(change Change) (ids []string) {
	withRefs(change, func(ref *stack.Ref) { ids = append(ids, ref.ID) })
	return ids
}

// withRefs is a copy of the change of whose references each is handed on.
func withRefs(change Change, each func(*stack.Ref)) Change {
	out := reflect.New(reflect.TypeOf(change)).Elem()
	out.Set(reflect.ValueOf(change))
	eachRef(out, each)
	return out.Interface().(Change)
}

var refType = reflect.TypeFor[stack.Ref]()

// eachRef hands on the references in a settable value. What is behind a pointer or in a slice is copied first.
func eachRef(v reflect.Value, each func(*stack.Ref)) {
	switch {
	case v.Type() == refType:
		each(v.Addr().Interface().(*stack.Ref))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			eachRef(v.Field(i), each)
		}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		to := reflect.New(v.Type().Elem())
		to.Elem().Set(v.Elem())
		v.Set(to)
		eachRef(to.Elem(), each)
	case v.Kind() == reflect.Slice && !v.IsNil():
		copied := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(copied, v)
		v.Set(copied)
		for i := range v.Len() {
			eachRef(v.Index(i), each)
		}
	}
}

// ID is that of a reference, "" when it is not made.
func (r Refs) ID(ref stack.Ref) string {
	if ref.ID != "" {
		return ref.ID
	}
	return r[ref.Part]
}
