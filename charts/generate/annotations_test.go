// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/targetgate/targetgate/balancers/ingress"
)

// Every annotation is there once: a row of the table, or an item of the list.
func TestAnnotationsAreAllDescribed(t *testing.T) {
	table := ingress.Table()
	supported, unsupported, _ := strings.Cut(string(annotations(table)), "## Not supported")
	_, items, _ := strings.Cut(unsupported, "\n- ")
	for _, row := range table {
		rows, listed := strings.Count(supported, "\n| `"+row.Name+"` | "), strings.Count(items, "`"+row.Name+"`")
		if row.Unsupported && (rows != 0 || listed != 1) || !row.Unsupported && (rows != 1 || listed != 0) {
			t.Errorf("%s has %d rows and is listed %d times, and it is unsupported: %t", row.Name, rows, listed, row.Unsupported)
		}
	}
	for line := range strings.Lines(supported) {
		if strings.HasPrefix(line, "| ") && strings.Count(line, " | ")+strings.Count(line, " | |") < 4 {
			t.Errorf("a row has too few cells: %s", line)
		}
	}
}

func TestAnnotationsSayWhatEveryKindMeans(t *testing.T) {
	for _, row := range ingress.Table() {
		if scopes[row.Scope] == "" || combinations[row.Combine] == "" {
			t.Errorf("%s: there are no words for its scope %d or for how its values become one, %d", row.Name, row.Scope, row.Combine)
		}
	}
}
