// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/targetgate/targetgate/config/crd"
	provision "github.com/targetgate/targetgate/config/provision/crd"
)

// of is the schema of a spec with that one field.
func of(t *testing.T, property string) *Schema {
	t.Helper()
	schema, err := Of([]byte(`{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"properties":{"spec":{"type":"object","properties":{"a":` + property + `}}}}}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestCheck(t *testing.T) {
	const list = `{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string"}}`
	tests := []struct{ property, value, want string }{
		{`{"type":"string"}`, `"x"`, ""},
		{`{"type":"string"}`, `null`, ""},
		{`{"type":"string"}`, `5`, "spec.a: Invalid value: must be a string, not number"},
		{`{"type":"boolean"}`, `"true"`, "spec.a: Invalid value: must be a boolean, not string"},
		{`{"type":"object"}`, `[]`, "spec.a: Invalid value: must be an object, not array"},
		{`{"type":"integer"}`, `5.0`, ""},
		{`{"type":"integer"}`, `5.5`, "spec.a: Invalid value: must be an integer, not number"},
		{`{"type":"integer","format":"int32"}`, `2147483648`, "spec.a: Invalid value: 2147483648: must fit into 32 bits"},
		{`{"x-kubernetes-int-or-string":true}`, `5`, ""},
		{`{"x-kubernetes-int-or-string":true}`, `"x"`, ""},
		{`{"x-kubernetes-int-or-string":true}`, `true`, "spec.a: Invalid value: must be an integer or a string, not bool"},
		{`{"type":"string","enum":["x","y"]}`, `"z"`, `spec.a: Unsupported value: "z": supported values: "x", "y"`},
		{`{"type":"string","minLength":1}`, `""`, `spec.a: Invalid value: "": must have at least 1 characters`},
		{`{"type":"string","maxLength":2}`, `"äöü"`, "spec.a: Too long: may not be more than 2 bytes"},
		{`{"type":"string","maxLength":3}`, `"äöü"`, ""},
		{`{"type":"string","pattern":"^x$"}`, `"y"`, `spec.a: Invalid value: "y": must match ^x$`},
		{`{"type":"string","format":"cidr"}`, `"10.0.0.0"`, `spec.a: Invalid value: "10.0.0.0": must be a CIDR block, such as 192.168.1.0/24 or 2001:db8::/64`},
		{list, `[]`, "spec.a: Invalid value: must have at least 1 items"},
		{list, `["x","y","z"]`, "spec.a: Too many: 3: must have at most 2 items"},
		{list, `["x",null]`, "spec.a[1]: Invalid value: must be a string, not null"},
		{`{"type":"object","required":["b"]}`, `{}`, "spec.a.b: Required value: must be set"},
		{`{"type":"object","required":["b"]}`, `{"b":null}`, "spec.a.b: Required value: must be set"},
		{`{"type":"object","additionalProperties":{"type":"string"}}`, `{"b":5}`, "spec.a[b]: Invalid value: must be a string, not number"},
	}
	for _, tc := range tests {
		faults, err := of(t, tc.property).Check([]byte(`{"a":`+tc.value+`}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, text(faults.All)); diff != "" || text(faults.Made) != tc.want {
			t.Errorf("%s of %s: faults (-want +got):\n%s", tc.value, tc.property, diff)
		}
	}
}

func text(faults field.ErrorList) string {
	out := make([]string, 0, len(faults))
	for _, fault := range faults {
		out = append(out, fault.Error())
	}
	return strings.Join(out, ", ")
}

// An update makes the faults of what it changes. In a list nobody can tell which item is which.
func TestUpdateMakesFaultsOfWhatItChanges(t *testing.T) {
	schema := of(t, `{"type":"object","properties":{"b":{"type":"string"},"l":{"type":"array","items":{"type":"string"}}}}`)
	for _, tc := range []struct {
		now, before string
		made, all   int
	}{
		{`{"b":5}`, `{"b":5}`, 0, 1},
		{`{"b":5,"c":1}`, `{"b":5}`, 0, 1},
		{`{"b":6}`, `{"b":5}`, 1, 1},
		{`{"b":5}`, `{}`, 1, 1},
		{`{"l":[5]}`, `{"l":[5]}`, 0, 1},
		{`{"l":[5,"x"]}`, `{"l":[5]}`, 1, 1},
		{`{"b":5,"l":[5]}`, `{"l":[5]}`, 1, 2},
	} {
		faults, err := schema.Check([]byte(`{"a":`+tc.now+`}`), []byte(`{"a":`+tc.before+`,"other":1}`))
		if err != nil || len(faults.Made) != tc.made || len(faults.All) != tc.all {
			t.Errorf("%s after %s: %v, made %v of %v", tc.now, tc.before, err, faults.Made, faults.All)
		}
	}
}

// A CRD with a rule that nobody checks would refuse with its own code.
func TestUnknownRuleIsAnError(t *testing.T) {
	manifest := strings.Replace(string(crd.TargetGroupBindings), "maxLength: 2048", "maxLength: 2048\n                multipleOf: 2", 1)
	if _, err := Of([]byte(manifest)); err == nil || !strings.Contains(err.Error(), "multipleOf") {
		t.Errorf("got %v, want an error that names multipleOf", err)
	}
	for name, manifest := range map[string][]byte{"TargetGroupBindings": crd.TargetGroupBindings, "IngressClassParams": provision.IngressClassParams} {
		schema, err := Of(manifest)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if unchecked := unchecked("spec", schema.spec); len(unchecked) > 0 {
			t.Errorf("%s has what is not checked: %q", name, unchecked)
		}
	}
}

// unchecked are values of types and formats that the check does not know.
func unchecked(path string, n *node) (out []string) {
	if n == nil {
		return nil
	}
	if n.kind() == "" || n.Format != "" && n.Format != "cidr" && n.Format != "int32" {
		out = append(out, fmt.Sprintf("%s (type %q, format %q)", path, n.Type, n.Format))
	}
	for name, property := range n.Properties {
		out = append(out, unchecked(path+"."+name, property)...)
	}
	return append(append(out, unchecked(path+"[]", n.Items)...), unchecked(path+"{}", n.Values)...)
}
