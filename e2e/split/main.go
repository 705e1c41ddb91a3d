// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// module is the path of the repository's module.
const module = "github.com/targetgate/targetgate"

func main() {
	out, err := split(".", os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "split:", err)
		os.Exit(1)
	}
	fmt.Println(strings.Join(out, " "))
}

// split returns what the command prints, in the repository's folder.
func split(root string, args []string) ([]string, error) {
	if len(args) != 1 || !slices.Contains([]string{"unit", "core", "rest"}, args[0]) {
		return nil, errors.New("usage: split {unit|core|rest}")
	}
	t, err := readTable(root)
	if err != nil {
		return nil, err
	}
	if args[0] == "unit" {
		return t.unitPackages(root)
	}
	tests, err := endToEnd(root)
	if err != nil {
		return nil, err
	}
	if err := t.fits(tests); err != nil {
		return nil, err
	}
	if args[0] == "core" {
		return t.core(), nil
	}
	return t.rest(tests), nil
}

// unitPackages are all packages but those that `make test` leaves out. It sees no files with the tag e2e.
func (t table) unitPackages(root string) ([]string, error) {
	command := exec.Command("go", "list", "./...")
	command.Dir, command.Stderr = root, os.Stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	return slices.DeleteFunc(strings.Fields(string(out)), func(path string) bool {
		folder := strings.TrimPrefix(path, module+"/")
		return slices.ContainsFunc(t, func(r row) bool { return r.folder == folder && !r.endToEnd() })
	}), nil
}

// core are the tests that the table names.
func (t table) core() []string {
	out := []string{"-run", t.pattern()}
	for _, r := range t.longest(func(r row) float64 { return r.inTest }) {
		if len(r.tests) > 0 {
			out = append(out, "./"+r.folder)
		}
	}
	return out
}

// rest are all others. A package of which the table names all is not even started.
func (t table) rest(tests map[string][]string) []string {
	out := []string{"-skip", t.pattern()}
	for _, r := range t.longest(func(r row) float64 { return r.inRest }) {
		if len(tests[r.folder]) > len(r.tests) {
			out = append(out, "./"+r.folder)
		}
	}
	return out
}
