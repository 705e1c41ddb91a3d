// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/e2e/cluster"
	"github.com/targetgate/targetgate/e2e/suite"
)

// testKustomization applies the kustomization as it is, whose Deployment names no image, and then in an overlay that names one.
func (i *installation) testKustomization(t *testing.T) {
	out, err := i.run(t, kubectlPath(t), "apply", "-k", filepath.Join(suite.Root, "config"))
	if want := "containers[0].image: Required value"; err == nil || !strings.Contains(out, want) {
		t.Errorf("without an image: %v, want %q in:\n%s", err, want, out)
	}
	i.mustRun(t, kubectlPath(t), "apply", "-k", "testdata/image")
	i.awaitPods(t, 2)
}

// overlay is one of testdata.
const overlay = "testdata/provision"

// testComponent compares what the chart installs with provision to what an overlay with the component does, and applies that. Tests of
// package charts compare all else.
func (i *installation) testComponent(t *testing.T) {
	ours := built(t, kubectlPath(t), "kustomize", overlay)
	theirs := built(t, helmPath(t), "template", "targetgate", chart, "--namespace", namespace,
		"--set", "image.repository=registry.example/targetgate,clusterName=$(CLUSTER_NAME),env.CLUSTER_NAME=my-cluster,provision=true")
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
	list, err := cluster.ParseManifest(manifest)
	suite.Must(t, err)
	objects := map[string]map[string]any{}
	for _, object := range list {
		object.SetLabels(nil)
		object.SetAnnotations(nil)
		objects[object.GetKind()+" "+object.GetName()] = object.Object
	}
	return objects
}
