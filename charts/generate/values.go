// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// value is an entry of values.yaml.
type value struct {
	name     string
	section  string // that begins here
	text     string // what it is for
	schema   map[string]any
	fallback any // the default
	children []*value
}

// leaf reports whether the entries below have no documentation of their own.
func (v *value) leaf() bool { return len(v.children) == 0 }

func readValues(path string) ([]*value, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading values: %w", err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		return nil, fmt.Errorf("reading values %s: %w", path, err)
	}
	if len(document.Content) != 1 {
		return nil, fmt.Errorf("reading values %s: it is empty", path)
	}
	values, err := children(document.Content[0])
	if err != nil {
		return nil, fmt.Errorf("reading values %s: %w", path, err)
	}
	return values, nil
}

// children returns the entries of a map; all faults at once.
func children(node *yaml.Node) ([]*value, error) {
	var out []*value
	var faults []error
	for i := 0; i+1 < len(node.Content); i += 2 {
		child, err := newValue(node.Content[i], node.Content[i+1])
		if err != nil {
			faults = append(faults, fmt.Errorf("line %d, %s: %w", node.Content[i].Line, node.Content[i].Value, err))
		}
		out = append(out, child)
	}
	return out, errors.Join(faults...)
}

func newValue(key, node *yaml.Node) (*value, error) {
	v := &value{name: key.Value, schema: map[string]any{}}
	if err := v.readComment(key.HeadComment); err != nil {
		return v, err
	}
	if err := node.Decode(&v.fallback); err != nil {
		return v, err
	}
	_, open := v.schema["additionalProperties"]
	if node.Kind == yaml.MappingNode && !open {
		var err error
		if v.children, err = children(node); err != nil {
			return v, err
		}
	}
	if v.leaf() && v.text == "" {
		return v, errors.New("there is no comment that says what it is for")
	}
	return v, nil
}

func (v *value) readComment(comment string) error {
	var text []string
	for line := range strings.Lines(comment) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "#"))
		switch {
		case strings.HasPrefix(line, "== "):
			v.section = strings.TrimPrefix(line, "== ")
		case strings.HasPrefix(line, "@schema "):
			if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "@schema ")), &v.schema); err != nil {
				return fmt.Errorf("reading @schema: %w", err)
			}
		case line != "":
			text = append(text, line)
		}
	}
	v.text = strings.Join(text, " ")
	return nil
}

// readIgnored returns the names of values that are accepted without effect.
func readIgnored(path string) ([]string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading ignored values: %w", err)
	}
	var names []string
	if err := yaml.Unmarshal(content, &names); err != nil {
		return nil, fmt.Errorf("reading ignored values %s: %w", path, err)
	}
	return names, nil
}
