// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadManifestsKeepsOrder(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"b.yaml":   manifest("ConfigMap", "b1") + "---\n" + manifest("Namespace", "b2"),
		"a.yml":    manifest("ConfigMap", "a1") + "---\n# nothing\n---\n",
		"note.txt": "not a manifest",
		"z.yaml":   manifest("CustomResourceDefinition", "z1"),

		"kustomization.yaml": manifest("Component", "k1"),
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	objects, err := readManifests(filepath.Join(dir, "z.yaml"), dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, object := range objects {
		got = append(got, object.GetName())
	}
	if diff := cmp.Diff([]string{"z1", "a1", "b1", "b2", "z1"}, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

func TestReadManifestsRefuses(t *testing.T) {
	cases := map[string]struct {
		content string
		wantErr string
	}{
		"broken YAML":       {content: "a: [", wantErr: "did not find"},
		"a key given twice": {content: "kind: A\nkind: B\n", wantErr: "already set"},
		"no kind":           {content: "apiVersion: v1\n", wantErr: "Kind"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := readManifests(writeManifest(t, tc.content))
			if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("readManifests() = %v, want %q in it", err, tc.wantErr)
			}
		})
	}
	t.Run("a folder without manifests", func(t *testing.T) {
		if _, err := readManifests(t.TempDir()); err == nil {
			t.Error("readManifests() of an empty folder: no error")
		}
	})
}

func TestRankPutsNamespacesAndDefinitionsFirst(t *testing.T) {
	objects, err := readManifests(writeManifest(t, strings.Join([]string{
		manifest("ConfigMap", "1"), manifest("Namespace", "2"), manifest("Secret", "3"),
		manifest("CustomResourceDefinition", "4"),
	}, "---\n")))
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, object := range objects {
		got = append(got, rank(object))
	}
	if !slices.Equal(got, []int{1, 0, 1, 0}) {
		t.Errorf("ranks = %v, want [1 0 1 0]", got)
	}
}

func manifest(kind, name string) string {
	return "apiVersion: v1\nkind: " + kind + "\nmetadata:\n  name: " + name + "\n"
}
