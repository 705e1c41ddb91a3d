// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/targetgate/targetgate/balancers/ingress"
)

const annotationsIntro = `<!-- Generated from balancers/ingress/table.go by ` + "`make generate`" + `. -->
# Annotations of Ingresses

All names begin with ` + "`" + ingress.Prefix + "`" + `; one that ends in a dot goes on with a name of yours. Members of a group
share a load balancer: the column "in a group" says what becomes of their values. An annotation for target groups may also be on the
Service, and then counts before that of the Ingress. Settings of the class's IngressClassParams count before both.

A value that is wrong holds its Ingress: it stays as it is in AWS, and an event on it says what is wrong. The others of its group
go on.

| annotation | for | type | default | in a group | meaning | example |
|---|---|---|---|---|---|---|
`

var scopes = map[ingress.Scope]string{
	ingress.OfGroup: "load balancer", ingress.OfListener: "listeners", ingress.OfIngress: "Ingress", ingress.OfTargetGroup: "target groups",
}

var combinations = map[ingress.Combine]string{
	ingress.Apart:        "each its own",
	ingress.Agree:        "one value, of those that have one",
	ingress.AgreeInOrder: "one list, of those that have one; the first one's order",
	ingress.AgreeAll:     "one value, of all",
	ingress.Union:        "all together",
	ingress.MergeKeys:    "all keys; one value for each",
}

// annotations returns a table of them.
func annotations(table []*ingress.Annotation) []byte {
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
