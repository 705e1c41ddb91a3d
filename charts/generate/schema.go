// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
)

// schema returns the JSON schema of the values. It rejects unknown names below the first level. On the first level the template
// rejects them, with an explanation: such a name may come from aws-load-balancer-controller's chart.
func schema(values []*value, ignored []string) ([]byte, error) {
	properties, err := describeAll(values)
	if err != nil {
		return nil, err
	}
	for _, name := range ignored {
		properties[name] = map[string]any{"description": "Of aws-load-balancer-controller's chart. Ignored."}
	}
	properties[global] = map[string]any{"type": "object"}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err = encoder.Encode(map[string]any{
		"$schema": "http://json-schema.org/draft-07/schema#", "title": "Values of the chart targetgate",
		"type": "object", "properties": properties,
	})
	return out.Bytes(), err
}

// global is the value that Helm passes down to every chart.
const global = "global"

// known returns a list of the names that the template accepts, without the ignored ones.
func known(values []*value) []byte {
	out := bytes.NewBufferString("# Generated from values.yaml by `make generate`: the names of all values.\n")
	for _, v := range values {
		fmt.Fprintf(out, "- %s\n", v.name)
	}
	fmt.Fprintf(out, "- %s\n", global)
	return out.Bytes()
}

func describeAll(values []*value) (map[string]any, error) {
	out := map[string]any{}
	for _, v := range values {
		described, err := describe(v)
		if err != nil {
			return nil, err
		}
		out[v.name] = described
	}
	return out, nil
}

func describe(v *value) (map[string]any, error) {
	out := map[string]any{}
	if v.text != "" {
		out["description"] = v.text
	}
	switch v.fallback.(type) {
	case string:
		out["type"] = "string"
	case bool:
		out["type"] = "boolean"
	case int:
		out["type"] = "integer"
	case []any:
		out["type"] = "array"
	case map[string]any:
		out["type"] = "object"
	}
	if !v.leaf() {
		properties, err := describeAll(v.children)
		if err != nil {
			return nil, err
		}
		out["properties"], out["additionalProperties"] = properties, false
	}
	maps.Copy(out, v.schema)
	if out["type"] == nil {
		return nil, fmt.Errorf("describing %s: it has no default: its @schema has to say its type", v.name)
	}
	return out, nil
}
