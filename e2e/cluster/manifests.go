// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	yamlreader "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// readManifests returns the objects of the files, in their order. A path may be a folder: its .yaml and .yml files in
// the order of their names are meant, without those in folders below and without kustomization.yaml.
func readManifests(paths ...string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, path := range paths {
		files, err := manifestFiles(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("reading manifest: %w", err)
			}
			found, err := ParseManifest(content)
			if err != nil {
				return nil, fmt.Errorf("reading manifest %s: %w", file, err)
			}
			objects = append(objects, found...)
		}
	}
	return objects, nil
}

// kustomization is the file in a folder that says how to put the others together.
const kustomization = "kustomization.yaml"

// manifestFiles returns the path itself, or the manifests in it when it is a folder. A folder without any is an error:
// it is the wrong folder.
func manifestFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("looking for manifests: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	for _, pattern := range []string{"*.yaml", "*.yml"} {
		found, err := filepath.Glob(filepath.Join(path, pattern))
		if err != nil {
			return nil, fmt.Errorf("looking for manifests: %w", err)
		}
		files = append(files, found...)
	}
	files = slices.DeleteFunc(files, func(file string) bool { return filepath.Base(file) == kustomization })
	if len(files) == 0 {
		return nil, fmt.Errorf("looking for manifests: folder %s has none", path)
	}
	slices.Sort(files)
	return files, nil
}

// ParseManifest returns the objects of a YAML file, whose documents may be empty. A key given twice is an error.
func ParseManifest(content []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	documents := yamlreader.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		json, err := yaml.YAMLToJSONStrict(document)
		if err != nil {
			return nil, err
		}
		if bytes.Equal(json, []byte("null")) {
			continue // nothing but comments
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(json); err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
}
