// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	yamlreader "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

const (
	chart     = "targetgate"
	release   = "targetgate"
	namespace = "targetgate-system"
)

// helm runs the pinned Helm.
func helm(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	program, err := filepath.Abs(cmp.Or(os.Getenv("TARGETGATE_HELM"), "../.bin/helm"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v: build it with `make .bin/helm`", err)
	}
	var out, faults bytes.Buffer
	command := exec.Command(program, args...)
	command.Stdout, command.Stderr = &out, &faults
	err = command.Run()
	return out.String(), faults.String(), err
}

// template renders the chart with values as `--set-json` takes them.
func template(t *testing.T, values ...string) (manifest, stderr string, err error) {
	t.Helper()
	args := []string{"template", release, chart, "--namespace", namespace}
	for _, value := range values {
		args = append(args, "--set-json", value)
	}
	return helm(t, args...)
}

// named are the values that have no default.
const named = `clusterName="demo",image.repository="registry.example/targetgate"`

// render is template for values that are right, with those that have no default.
func render(t *testing.T, values ...string) string {
	t.Helper()
	manifest, stderr, err := template(t, append([]string{named}, values...)...)
	if err != nil {
		t.Fatalf("helm template: %v\n%s", err, stderr)
	}
	return manifest
}

// objects are those of a manifest, by kind and name.
func objects(t *testing.T, manifest []byte) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	documents := yamlreader.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifest)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		object := unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(document, &object.Object); err != nil {
			t.Fatalf("%v in:\n%s", err, document)
		}
		if len(object.Object) > 0 {
			out[object.GetKind()+" "+object.GetName()] = object.Object
		}
	}
}
