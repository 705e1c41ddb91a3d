// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/build"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

// The budgets of issue 44 in minutes, for two cores and the caches that `make demo` leaves; and how many packages run at a time.
const (
	budgetOfTest, budgetOfRest = 12, 45
	atATime                    = 4
)

// Every package of end-to-end tests has a row, and every name in the table is one test.
func TestTableFitsTheTests(t *testing.T) {
	tests := findTests(t)
	if err := readOrFail(t).fits(tests); err != nil {
		t.Error(err)
	}
}

func findTests(t *testing.T) map[string][]string {
	t.Helper()
	tests, err := endToEnd(root)
	if err != nil {
		t.Fatal(err)
	}
	return tests
}

func readOrFail(t *testing.T) table {
	t.Helper()
	read, err := readTable(root)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// Each end-to-end test runs in one of the two, by the very arguments that the Makefile takes.
func TestEachEndToEndTestRunsInOneOfTheTwo(t *testing.T) {
	core, rest := arguments(t, "core"), arguments(t, "rest")
	for folder, names := range findTests(t) {
		for _, name := range names {
			if inCore, inRest := core(folder, name), rest(folder, name); inCore == inRest {
				t.Errorf("%s of %s: it runs in `make test`: %t, in `make test-rest`: %t; want one of the two", name, folder, inCore, inRest)
			}
		}
	}
}

// arguments reports which tests go test runs with what the command prints.
func arguments(t *testing.T, which string) (runs func(folder, name string) bool) {
	t.Helper()
	args, err := split(root, []string{which})
	if err != nil {
		t.Fatal(err)
	}
	pattern, wants := regexp.MustCompile(args[1]), args[0] == "-run"
	return func(folder, name string) bool {
		return slices.Contains(args[2:], "./"+folder) && pattern.MatchString(name) == wants
	}
}

// Unit tests are those of files without the tag. All run in `make test-rest`, and in `make test` but for packages of which the table says
// why not. A file that neither finds, because of another tag or of a module of its own, would run nowhere.
func TestEachFileOfTestsIsBuilt(t *testing.T) {
	contexts := map[string][]string{"unit tests": nil, "unit tests with the race detector": {"race"}, "end-to-end tests": {tag}}
	err := testFiles(root, func(folder, name string) error {
		if module := moduleOf(t, folder); module != "." {
			t.Errorf("%s/%s is in module %s, whose tests nobody runs", folder, name, module)
		}
		for _, tags := range contexts {
			context := build.Default
			context.BuildTags = tags
			if built, err := context.MatchFile(filepath.Join(root, folder), name); err != nil || built {
				return err
			}
		}
		t.Errorf("%s/%s is built in none of %q", folder, name, slices.Sorted(maps.Keys(contexts)))
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// moduleOf is the folder of the module that a folder is in.
func moduleOf(t *testing.T, folder string) string {
	t.Helper()
	for ; folder != "."; folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(root, folder, "go.mod")); err == nil {
			break
		}
	}
	return folder
}

// What `make test` leaves out of the unit tests is a package that there is, and has its reason.
func TestRowsHaveReasons(t *testing.T) {
	for _, r := range readOrFail(t) {
		if r.folder == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join(root, r.folder)); err != nil {
			t.Error(err)
		}
		if r.why == "" {
			t.Errorf("%s: the row does not say why", r.folder)
		}
		if !r.endToEnd() && len(r.tests) > 0 {
			t.Errorf("%s: of a package of unit tests run all in `make test`, or none; the row names %q", r.folder, r.tests)
		}
	}
}

// What adds tests makes room for them: the minutes of all rows fit into the budgets.
func TestMinutesAreWithinTheBudgets(t *testing.T) {
	rows := readOrFail(t)
	for _, b := range []struct {
		target string
		most   float64
		of     func(row) float64
	}{
		{"make test", budgetOfTest, func(r row) float64 { return r.inTest }},
		{"make test-rest", budgetOfRest, func(r row) float64 { return r.inRest }},
	} {
		if needs := rows.minutes(b.of); needs > b.most {
			t.Errorf("by the table, `%s` takes %.1f min, and may take %.0f: make room (docs/design/test-bed.md says how)", b.target, needs, b.most)
		}
	}
}

// minutes is how long all rows take: those of many packages one after the other, then end-to-end tests, four packages at a time.
func (t table) minutes(of func(row) float64) float64 {
	var alone, shared, longest float64
	for _, r := range t {
		if r.endToEnd() {
			shared, longest = shared+of(r), max(longest, of(r))
		} else {
			alone += of(r)
		}
	}
	return alone + max(longest, shared/atATime)
}

// makefile has the lines of the two targets: the arguments are used as they are printed, and unit tests with the race detector are all.
func TestMakefileTakesTheArguments(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"e2e/split unit", "e2e/split core", "e2e/split rest", fmt.Sprintf("-p %d ", atATime)} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the Makefile has no %q", want)
		}
	}
}

