// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"reflect"
	"slices"
	"strings"

	"github.com/targetgate/targetgate/balancers/fault"
)

// Prefix begins the names of all annotations of the table.
const Prefix = "alb.ingress.kubernetes.io/"

// Annotation is a row of the table: what is known of an annotation besides its type.
type Annotation struct {
	// Name is what follows Prefix. It ends with a dot in a family, whose members go on with a name of the user's.
	Name string
	// Scope is what the value is for.
	Scope Scope
	// Combine says how the values of a group's members become one.
	Combine Combine
	// Default is what holds without the annotation, empty for nothing.
	Default string
	// Type is what its values are, Example one of them; in a family what its name goes on with stands before it.
	Type, Example string
	// Doc is what the value means, in a sentence or two.
	Doc string

	check func(value string) error
}

// FullName is the name with Prefix.
func (a *Annotation) FullName() string { return Prefix + a.Name }

// Scope is what a value is for.
type Scope int

// The scopes.
const (
	// OfGroup is for the load balancer of the group.
	OfGroup Scope = iota
	// OfListener is for the listeners of the Ingress.
	OfListener
	// OfIngress is for the Ingress's own rules.
	OfIngress
	// OfTargetGroup is for the Ingress's target groups. An annotation of the Service counts before that of the Ingress.
	OfTargetGroup
)

// Combine says how the values of a group's members become one.
type Combine int

// The ways to combine.
const (
	// Apart is not at all: each member has its own.
	Apart Combine = iota
	// Agree is one value: members may be silent, and those that are not must say the same.
	Agree
	// AgreeInOrder is Agree for lists that stay in the order of the first member that says one.
	AgreeInOrder
	// AgreeAll is one value that all members must say.
	AgreeAll
	// Union is all items, each once, in the order of the members.
	Union
	// MergeKeys is all keys. Members that say the same key must give it the same value.
	MergeKeys
)

// Key is an annotation whose values are of type T.
type Key[T any] struct {
	*Annotation
	Parse func(string) (T, error)
}

// In is the value among these annotations, which are an Ingress's or a Service's. It is not set without the annotation, and where its value
// is wrong: then the error is a Fault.
func (k Key[T]) In(annotations map[string]string) (value T, set bool, err error) {
	text, ok := annotations[Prefix+k.Name]
	if !ok {
		return value, false, nil
	}
	if value, err = k.Parse(text); err != nil {
		return *new(T), false, fault.Fault{Annotation: Prefix + k.Name, Value: text, Reason: err.Error()}
	}
	return value, true, nil
}

// Member is the annotation of a family whose name ends so.
func (k Key[T]) Member(name string) Key[T] {
	row := *k.Annotation
	row.Name += name
	return Key[T]{Annotation: &row, Parse: k.Parse}
}

// Lookup is the row of the annotation with that name, which includes Prefix; nil if there is none.
func Lookup(name string) *Annotation {
	name, ok := strings.CutPrefix(name, Prefix)
	if !ok {
		return nil
	}
	if row := rows[name]; row != nil {
		return row
	}
	family, member, _ := strings.Cut(name, ".")
	if row := rows[family+"."]; row != nil && member != "" {
		return row
	}
	return nil
}

// Table has all annotations, sorted by name.
func Table() []*Annotation {
	table := make([]*Annotation, 0, len(rows))
	for _, row := range rows {
		table = append(table, row)
	}
	slices.SortFunc(table, func(a, b *Annotation) int { return strings.Compare(a.Name, b.Name) })
	return table
}

// Check is what is wrong with the annotations of an Ingress or a Service, each for itself, sorted by name: values that cannot be read, and
// annotations that are not known, which are warnings. Annotations without Prefix are other people's.
func Check(annotations map[string]string) []fault.Fault {
	var faults []fault.Fault
	for name, value := range annotations {
		if !strings.HasPrefix(name, Prefix) {
			continue
		}
		row := Lookup(name)
		if reason := reasonOf(row, value); reason != "" {
			wrong := fault.Fault{Annotation: name, Value: value, Reason: reason}
			if row == nil {
				wrong.Kind = fault.Warning
			}
			faults = append(faults, wrong)
		}
	}
	slices.SortFunc(faults, func(a, b fault.Fault) int { return strings.Compare(a.Annotation, b.Annotation) })
	return faults
}

func reasonOf(row *Annotation, value string) string {
	if row == nil {
		return "there is no annotation with this name, so it is ignored: check the spelling"
	}
	if err := row.check(value); err != nil {
		return err.Error()
	}
	return ""
}

// rows is the table, by name.
var rows = map[string]*Annotation{}

// add puts a row into the table.
func add[T any](row Annotation, parse func(string) (T, error)) Key[T] {
	row.check = func(value string) error {
		_, err := parse(value)
		return err
	}
	row.Type = valueType[T]()
	if rows[row.Name] != nil {
		panic("two annotations with the name " + row.Name)
	}
	rows[row.Name] = &row
	return Key[T]{Annotation: &row, Parse: parse}
}

// valueType says what values of a type are written as.
func valueType[T any]() string {
	switch kind := reflect.TypeFor[T](); kind.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int64, reflect.Int32:
		return "integer"
	}
	switch any(*new(T)).(type) {
	case map[string]string:
		return "key=value,..."
	case []string:
		return "list"
	}
	return "JSON"
}
