// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"slices"
	"strings"
	"testing"
)

// shrinkTries is how often a shorter history is run that may fail: goroutines, maps and jitter are never twice the same.
const shrinkTries = 3

// shrink leaves out steps, in halves, quarters and so on, as long as the history still fails in the same way.
func shrink(t *testing.T, steps []step, wrong string) ([]step, string) {
	t.Helper()
	for size := len(steps) / 2; size > 0; {
		shorter := false
		for at := 0; at < len(steps); {
			less := slices.Delete(slices.Clone(steps), at, min(at+size, len(steps)))
			if again := failsAgain(t, less, wrong); again != "" {
				steps, wrong, shorter = less, again, true
				continue
			}
			at += size
		}
		if !shorter || size > 1 {
			size /= 2
		}
	}
	return steps, wrong
}

func failsAgain(t *testing.T, steps []step, wrong string) string {
	t.Helper()
	for range shrinkTries {
		if again := runHistory(t, steps); again != "" && sameKind(again, wrong) {
			return again
		}
	}
	return ""
}

// sameKind compares the words that are no names, addresses or numbers.
func sameKind(a, b string) bool { return kindOfWrong(a) == kindOfWrong(b) }

func kindOfWrong(wrong string) string {
	wrong, _, _ = strings.Cut(wrong, ";") // the first of several
	words := slices.DeleteFunc(strings.Fields(wrong), func(word string) bool { return strings.ContainsAny(word, "0123456789") })
	return strings.Join(words, " ")
}