func TestParseTable(t *testing.T) {
	text := "# A\n\n" + heading + "\n|---|---|\n| unit tests | all | | 4.5 | 11 | |\n| `charts` | none | Helm | - | 1 | 17 |\n" +
		"| `e2e/a` | `TestA`, `TestB` | quick | 1 | 2 | 5 |\n\n| `e2e/b` | | | | | |\n"
	got, err := parseTable(text)
	if err != nil {
		t.Fatal(err)
	}
	want := table{
		{inTest: 4.5, inRest: 11},
		{folder: "charts", why: "Helm", inRest: 1, issue: "17"},
		{folder: "e2e/a", tests: []string{"TestA", "TestB"}, why: "quick", inTest: 1, inRest: 2, issue: "5"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, wrong := range []string{"", heading + "\n| a | b |\n", heading + "\n| `e2e/a` | | | two | 1 | |\n"} {
		if _, err := parseTable(wrong); err == nil {
			t.Errorf("%q: no error", wrong)
		}
	}
}

func TestFitsTellsAllThatIsWrong(t *testing.T) {
	tests := map[string][]string{"e2e/a": {"TestA", "TestBoth"}, "e2e/b": {"TestBoth"}, "e2e/new": {"TestNew"}}
	rows := table{{folder: "e2e/a", tests: []string{"TestA", "TestBoth", "TestGone"}}, {folder: "e2e/b"}, {folder: "e2e/none"}}
	err := rows.fits(tests)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"no row for e2e/new", "TestBoth of e2e/a", "TestGone of e2e/a", "e2e/none has no end-to-end tests"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not told in: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "TestA ") {
		t.Errorf("TestA is right: %v", err)
	}
}

func TestPackagesBeginWithTheLongest(t *testing.T) {
	rows := table{
		{folder: "e2e/a", tests: []string{"TestA"}, inTest: 1, inRest: 3}, {folder: "charts", inRest: 9},
		{folder: "e2e/b", tests: []string{"TestB"}, inTest: 2}, {folder: "e2e/c", inRest: 5},
	}
	tests := map[string][]string{"e2e/a": {"TestA", "TestOther"}, "e2e/b": {"TestB"}, "e2e/c": {"TestC"}}
	if got, want := rows.core(), []string{"-run", "^(TestA|TestB)$", "./e2e/b", "./e2e/a"}; !slices.Equal(got, want) {
		t.Errorf("core %q, want %q", got, want)
	}
	if got, want := rows.rest(tests), []string{"-skip", "^(TestA|TestB)$", "./e2e/c", "./e2e/a"}; !slices.Equal(got, want) {
		t.Errorf("rest %q, want %q", got, want)
	}
}

func TestIsTest(t *testing.T) {
	for name, want := range map[string]bool{
		"TestA": true, "Test": true, "FuzzA": true, "ExampleA": true, "Example": true, "Test_a": true,
		"TestMain": false, "Testify": false, "newTest": false, "BenchmarkA": false,
	} {
		if got := isTest(name); got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
	}
}
