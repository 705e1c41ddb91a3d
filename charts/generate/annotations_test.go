// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
)

// Every annotation has one row.
func TestAnnotationsAreAllDescribed(t *testing.T) {
	all := annotation.Table()
	text := string(annotations(all))
	for _, row := range all {
		if rows := strings.Count(text, "\n| `"+row.Name+"` | "); rows != 1 {
			t.Errorf("%s has %d rows, want 1", row.Name, rows)
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| ") && strings.Count(line, " | ")+strings.Count(line, " | |") < 4 {
			t.Errorf("a row has too few cells: %s", line)
		}
	}
}

func TestAnnotationsSayWhatEveryKindMeans(t *testing.T) {
	for _, row := range annotation.Table() {
		if scopes[row.Scope] == "" || combinations[row.Combine] == "" {
			t.Errorf("%s: there are no words for its scope %d or for how its values become one, %d", row.Name, row.Scope, row.Combine)
		}
	}
}
