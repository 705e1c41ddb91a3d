// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"
)

// bom is the part of a CycloneDX 1.6 SBOM that is needed here.
type bom struct {
	Format       string      `json:"bomFormat"`
	SpecVersion  string      `json:"specVersion"`
	SerialNumber string      `json:"serialNumber"`
	Version      int         `json:"version"`
	Metadata     metadata    `json:"metadata"`
	Components   []component `json:"components"`
}

type metadata struct {
	Timestamp time.Time `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Licenses   []license  `json:"licenses,omitempty"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type license struct {
	License struct {
		ID string `json:"id"`
	} `json:"license"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// newBOM lists Go's standard library and the modules in a binary, in their order. Vulnerability databases call the former
// stdlib. The serial number is derived from the binary, so that it differs only between different binaries.
func newBOM(version string, date time.Time, info *debug.BuildInfo, binary []byte) ([]byte, error) {
	sum := sha256.Sum256(binary)
	apache := license{}
	apache.License.ID = "Apache-2.0"
	main := newComponent("application", info.Main.Path, version)
	main.Hashes = []hash{{Algorithm: "SHA-256", Content: hex.EncodeToString(sum[:])}}
	main.Licenses = []license{apache}
	components := []component{newComponent("library", "stdlib", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		library := newComponent("library", module.Path, module.Version)
		if module.Sum != "" {
			library.Properties = []property{{Name: "go.sum", Value: module.Sum}}
		}
		components = append(components, library)
	}
	out, err := json.MarshalIndent(bom{
		Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		SerialNumber: uuid.NewSHA1(uuid.NameSpaceOID, sum[:]).URN(),
		Metadata:     metadata{Timestamp: date, Component: main},
		Components:   components,
	}, "", "  ")
	return append(out, '\n'), err
}

// newComponent names a Go module. It keeps the path's case, because Go distinguishes upper and lower case.
func newComponent(kind, path, version string) component {
	purl := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	return component{Type: kind, Ref: purl, Name: path, Version: version, PURL: purl}
}
