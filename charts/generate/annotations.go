// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
)

const annotationsIntro = `<!-- Generated from balancers/ingress/annotation/table.go by ` + "`make generate`" + `. -->
# Annotations of Ingresses

All names begin with ` + "`" + annotation.Prefix + "`" + `; one that ends in a dot goes on with a name of yours. Members of a group
share a load balancer: the column "in a group" says what becomes of their values. An annotation for target groups may also be on the
Service, and then counts before that of the Ingress. Settings of the class's IngressClassParams count before both.

A value that is wrong holds its Ingress: it stays as it is in AWS, and an event on it says what is wrong. The others of its group
go on.

| annotation | for | type | default | in a group | meaning | example |
|---|---|---|---|---|---|---|
`

var scopes = map[annotation.Scope]string{
	annotation.OfGroup: "load balancer", annotation.OfListener: "listeners", annotation.OfIngress: "Ingress",
	annotation.OfTargetGroup: "target groups",
}

var combinations = map[annotation.Combine]string{
	annotation.Apart:        "each its own",
	annotation.Agree:        "one value, of those that have one",
	annotation.AgreeInOrder: "one list, of those that have one; the first one's order",
	annotation.AgreeAll:     "one value, of all",
	annotation.Union:        "all together",
	annotation.MergeKeys:    "all keys; one value for each",
}

// annotations returns a table of them.
func annotations(table []*annotation.Annotation) []byte {
	out := bytes.NewBufferString(annotationsIntro)
	for _, row := range table {
		fallback := ""
		if row.Default != "" {
			fallback = "`" + row.Default + "`"
		}
		cells := []string{
			"`" + row.Name + "`", scopes[row.Scope], row.Type, fallback, combinations[row.Combine], row.Doc, "`" + row.Example + "`",
		}
		fmt.Fprintf(out, "| %s |\n", strings.ReplaceAll(strings.Join(cells, " | "), "|  |", "| |"))
	}
	return out.Bytes()
}
