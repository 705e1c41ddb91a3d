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

All names begin with ` + "`" + annotation.Prefix + "`" + `; one that ends in a dot goes on with a name of yours. The Ingresses of a group
share a load balancer: the column "in a group" says what becomes of their values. An annotation for target groups may also be on the
Service, and then takes precedence over that of the Ingress. Settings of the class's IngressClassParams take precedence over both.

If a value is wrong, its Ingress is not updated: it stays as it is in AWS, and an event on it says what is wrong. The other Ingresses
of its group are still updated.

| annotation | for | type | default | in a group | meaning | example |
|---|---|---|---|---|---|---|
`

var scopes = map[annotation.Scope]string{
	annotation.OfGroup: "load balancer", annotation.OfListener: "listeners", annotation.OfIngress: "Ingress",
	annotation.OfTargetGroup: "target groups",
}

var combinations = map[annotation.Combine]string{
	annotation.Apart:        "each Ingress has its own",
	annotation.Agree:        "one value; all that set it must agree",
	annotation.AgreeInOrder: "one list; all that set it must agree; the first one's order",
	annotation.AgreeAll:     "one value; all must set it, and agree",
	annotation.Union:        "union",
	annotation.MergeKeys:    "keys merged; all that set a key must agree",
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
