// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/targetgate/targetgate/config/crd"
	provision "github.com/targetgate/targetgate/config/provision/crd"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// refusing are the functions that say why an object is refused, by file; "" is what stands outside of functions.
var refusing = map[string][]string{
	"bindings/consent.go":    {"roleFault", "consented"}, // whose words package consent has
	"bindings/facts.go":      {"lookUp", "refusal", "unbindable", "contradictions"},
	"bindings/inplace.go":    {"inPlace", "keep", "judgeAnew"},
	"bindings/owner.go":      {"ownerFault"}, // whose words package consent has
	"bindings/refusal.go":    {"reported"},
	"bindings/rules.go":      {"required", "groupFaults", "roleFaults", "selectorFaults", "networkingFaults", "peerFaults"},
	"bindings/size.go":       {"", "tooMany", "limitTexts", "limit", "selectorSizeFaults"},
	"bindings/uniqueness.go": {"taken", "take"},
	"bindings/view.go":       {"decodeList", "typeFault"},
	"ingresses/ingress.go":   {"classRefusal", "groupRefusal"},
	"ingresses/params.go":    {"reviewParams", "faults", "spellingFaults", "cidrFaults", "subnetFaults", "twice"},
	"schema/check.go":        {"value", "object", "number", "list", "text"},

	"../balancers/ingress/membership/classify.go": {"classByName", "missing", "excluded"},
	"../balancers/ingress/membership/switches.go": {"ForbiddenClass", "ForbiddenGroup"},
	"../targets/consent/owner.go":                 {"OwnerRefusal"},
	"../targets/consent/roles.go":                 {"Refusal"},
	"../targets/consent/tag.go":                   {"Refusal"},
	"../targets/ownership/ownership.go":           {"takenBy"},
}

// noRefusals are texts of these functions that refuse nothing.
var noRefusals = []string{
	"these IngressClassParams are not checked, as they have more than … values: use fewer", "decoding the IngressClassParams: …",
	"checking the IngressClassParams: …", "target type", "address type", "; ", "finding the cluster's VPC: …", "decoding the spec of the IngressClassParams: …",
}

// ofLibraries are the texts that Kubernetes' libraries make of faults, and a constant of the API.
var ofLibraries = []string{
	"Unsupported value: …: supported values: …", "Too long: may not be more than … bytes", "Too many: …: must have at most … items",
	v1beta1.NodeSelectorLimits,
}

// refusals are the texts by which objects are refused, with … for what is filled in.
func refusals(t *testing.T, file string) map[string][]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, declared := range parsed.Decls {
		name := ""
		if function, ok := declared.(*ast.FuncDecl); ok {
			name = function.Name.Name
		}
		ast.Inspect(declared, func(n ast.Node) bool {
			expression, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			text, literal := literalOf(expression)
			if strings.Contains(text, " ") {
				out[name] = append(out[name], template(text))
			}
			return !literal
		})
	}
	return out
}

// literalOf is the text of a string, of several that are added to each other with … for what is no literal.
func literalOf(e ast.Expr) (text string, literal bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		left, some := literalOf(e.X)
		right, more := literalOf(e.Y)
		if e.Op != token.ADD || !some && !more {
			return "", false
		}
		if !some {
			left = "…"
		}
		if !more {
			right = "…"
		}
		return left + right, true
	default:
		return "", false
	}
}

var verb = regexp.MustCompile(`%[.0-9]*[a-z]`)

func template(text string) string {
	return strings.ReplaceAll(verb.ReplaceAllString(text, "…"), `"…"`, "…")
}

// The table says of each refusal what its code is and what tools then do, and has no refusal that there is not.
func TestEachRefusalHasARow(t *testing.T) {
	page, err := os.ReadFile("../docs/reference/refusals.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for _, found := range regexp.MustCompile("(?m)^\\| `([^`]*)` .*\\|$").FindAllStringSubmatch(string(page), -1) {
		rows[found[1]] = false
	}
	want := func(text, from string) {
		if _, found := rows[text]; !found {
			t.Errorf("docs/reference/refusals.md has no row for this refusal of %s: `%s`", from, text)
		}
		rows[text] = true
	}
	for file, functions := range refusing {
		for function, texts := range refusals(t, file) {
			for _, text := range texts {
				if slices.Contains(functions, function) && !slices.Contains(noRefusals, text) {
					want(text, file)
				}
			}
		}
	}
	for _, manifest := range [][]byte{crd.TargetGroupBindings, provision.IngressClassParams} {
		for _, text := range messages(t, manifest) {
			want(text, "the CRD")
		}
	}
	for _, text := range ofLibraries {
		want(text, "libraries")
	}
	for row, found := range rows {
		if !found {
			t.Errorf("docs/reference/refusals.md has a row for what nobody says: `%s`", row)
		}
	}
}

// messages are those of a CRD's rules, wherever they stand.
func messages(t *testing.T, manifest []byte) (out []string) {
	t.Helper()
	var crd any
	if err := yaml.Unmarshal(manifest, &crd); err != nil {
		t.Fatal(err)
	}
	var walk func(any)
	walk = func(value any) {
		switch value := value.(type) {
		case []any:
			for _, item := range value {
				walk(item)
			}
		case map[string]any:
			rules, _ := value["x-kubernetes-validations"].([]any)
			for _, rule := range rules {
				out = append(out, rule.(map[string]any)["message"].(string))
			}
			for _, property := range value {
				walk(property)
			}
		}
	}
	walk(crd)
	if len(out) == 0 {
		t.Fatal("the CRD has no rule")
	}
	return out
}

// Whoever makes a fault is among the functions that the table is compared with.
func TestRefusingFunctionsAreKnown(t *testing.T) {
	for _, folder := range []string{"bindings", "ingresses", "schema"} {
		files, err := filepath.Glob(folder + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s: %v", folder, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, function := range makers(t, file) {
				if !slices.Contains(refusing[file], function) {
					t.Errorf("%s of %s makes a fault, and is not in the list", function, file)
				}
			}
		}
	}
}

// makers are the functions of a file that make faults.
func makers(t *testing.T, file string) (names []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, declared := range parsed.Decls {
		function, ok := declared.(*ast.FuncDecl)
		if !ok {
			continue
		}
		ast.Inspect(function, func(n ast.Node) bool {
			if called, ok := n.(*ast.CallExpr); ok && makesFault(called.Fun) {
				names = append(names, function.Name.Name)
			}
			return true
		})
	}
	return names
}

func makesFault(called ast.Expr) bool {
	switch f := called.(type) {
	case *ast.SelectorExpr:
		from, ok := f.X.(*ast.Ident)
		makers := []string{"Invalid", "Forbidden", "Required", "NotSupported", "NotFound", "TooLong", "TooMany", "Duplicate", "TypeInvalid"}
		return ok && from.Name == "field" && slices.Contains(makers, f.Sel.Name)
	case *ast.Ident:
		return f.Name == "refuse" || f.Name == "tooMany"
	}
	return false
}
