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
	Kind   Kind
}

// Kind says what follows from a fault.
type Kind int

const (
	// Wrong is the kind of what has its member held.
	Wrong Kind = iota
	// Warning is that of what its member is only told.
	Warning
	// Refused is that of what AWS has refused to the member, which is held: Reason is what AWS has said, and to what.
	Refused
)

// IsWarning reports whether the member is built all the same.
func (f Fault) IsWarning() bool { return f.Kind == Warning }

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
	if f.Kind == Refused {
		text += "AWS has refused it: "
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
