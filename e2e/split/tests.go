// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tag is the build tag of files with end-to-end tests.
const tag = "e2e"

// endToEnd are the tests in files that are built only with the tag, by the folder of their package.
func endToEnd(root string) (map[string][]string, error) {
	plain, tagged := build.Default, build.Default
	tagged.BuildTags = append(slices.Clone(tagged.BuildTags), tag)
	tests := map[string][]string{}
	err := testFiles(root, func(folder, name string) error {
		without, err := plain.MatchFile(filepath.Join(root, folder), name)
		if err != nil || without {
			return err
		}
		with, err := tagged.MatchFile(filepath.Join(root, folder), name)
		if err != nil || !with {
			return err
		}
		found, err := testsOf(filepath.Join(root, folder, name))
		if len(found) > 0 {
			tests[folder] = append(tests[folder], found...)
		}
		return err
	})
	return tests, err
}

// testFiles calls for each file of tests that the go command would find below the folder, modules of their own included.
func testFiles(root string, each func(folder, name string) error) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (strings.ContainsRune("._", rune(entry.Name()[0])) || entry.Name() == "testdata"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		return each(filepath.ToSlash(folder), entry.Name())
	})
}

// testsOf are the functions of a file that go test runs.
func testsOf(path string) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, declared := range file.Decls {
		if f, ok := declared.(*ast.FuncDecl); ok && f.Recv == nil && isTest(f.Name.Name) {
			names = append(names, f.Name.Name)
		}
	}
	return names, nil
}

// isTest reports whether go test runs a function of that name: after the prefix there is no lower-case letter. TestMain is none.
func isTest(name string) bool {
	for _, prefix := range []string{"Test", "Fuzz", "Example"} {
		rest, found := strings.CutPrefix(name, prefix)
		if first, _ := utf8.DecodeRuneInString(rest); found && !unicode.IsLower(first) {
			return name != "TestMain"
		}
	}
	return false
}
