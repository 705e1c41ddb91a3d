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
	out := reflect.New(reflect.TypeOf(change)).Elem()
	out.Set(reflect.ValueOf(change))
	r.fill(out, &missing)
	return out.Interface().(steps.Change), missing
}

var refType = reflect.TypeFor[stack.Ref]()

// fill resolves the references in a settable value. What is behind a pointer or in a slice is copied first.
func (r refs) fill(v reflect.Value, missing *[]string) {
	switch {
	case v.Type() == refType:
		r.fillRef(v.Addr().Interface().(*stack.Ref), missing)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			r.fill(v.Field(i), missing)
		}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		to := reflect.New(v.Type().Elem())
		to.Elem().Set(v.Elem())
		v.Set(to)
		r.fill(to.Elem(), missing)
	case v.Kind() == reflect.Slice && !v.IsNil():
		copied := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(copied, v)
		v.Set(copied)
		for i := range v.Len() {
			r.fill(v.Index(i), missing)
		}
	}
}

func (r refs) fillRef(ref *stack.Ref, missing *[]string) {
	switch {
	case ref.ID != "" || ref.Part == "": // known, or none, as the peer of a binding without rules
	case r[ref.Part] != "":
		ref.ID = r[ref.Part]
	default:
		*missing = append(*missing, ref.Part)
	}
}

// ref is the reference with its ID, "" when it is not made.
func (r refs) ref(ref stack.Ref) string {
	if ref.ID != "" {
		return ref.ID
	}
	return r[ref.Part]
}
