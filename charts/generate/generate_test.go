// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const example = `# A heading of the file.

# == First
# Who it is,
# and whence.
name: ""

# Who serves.
server:
  # Where it listens.
  # @schema {"type": ["integer", "null"], "minimum": 1}
  port:
  # With a | in it.
  tags: []

# == Second
# @schema {"additionalProperties": true}
# What it may use.
resources:
  cpu: 1
`

func read(t *testing.T, content string) ([]*value, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return readValues(path)
}

func TestSchemaFollowsDefaultsAndComments(t *testing.T) {
	values, err := read(t, example)
	if err != nil {
		t.Fatal(err)
	}
	content, err := schema(values, []string{"old"})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		AdditionalProperties *bool
		Properties           map[string]any
	}
	if err := json.Unmarshal(content, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"name": map[string]any{"type": "string", "description": "Who it is, and whence."},
		"server": map[string]any{"type": "object", "description": "Who serves.", "additionalProperties": false, "properties": map[string]any{
			"port": map[string]any{"type": []any{"integer", "null"}, "minimum": 1.0, "description": "Where it listens."},
			"tags": map[string]any{"type": "array", "description": "With a | in it."},
		}},
		"resources": map[string]any{"type": "object", "additionalProperties": true, "description": "What it may use."},
		"old":       map[string]any{"description": "Of aws-load-balancer-controller's chart. Ignored."},
		"global":    map[string]any{"type": "object"},
	}
	if diff := cmp.Diff(want, got.Properties); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
	if got.AdditionalProperties != nil {
		t.Error("unknown values are the schema's matter, and would be refused without a sentence")
	}
	const names = "- name\n- server\n- resources\n- global\n"
	if list := string(known(values)); !strings.HasSuffix(list, "\n"+names) {
		t.Errorf("known are:\n%s", list)
	}
}

func TestReadmeHasARowForEachValue(t *testing.T) {
	values, err := read(t, example)
	if err != nil {
		t.Fatal(err)
	}
	got := string(readme(values, []string{"old", "older"}))
	for _, want := range []string{
		"## First\n\n| value | default | meaning |\n|---|---|---|\n| `name` |  | Who it is, and whence. |\n| `server` |  | Who serves. |\n| `server.port` |  | Where it listens. |\n",
		"| `server.tags` | `[]` | With a \\| in it. |\n", "## Second\n", "| `resources` | `{\"cpu\":1}` | What it may use. |\n",
		"`old`,\n`older`.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in:\n%s", want, got)
		}
	}
}

func TestValuesWithoutDocumentationAreRefused(t *testing.T) {
	tests := map[string]struct{ content, want string }{
		"no comment":    {"a: 1\n", "line 1, a: there is no comment"},
		"below":         {"a:\n  b: 1\n", "line 2, b: there is no comment"},
		"a bad @schema": {"# A.\n# @schema {\na: 1\n", "line 3, a: reading @schema: "},
		"nothing":       {"", "it is empty"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := read(t, tc.content); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v does not say %q", err, tc.want)
			}
		})
	}
	values, err := read(t, "# A.\na:\n")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := schema(values, nil); err == nil {
		t.Error("a value without default and type is described")
	}
}
