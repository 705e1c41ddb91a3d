// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Whoever sees an event finds its reason in docs/reference/events.md, and no reason there that is no more.
func TestReferenceHasEachReason(t *testing.T) {
	const page = "../../docs/reference/events.md"
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\|").FindAllStringSubmatch(string(content), -1) {
		for _, reason := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(row[1], -1) {
			rows[reason[1]] = true
		}
	}
	code := sources(t, "../../targets", "../../balancers", "../../readiness")
	reasons := reasonsIn(code)
	if len(reasons) < 30 {
		t.Errorf("%d reasons in the code: it is not understood any more", len(reasons))
	}
	for reason := range reasons {
		if !rows[reason] {
			t.Errorf("%s has no row of %s", page, reason)
		}
	}
	for reason := range rows {
		if !strings.Contains(code, `"`+reason+`"`) {
			t.Errorf("%s has a row of %s, which is not in the code", page, reason)
		}
	}
}

// reasonsIn are the reasons that events are given in the code by their text or by a constant of a package that is not an API.
func reasonsIn(code string) map[string]bool {
	out := map[string]bool{}
	for _, pattern := range []string{
		`events\.(?:Warning|Normal)\("([A-Z]\w+)"`,
		`\bwarning\("([A-Z]\w+)"`, // targets/conditions
		`(?m)^\t?(?:const )?(?:reason\w*|Reason|skipped) +:?= "([A-Z]\w+)"`,
		`\breason = "([A-Z]\w+)"`,
	} {
		for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(code, -1) {
			out[found[1]] = true
		}
	}
	return out
}

// sources is the code in the folders, without tests.
func sources(t *testing.T, folders ...string) string {
	t.Helper()
	var all strings.Builder
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			content, err := os.ReadFile(path)
			all.Write(content)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}
