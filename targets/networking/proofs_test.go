// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// The package comment of e2e/networking says which test proves what.
func TestProofsAreThere(t *testing.T) {
	folders := map[string][]string{
		"": {".", "members", "ruleset"}, "e2e.": {"../../e2e/networking"}, "targets.": {".."}, "ec2.": {"../../aws/ec2"},
	}
	text, err := os.ReadFile("../../e2e/networking/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`(\w+\.)?(Test[A-Z]\w+)`).FindAllStringSubmatch(string(text), -1)
	if len(named) == 0 {
		t.Error("no test is named")
	}
	for _, name := range named {
		if !hasTest(t, folders[name[1]], name[2]) {
			t.Errorf("there is no test %s in %q", name[0], folders[name[1]])
		}
	}
}

func hasTest(t *testing.T, folders []string, name string) bool {
	t.Helper()
	var files []string
	for _, folder := range folders {
		more, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	test := regexp.MustCompile(`(?m)^func ` + name + `\(t \*testing\.T\) {`)
	for _, file := range files {
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if test.Match(code) {
			return true
		}
	}
	return false
}
