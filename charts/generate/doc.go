// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Command generate writes README.md, values.schema.json and files/known-values.yaml of a chart from its values.yaml, and its
// ANNOTATIONS.md from the table in balancers/ingress/annotation.
//
// The comment right above a value is its documentation. A value without one fails the run, as does one with neither a
// default nor a type. Two kinds of lines in a comment are instructions:
//
//	== TITLE       begins a section of the README
//	@schema JSON   is merged over the schema derived from the default
//
// A map with defaults accepts no other keys, so that a misspelt name is rejected, unless its @schema has
// additionalProperties. An empty map accepts anything. On the first level, the chart's template rejects names that are not in
// known-values.yaml, because a schema cannot say what to do instead.
//
//	main.go         reads and writes the files
//	values.go       values.yaml and its comments
//	readme.go       README.md
//	schema.go       values.schema.json and known-values.yaml
//	annotations.go  ANNOTATIONS.md
package main
