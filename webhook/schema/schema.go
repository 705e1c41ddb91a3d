// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"fmt"
	"regexp"

	"sigs.k8s.io/yaml"
)

// Schema is what a CRD says about the spec of its objects. It is safe for concurrent use.
type Schema struct{ spec *node }

// node is what a schema says about a value. All keywords are named that the CRDs have: another one may be a rule, and is an error.
type node struct {
	Type       string           `json:"type"`
	Properties map[string]*node `json:"properties"`
	Values     *node            `json:"additionalProperties"`
	Items      *node            `json:"items"`
	Required   []string         `json:"required"`
	Enum       []string         `json:"enum"`
	Pattern    string           `json:"pattern"`
	Format     string           `json:"format"` // cidr or int32
	MinLength  int              `json:"minLength"`
	MaxLength  *int             `json:"maxLength"`
	MinItems   int              `json:"minItems"`
	MaxItems   *int             `json:"maxItems"`
	// IntOrString allows a number or a text, as AnyOf then says.
	IntOrString bool            `json:"x-kubernetes-int-or-string"`
	AnyOf       json.RawMessage `json:"anyOf"`

	Description string          `json:"description"`
	MapType     string          `json:"x-kubernetes-map-type"`
	ListType    string          `json:"x-kubernetes-list-type"`
	Rules       json.RawMessage `json:"x-kubernetes-validations"`

	pattern *regexp.Regexp
}

// Of returns the schema in a CRD's manifest.
func Of(manifest []byte) (*Schema, error) {
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					Object struct {
						Properties struct {
							Spec json.RawMessage `json:"spec"`
						} `json:"properties"`
					} `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(manifest, &crd); err != nil {
		return nil, fmt.Errorf("reading the CRD: %w", err)
	}
	if n := len(crd.Spec.Versions); n != 1 {
		return nil, fmt.Errorf("the CRD has %d versions, and must have one", n)
	}
	spec := &node{}
	if err := yaml.UnmarshalStrict(crd.Spec.Versions[0].Schema.Object.Properties.Spec, spec); err != nil {
		return nil, fmt.Errorf("reading the schema of the spec: %w", err)
	}
	return &Schema{spec}, spec.compile()
}

// MustOf returns the schema in a manifest that is compiled in.
func MustOf(manifest []byte) *Schema {
	schema, err := Of(manifest)
	if err != nil {
		panic(err)
	}
	return schema
}

func (n *node) compile() (err error) {
	if n == nil {
		return nil
	}
	if n.Pattern != "" {
		if n.pattern, err = regexp.Compile(n.Pattern); err != nil {
			return fmt.Errorf("compiling a pattern of the schema: %w", err)
		}
	}
	for _, property := range n.Properties {
		if err := property.compile(); err != nil {
			return err
		}
	}
	if err := n.Items.compile(); err != nil {
		return err
	}
	return n.Values.compile()
}
