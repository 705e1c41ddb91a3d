// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"reflect"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// refs are the IDs of parts that earlier steps of the pass have made.
type refs map[string]string

// resolve is the change with the IDs of its references filled in; it shares nothing that is written with the plan's. Missing are the parts
// that are not made.
func (r refs) resolve(change steps.Change) (resolved steps.Change, missing []string) {
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

// idsIn are the IDs of the parts that a change names.
func idsIn(change steps.Change) (ids []string) {
	withRefs(change, func(ref *stack.Ref) { ids = append(ids, ref.ID) })
	return ids
}

// withRefs is a copy of the change of whose references each is handed on.
func withRefs(change steps.Change, each func(*stack.Ref)) steps.Change {
	out := reflect.New(reflect.TypeOf(change)).Elem()
	out.Set(reflect.ValueOf(change))
	eachRef(out, each)
	return out.Interface().(steps.Change)
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

// ref is the reference with its ID, "" when it is not made.
func (r refs) ref(ref stack.Ref) string {
	if ref.ID != "" {
		return ref.ID
	}
	return r[ref.Part]
}
