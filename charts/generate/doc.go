// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Command generate makes README.md, values.schema.json and files/known-values.yaml of a chart from its values.yaml.
//
// The comment right above a value is its documentation. A value without one fails the run, as does one with neither a
// default nor a type. Two kinds of lines in a comment are for the program:
//
//	== TITLE       begins a section of the README
//	@schema JSON   is laid over the schema that follows from the default
//
// A map with defaults may hold nothing else, so that a slip of the pen in a name is refused, unless its @schema has
// additionalProperties. An empty map may hold anything. On the first level the chart's template refuses what is not in
// known-values.yaml, as a schema has no words for what to do.
package main
