// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package chart

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	yamlreader "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/targetgate/targetgate/e2e/suite"
)

func (i *installation) testKustomization(t *testing.T) {
	i.mustRun(t, kubectlPath(t), "apply", "-k", filepath.Join(suite.Root, "config"))
	i.awaitPods(t, 2)
}

// overlay is one of testdata.
const overlay = "testdata/provision"

// testComponent compares what the chart installs with provision to what an overlay with the component does, and applies that. Tests of
// package charts compare all else.
func (i *installation) testComponent(t *testing.T) {
	ours := built(t, kubectlPath(t), "kustomize", overlay)
	theirs := built(t, helmPath(t), "template", "targetgate", chart, "--namespace", namespace,
		"--set", "clusterName=$(CLUSTER_NAME),env.CLUSTER_NAME=my-cluster,provision=true")
	delete(ours, "Namespace "+namespace)
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("the component does not add what provision does (-chart +component):\n%s", diff)
	}
	i.mustRun(t, kubectlPath(t), "apply", "-k", overlay)
}

// built are the objects that a program prints, by kind and name, without labels and annotations of their own.
func built(t *testing.T, program string, args ...string) map[string]map[string]any {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	command.Env, command.Stderr = append(os.Environ(), "HOME="+t.TempDir()), os.Stderr
	manifest, err := command.Output()
	suite.Must(t, err)
	objects := map[string]map[string]any{}
	documents := yamlreader.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifest)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		suite.Must(t, err)
		object := unstructured.Unstructured{}
		suite.Must(t, yaml.Unmarshal(document, &object.Object))
		if len(object.Object) > 0 {
			object.SetLabels(nil)
			object.SetAnnotations(nil)
			objects[object.GetKind()+" "+object.GetName()] = object.Object
		}
	}
}
