// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fault says what is wrong with one annotation or field of an object: what, where, and what would be right. It knows no kind of
// object, and nothing else of ours.
package fault

import (
	"errors"
	"fmt"
)

// Fault is what is wrong with one annotation or field of a member, or of an object that it uses.
type Fault struct {
	// Member is the one that is held or warned, as "namespace/name".
	Member string
	// Object has the annotation or field if it is not the member itself, such as "Service shop/web".
	Object string
	// Annotation is the name of one, with its prefix. Without it Field is the path of a field, such as spec.rules[0].http.paths[1].
	Annotation, Field string
	Value             string
	// Reason says what would be right.
	Reason string
	// Warning says that the member is built all the same.
	Warning bool
}

// ShownValue is the part of Value that Error shows: its first 100 bytes.
func (f Fault) ShownValue() string {
	const longest = 100
	return f.Value[:min(longest, len(f.Value))]
}

func (f Fault) Error() string {
	text := f.Object
	if text != "" {
		text += ", "
	}
	switch {
	case f.Annotation != "":
		text += fmt.Sprintf("annotation %s, value %q: ", f.Annotation, f.ShownValue())
	case f.Field != "" && f.Value != "":
		text += fmt.Sprintf("%s, value %q: ", f.Field, f.ShownValue())
	case f.Field != "":
		text += f.Field + ": "
	}
	return text + f.Reason
}

// At is the error as a Fault of that field. Of one that is a Fault already only what is empty is filled in.
func At(field string, err error) error {
	if err == nil {
		return nil
	}
	fault := As(err)
	if fault.Annotation == "" && fault.Field == "" {
		fault.Field = field
	}
	return fault
}

// As is the error as a Fault, which has only a Reason if the error is none.
func As(err error) Fault {
	if fault := (Fault{}); errors.As(err, &fault) {
		return fault
	}
	return Fault{Reason: err.Error()}
}
