// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
)

// TestEachAnnotationHasATest prints, with -v, which end-to-end tests name each annotation that is built. None may be without, but for those
// that only the tests against AWS's own checks try.
func TestEachAnnotationHasATest(t *testing.T) {
	texts := map[string][]string{} // what stands in quotes, by test or table
	for _, folder := range []string{"ingress", "accepted", "externaldns", "beside"} {
		files, err := filepath.Glob("../../e2e/" + folder + "/*_test.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("e2e/%s: %v, error %v", folder, files, err)
		}
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, declaration := range parsed.Decls {
				name := folder + "/" + filepath.Base(file)
				if function, is := declaration.(*ast.FuncDecl); is {
					name = folder + "." + function.Name.Name
				}
				ast.Inspect(declaration, func(n ast.Node) bool {
					if literal, is := n.(*ast.BasicLit); is && literal.Kind == token.STRING {
						texts[name] = append(texts[name], literal.Value)
					}
					return true
				})
			}
		}
	}
	for _, row := range annotation.Table() {
		var proofs []string
		for name, list := range texts {
			if slices.ContainsFunc(list, func(text string) bool { return names(text, row.Name) }) {
				proofs = append(proofs, name)
			}
		}
		if slices.Sort(proofs); len(proofs) == 0 {
			t.Errorf("no test names %s", row.Name)
		}
		t.Logf("%-35s %s", row.Name, strings.Join(proofs, ", "))
	}
}

// names reports whether a literal has the annotation's name, and not as a part of another one.
func names(literal, name string) bool {
	for rest := literal; ; {
		i := strings.Index(rest, name)
		if i < 0 {
			return false
		}
		before, after := rest[:i], rest[i+len(name):]
		isPart := func(r byte) bool { return r == '-' || r == '.' || 'a' <= r && r <= 'z' }
		if (before == "" || !isPart(before[len(before)-1])) && (strings.HasSuffix(name, ".") || after == "" || !isPart(after[0])) {
			return true
		}
		rest = after
	}
}

// TestScenariosNameTests: each test that the list of the incumbent's scenarios names exists.
func TestScenariosNameTests(t *testing.T) {
	list, err := os.ReadFile("../../e2e/ingress/SCENARIOS.md")
	if err != nil {
		t.Fatal(err)
	}
	var declared strings.Builder
	for _, pattern := range []string{"../../e2e/*/*_test.go", "../*_test.go", "../*/*_test.go", "../*/*/*_test.go", "../../webhook/ingresses/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, error %v", pattern, files, err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			declared.Write(content)
		}
	}
	named := regexp.MustCompile("`(Test[A-Za-z]+)`").FindAllStringSubmatch(string(list), -1)
	if len(named) < 10 {
		t.Errorf("the list names %d tests", len(named))
	}
	for _, name := range named {
		if !strings.Contains(declared.String(), "func "+name[1]+"(") {
			t.Errorf("there is no %s", name[1])
		}
	}
}
