// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// document holds the table.
const document = "docs/design/test-bed.md"

// heading is the table's first line, by which it is found.
const heading = "| package | in `make test` | why | `make test`, min | `make test-rest`, min | issue |"

// row is a package of the table, or one of the rows for many.
type row struct {
	// folder is the package's, below the repository's; it is empty for what is no package, such as all other unit tests.
	folder string
	// tests are those that `make test` runs. Of unit tests it names none: all of a package run, or none.
	tests []string
	why   string
	// inTest and inRest are the minutes that it takes of `make test` and `make test-rest`, while three others run beside it. A row for many
	// packages has those of the clock.
	inTest, inRest float64
	// issue is the one that the package came with.
	issue string
}

// endToEnd reports whether the package has end-to-end tests.
func (r row) endToEnd() bool { return strings.HasPrefix(r.folder, "e2e/") }

// table are the rows of the document.
type table []row

func readTable(root string) (table, error) {
	text, err := os.ReadFile(filepath.Join(root, document))
	if err != nil {
		return nil, err
	}
	return parseTable(string(text))
}

// parseTable finds the table by its heading. It ends at the first line that is none of its rows.
func parseTable(text string) (table, error) {
	_, after, found := strings.Cut(text, heading+"\n")
	if !found {
		return nil, fmt.Errorf("%s has no table with this heading: %s", document, heading)
	}
	var t table
	for line := range strings.Lines(after) {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "|--"):
			continue
		case !strings.HasPrefix(line, "|"):
			return t, nil
		}
		r, err := parseRow(line)
		if err != nil {
			return nil, fmt.Errorf("%s: %w, in the row %s", document, err, line)
		}
		t = append(t, r)
	}
	return t, nil
}

// quoted is a name in backticks.
var quoted = regexp.MustCompile("`([^`]+)`")

func parseRow(line string) (row, error) {
	cells := strings.Split(strings.Trim(line, "|"), "|")
	if want := strings.Count(heading, "|") - 1; len(cells) != want {
		return row{}, fmt.Errorf("%d cells, want %d", len(cells), want)
	}
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	r := row{why: cells[2], issue: cells[5]}
	if name := quoted.FindStringSubmatch(cells[0]); name != nil {
		r.folder = name[1]
	}
	for _, name := range quoted.FindAllStringSubmatch(cells[1], -1) {
		r.tests = append(r.tests, name[1])
	}
	var first, second error
	r.inTest, first = minutes(cells[3])
	r.inRest, second = minutes(cells[4])
	return r, errors.Join(first, second)
}

// minutes reads a number, or "-" for none.
func minutes(cell string) (float64, error) {
	if cell == "-" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(cell, 64)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%q are no minutes: write a number above 0, or -", cell)
	}
	return n, nil
}

// pattern matches the tests of all rows by their whole names, as -run and -skip want it.
func (t table) pattern() string {
	var names []string
	for _, r := range t {
		names = append(names, r.tests...)
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// longest are the rows of end-to-end tests, the one that takes most minutes first.
func (t table) longest(takes func(row) float64) []row {
	rows := slices.DeleteFunc(slices.Clone(t), func(r row) bool { return !r.endToEnd() })
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(takes(b), takes(a)) })
	return rows
}

// fits returns all that is wrong with the table for these end-to-end tests, by the folder of their package: a package without a row, a name
// that is no test of its package, or is one of another package as well, which the same pattern would match.
func (t table) fits(tests map[string][]string) error {
	var wrong []error
	homes := map[string][]string{}
	for _, folder := range slices.Sorted(maps.Keys(tests)) {
		if !slices.ContainsFunc(t, func(r row) bool { return r.folder == folder }) {
			wrong = append(wrong, fmt.Errorf("%s has no row for %s: add one, and make room for its minutes", document, folder))
		}
		for _, name := range tests[folder] {
			homes[name] = append(homes[name], folder)
		}
	}
	for _, r := range t {
		wrong = append(wrong, r.fits(homes))
		if r.endToEnd() && len(tests[r.folder]) == 0 {
			wrong = append(wrong, fmt.Errorf("%s has no end-to-end tests: remove its row from %s", r.folder, document))
		}
	}
	return errors.Join(wrong...)
}

func (r row) fits(homes map[string][]string) error {
	var wrong []error
	for _, name := range r.tests {
		if folders := homes[name]; !slices.Equal(folders, []string{r.folder}) {
			wrong = append(wrong, fmt.Errorf("%s names %s of %s, which is in %q: its name must be that of one end-to-end test",
				document, name, r.folder, folders))
		}
	}
	return errors.Join(wrong...)
}
